import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { DataError, OptionError, StorageError } from '../../src/base/errors.js';
import { MINUTE } from '../../src/base/time.js';
import { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { routeByTag } from '../../src/operators/route-by-tag.js';
import { Activity } from '../../src/post/activity.js';
import { samplePosts } from '../../src/service/sample/sample-posts.js';
import type { Written } from '../../src/sinks/commit/run-result.js';
import { csv } from '../../src/sinks/csv.js';
import { filesOn } from '../../src/sinks/files.js';
import { type ParquetOptions, parquet, parquetOn } from '../../src/sinks/parquet.js';
import { tee } from '../../src/sinks/tee.js';
import * as tables from '../../src/tables/tables.js';
import { codePoint } from '../code-point.js';
import { arbitraryPost } from '../post/arbitrary-post.js';
import { nodeError, PowerCut, SimulatedDisk } from '../storage/simulated-disk.js';
import { bySuite } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';
import { places } from './cursors.js';
import { post } from './posts.js';

// A run waits if a crash has left an empty lock file. These tests simulate hundreds of crashes, so
// this mock ends each wait immediately.
vi.mock('node:timers/promises', () => ({ setTimeout: async () => {} }));

let duck: DuckDBConnection;

beforeAll(async () => {
  duck = await (await DuckDBInstance.create()).connect();
  await duck.run("SET TimeZone = 'UTC'; SET threads = 2");
});
afterAll(() => duck.closeSync());

async function ask(sql: string): Promise<unknown[][]> {
  return (await duck.runAndReadAll(sql)).getRowsJson();
}

type Options<T> = Omit<ParquetOptions<T>, 'path'> & { readonly path?: ParquetOptions<T>['path'] };

async function write<T>(
  items: readonly T[],
  options: Options<T>,
): Promise<{ readonly files: Record<string, Buffer>; readonly written: Written }> {
  const disk = new SimulatedDisk();
  const sink = parquetOn<T>(disk, { path: '/out/rows.parquet', ...options });
  const written = await pipeline(places([items]), sink);
  return { files: filesOf(disk), written };
}

function filesOf(disk: SimulatedDisk): Record<string, Buffer> {
  const names = disk.files().filter(name => name.startsWith('/out/'));
  return Object.fromEntries(names.map(name => [name, disk.read(name)]));
}

function bytesOf(buffer: Buffer): ArrayBuffer {
  return new Uint8Array(buffer).buffer;
}

/**
 * Returns the rows of a Parquet file. Replaces `undefined`, which hyparquet returns for some nulls.
 */
async function rowsOf(file: Buffer | undefined): Promise<Record<string, unknown>[]> {
  const rows = await parquetReadObjects({ file: bytesOf(file as Buffer), compressors });
  return rows.map(row =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value ?? null])),
  );
}

const own = <Type extends tables.ColumnType>(type: Type, name = 'value') =>
  unchecked<tables.Column<unknown>>({ name, type, value: (item: unknown) => item });

async function valuesOf(type: tables.ColumnType, values: readonly unknown[], options = {}) {
  const { files } = await write(values, { columns: [own(type)], ...options });
  return (await rowsOf(files['/out/rows.parquet'])).map(({ value }) => value);
}

const VALUES: Readonly<Record<tables.ScalarType, fc.Arbitrary<unknown>>> = {
  string: fc.oneof(fc.string({ unit: codePoint }), fc.constantFrom('', '🍕', '\0', '"')),
  int32: fc.integer(),
  int64: fc.oneof(
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    fc.constantFrom(2n ** 63n - 1n, -(2n ** 63n)),
  ),
  double: fc.double({ noNaN: true, noDefaultInfinity: true }),
  boolean: fc.boolean(),
  timestamp: fc.date({ noInvalidDate: true }),
};

/**
 * Converts a value to a form that is the same for all readers, because readers return numbers and
 * times in different types.
 */
function asRead(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asRead);
  if (value instanceof Date) return BigInt(value.getTime());
  return value;
}

const DUCKDB_TYPES: Readonly<Record<string, string>> = {
  string: 'VARCHAR',
  int32: 'INTEGER',
  int64: 'BIGINT',
  double: 'DOUBLE',
};

function selectExactly(type: tables.ColumnType, name: string): string {
  if (type === 'timestamp') return `epoch_ms(${name}) AS ${name}`;
  if (type === 'list<timestamp>')
    return `list_transform(${name}, lambda t: epoch_ms(t)) AS ${name}`;
  return name;
}

const nodeHasZstd = 'zstdCompressSync' in (await import('node:zlib'));
const CODECS = ['snappy', 'gzip', 'none', ...(nodeHasZstd ? ['zstd'] : [])] as const;

describe('parquet()', () => {
  it.each(Object.entries(VALUES))(
    'writes any values of a type so that a reader returns them: %s',
    async (type, value) => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.option(value), { minLength: 1, maxLength: 30 }),
          fc.array(fc.option(fc.array(value, { maxLength: 4 })), { minLength: 1, maxLength: 20 }),
          fc.constantFrom(...CODECS),
          fc.constantFrom(1, 2, 7, 100),
          async (scalars, lists, compression, rowGroup) => {
            const options = { compression: compression as 'gzip', rowGroup };
            const scalar = type as tables.ScalarType;
            expect(await valuesOf(scalar, scalars, options)).toEqual(scalars);
            expect(await valuesOf(`list<${scalar}>`, lists, options)).toEqual(lists);
          },
        ),
        { numRuns: bySuite(3, 200) },
      );
    },
  );

  it('writes files that two independent readers read in the same way, for any content', async () => {
    const folder = await temporaryFolder();
    let [written, asked] = [0, 0];
    const types = Object.keys(VALUES).flatMap((type): tables.ColumnType[] => [
      type as tables.ScalarType,
      `list<${type as tables.ScalarType}>`,
    ]);
    // Values that repeat often test dictionaries and runs. Values that are all different or long
    // test the plain encoding.
    const valuesOf = (type: tables.ColumnType): fc.Arbitrary<unknown> => {
      const [scalar, isList] = [type.replace(/^list<|>$/g, ''), type.startsWith('list')];
      const some = scalar === 'string' ? fc.oneof(VALUES.string, LONG) : VALUES[scalar as 'string'];
      const few = fc.uniqueArray(some, { minLength: 1, maxLength: 3, selector: String });
      return fc.oneof(
        fc.array(fc.option(isList ? fc.array(some, { maxLength: 3 }) : some), { minLength: 40 }),
        few.chain(those => {
          const one = fc.constantFrom(...those);
          return fc.array(fc.option(isList ? fc.array(one, { maxLength: 12 }) : one), {
            minLength: 40,
            maxLength: 400,
          });
        }),
        fc.constant(Array.from({ length: 40 }, () => null)),
      );
    };
    const LONG = fc
      .tuple(fc.string({ unit: codePoint }), fc.integer({ min: 1, max: 90 }))
      .map(([text, times]) => `${text}ü🍕`.repeat(times));
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.constantFrom(...types).chain(type => fc.tuple(fc.constant(type), valuesOf(type))),
          { minLength: 1, maxLength: 6 },
        ),
        fc.constantFrom('snappy', 'gzip', 'none'),
        fc.constantFrom(3, 64, 1000),
        async (chosen, compression, rowGroup) => {
          const columns = chosen.map(([type], at) => ({
            ...own(type, `c${at}`),
            value: (row: readonly unknown[]) => row[at],
          }));
          const length = Math.min(...chosen.map(([, values]) => (values as unknown[]).length));
          const rows = Array.from({ length }, (_, n) =>
            chosen.map(([, values]) => (values as unknown[])[n]),
          );
          const file = path.join(folder, `${written++}.parquet`);
          await pipeline(
            places([rows]),
            parquet({ path: file, columns: unchecked(columns), compression, rowGroup }),
          );
          const expected = rows.map(row => row.map(asRead));
          const byHyparquet = await rowsOf(await readFile(file));
          expect(byHyparquet.map(row => Object.values(row).map(asRead))).toEqual(expected);
          const selected = chosen.map(([type], at) => selectExactly(type, `c${at}`));
          const byDuckDb = await duck.runAndReadAll(`SELECT ${selected} FROM '${file}'`);
          expect(byDuckDb.getRowsJS().map(row => row.map(asRead))).toEqual(expected);
          // Readers use the statistics to skip row groups. If the statistics were wrong, rows would
          // be lost.
          for (const [at, [type]] of chosen.entries()) {
            if (!['string', 'int32', 'int64', 'double'].includes(type)) continue;
            for (const wanted of new Set(rows.map(row => row[at]))) {
              if (wanted === null || String(wanted).includes('\0')) continue;
              const literal = `'${String(wanted).replaceAll("'", "''")}'::${DUCKDB_TYPES[type]}`;
              const count = rows.filter(row => row[at] === wanted).length;
              expect(
                await ask(`SELECT count(*)::INT FROM '${file}' WHERE c${at} = ${literal}`),
              ).toEqual([[count]]);
              if (asked++ > 200) break;
            }
          }
        },
      ),
      { numRuns: bySuite(4, 200) },
    );
  });

  it('writes any posts so that a reader returns their values', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(arbitraryPost, { minLength: 1, maxLength: 8 }),
        fc.constantFrom(1, 3, 100),
        async (written, rowGroup) => {
          const posts = written.map(({ bytes }) => new Activity(bytes));
          const { files } = await write(posts, { rowGroup });
          expect(await rowsOf(files['/out/rows.parquet'])).toEqual(
            posts.map(tables.toRow(tables.posts)),
          );
        },
      ),
      { numRuns: bySuite(3, 200) },
    );
  });

  it('writes the column types that DuckDB expects, with exact ids', async () => {
    const folder = await temporaryFolder();
    const columns = [
      own('string', 's'),
      own('int32', 'i'),
      own('int64', 'l'),
      own('double', 'd'),
      own('boolean', 'b'),
      own('timestamp', 't'),
      own('list<string>', 'ls'),
      own('list<int64>', 'll'),
    ].map(column => ({ ...column, value: (row: Record<string, unknown>) => row[column.name] }));
    const rows = [
      {
        s: '9223372036854775807 🍕\n"',
        i: -1,
        l: 9223372036854775807n,
        d: 0.1,
        b: true,
        t: new Date('2024-02-29T12:34:56.789Z'),
        ls: ['a', '🍕', ''],
        ll: ['9007199254740993'],
      },
      { s: '', ls: [] },
      {},
    ];
    const file = path.join(folder, 'types.parquet');
    await pipeline(places([rows]), parquet({ path: file, columns: unchecked(columns) }));
    const described = await ask(`DESCRIBE SELECT * FROM '${file}'`);
    expect(described.map(([name, type]) => [name, type])).toEqual([
      ['s', 'VARCHAR'],
      ['i', 'INTEGER'],
      ['l', 'BIGINT'],
      ['d', 'DOUBLE'],
      ['b', 'BOOLEAN'],
      ['t', 'TIMESTAMP WITH TIME ZONE'],
      ['ls', 'VARCHAR[]'],
      ['ll', 'BIGINT[]'],
    ]);
    expect(await ask(`SELECT * FROM '${file}'`)).toEqual([
      [
        ...['9223372036854775807 🍕\n"', -1, '9223372036854775807', 0.1, true],
        ...['2024-02-29 12:34:56.789+00', ['a', '🍕', ''], ['9007199254740993']],
      ],
      ['', null, null, null, null, null, [], null],
      [null, null, null, null, null, null, null, null],
    ]);
    expect(await ask(`SELECT count(*) FROM '${file}' WHERE t > '2025-01-01'`)).toEqual([['0']]);
  });

  it('writes the same values as csv() according to DuckDB', async () => {
    const folder = await temporaryFolder();
    const at = Date.UTC(2024, 2, 5);
    const minutes = Array.from({ length: 10 }, (_, n) =>
      samplePosts(at + n * MINUTE, {
        postsPerMinute: 60,
        format: n % 2 === 0 ? 'original' : 'activity_streams',
      }),
    );
    const [a, b] = [path.join(folder, 'a.parquet'), path.join(folder, 'b.csv')];
    const { posts } = await pipeline(places(minutes), parquet({ path: a, rowGroup: 100 }));
    await pipeline(places(minutes), csv({ path: b }));
    expect(posts).toBeGreaterThan(300);
    const types = await ask(`DESCRIBE SELECT * FROM '${a}'`);
    // In CSV, lists are written as JSON.
    const read = types.map(([name, type]) =>
      String(type).endsWith('[]') ? `CAST("${name}" AS JSON)::${type} AS "${name}"` : `"${name}"`,
    );
    const columns = types.map(
      ([name, type]) => `'${name}': '${String(type).endsWith('[]') ? 'VARCHAR' : type}'`,
    );
    const fromCsv = `SELECT ${read} FROM read_csv('${b}', header = true, columns = {${columns}}, allow_quoted_nulls = false)`;
    expect(await ask(`SELECT count(*) FROM (${fromCsv})`)).toEqual([[String(posts)]]);
    expect(await ask(`SELECT * FROM '${a}' EXCEPT ${fromCsv}`)).toEqual([]);
    expect(await ask(`${fromCsv} EXCEPT SELECT * FROM '${a}'`)).toEqual([]);
    expect(await ask(`SELECT count(*), max(id::BIGINT)::VARCHAR FROM '${b}'`)).toEqual(
      await ask(`SELECT count(*), max(id) FROM '${a}'`),
    );
  });

  it('writes a partitioned dataset that DuckDB reads if its path contains partitions', async () => {
    const folder = await temporaryFolder();
    const tags = ['snow', 'eis & schnee', '../ü=1'];
    const posts = Array.from({ length: 40 }, (_, n) =>
      post({ id: String(n), at: Date.UTC(2024, n % 3, 5) }).withMatchingRules(
        tags.filter((_, at) => (n + at) % 2 === 0).map(tag => ({ tag, id: '1' })),
      ),
    );
    const { files } = await pipeline(
      places([posts]),
      routeByTag(),
      parquet({
        path: path.join(folder, 'month={month}/tag={tag}/posts.parquet'),
        columns: ['id', 'posted_at', 'rule_tags'],
        maxOpen: 2,
      }),
    );
    expect(files.length).toBe(9);
    const dataset = `read_parquet('${folder}/*/*/*.parquet', hive_partitioning = true, hive_types_autocast = false)`;
    expect(
      await ask(`SELECT month, tag, count(*)::INT, bool_and(list_contains(rule_tags, tag))
        FROM ${dataset} GROUP BY ALL ORDER BY ALL LIMIT 3`),
    ).toEqual([
      ['2024-01', '../ü=1', 7, true],
      ['2024-01', 'eis & schnee', 7, true],
      ['2024-01', 'snow', 7, true],
    ]);
    expect(await ask(`SELECT count(*)::INT FROM ${dataset} WHERE month = '2024-02'`)).toEqual([
      [19],
    ]);
  });

  it('writes row groups of the requested number of rows, or smaller row groups if memory is short', async () => {
    const posts = Array.from({ length: 250 }, (_, n) =>
      post({ id: String(n), text: 'snow'.repeat(50) }),
    );
    const groupsOf = async (options: Options<Activity>) => {
      const { files } = await write(posts, { columns: ['id', 'text'], ...options });
      const { row_groups } = parquetMetadata(bytesOf(files['/out/rows.parquet'] as Buffer));
      return row_groups.map(({ num_rows }) => Number(num_rows));
    };
    expect(await groupsOf({ rowGroup: 100 })).toEqual([100, 100, 50]);
    expect(await groupsOf({})).toEqual([250]);
    const small = await groupsOf({ maxHeldBytes: 10_000 });
    expect(small.length).toBeGreaterThan(5);
    expect(small.reduce((sum, rows) => sum + rows, 0)).toBe(250);
  });

  it('numbers its files if `maxBytes` is set', async () => {
    const posts = Array.from({ length: 100 }, (_, n) =>
      post({ id: String(n), text: `${n}`.repeat(99) }),
    );
    const { files, written } = await write(posts, { columns: ['id', 'text'], maxBytes: 5_000 });
    const names = Object.keys(files);
    expect(names.length).toBeGreaterThan(3);
    expect(names[0]).toBe('/out/rows.0001.parquet');
    const rows = await Promise.all(names.map(name => rowsOf(files[name])));
    expect(rows.flat().map(({ id }) => id)).toEqual(posts.map(({ id }) => id));
    expect(written.files.map(({ posts: count }) => count)).toEqual(
      rows.map(({ length }) => length),
    );
  });

  it('finishes numbered files at the commits of tee', async () => {
    const disk = new SimulatedDisk();
    const batches = Array.from({ length: 4 }, (_, n) => [post({ id: String(n) })]);
    await pipeline(
      places(batches),
      tee(
        parquetOn<Activity>(disk, { path: '/out/rows.parquet', commitIntervalMs: 0 }),
        filesOn<Activity>(disk, { path: '/lines/rows.jsonl', commitIntervalMs: 0 }),
        { checkpoint: '/run.json' },
      ),
    );
    const files = filesOf(disk);
    const rows = await Promise.all(Object.keys(files).map(name => rowsOf(files[name])));
    expect(rows.map(of => of.map(({ id }) => id))).toEqual([['0'], ['1'], ['2'], ['3']]);
    expect(Object.keys(files)[0]).toBe('/out/rows.0001.parquet');
  });

  it('leaves no finished file if an item does not fit the columns', async () => {
    const folder = await temporaryFolder();
    const items = [post({ id: '1' }), post({ id: '2', text: 'no' })];
    const run = pipeline(
      places([items]),
      parquet({
        path: path.join(folder, 'x.parquet'),
        columns: [
          'id',
          { name: 'length', type: 'int32', value: item => (item.text === 'no' ? 0.5 : 1) },
        ],
      }),
    );
    await expect(run).rejects.toBeInstanceOf(DataError);
    await expect(run).rejects.toThrow(
      'Column "length" of post 2: expected a whole number of 32 bits',
    );
    expect((await readdir(folder)).filter(name => name.endsWith('.parquet'))).toEqual([]);
  });

  it.each<[object, string, string]>([
    [{ path: 'x.parquet.gz' }, 'path', 'must not end in .gz'],
    [{ compression: 'lz4' }, 'compression', "'snappy', 'gzip', 'zstd' or 'none'"],
    [{ rowGroup: 0 }, 'rowGroup', 'a whole number of at least 1'],
    [{ gzip: true }, 'gzip', 'unknown option `gzip`'],
    [{ columns: ['id', { ...own('string'), name: 'ID' }] }, 'columns', 'DuckDB takes'],
    ...(nodeHasZstd
      ? []
      : [
          [{ compression: 'zstd' }, 'compression', 'Node 22.15'] satisfies [object, string, string],
        ]),
  ])('throws an OptionError for %j before any I/O', (options, option, message) => {
    const call = () => parquet(unchecked({ path: 'x.parquet', ...options }));
    expect(call).toThrow(OptionError);
    expect(call).toThrow(message);
    expect(call).toThrow(expect.objectContaining({ option }));
  });
});

describe('parquet() with a checkpoint', () => {
  const ITEMS = Array.from({ length: 16 }, (_, batch) =>
    Array.from({ length: batch % 4 }, (_, n) => ({
      to: 'abc'.charAt((batch + n) % 3),
      n: batch * 10 + n,
    })),
  );
  type Item = (typeof ITEMS)[0][0];
  const options: ParquetOptions<Item> = {
    path: ({ to }) => `/out/${to}.parquet`,
    columns: [
      { name: 'n', type: 'int32', value: ({ n }) => n },
      { name: 'text', type: 'string', value: ({ n }) => `${n} 🍕` },
    ],
    checkpoint: '/run.json',
    maxBytes: 150,
  };
  const run = (disk: SimulatedDisk, more: Partial<ParquetOptions<Item>> = {}) =>
    pipeline(places(ITEMS), parquetOn(disk, { ...options, ...more }));

  async function itemsOf(disk: SimulatedDisk): Promise<number[]> {
    const files = Object.entries(filesOf(disk)).filter(([name]) => !name.endsWith('.part'));
    const rows = await Promise.all(files.map(([, file]) => rowsOf(file)));
    return rows
      .flat()
      .map(({ n }) => n as number)
      .toSorted((a, b) => a - b);
  }

  const all = ITEMS.flat()
    .map(({ n }) => n)
    .toSorted((a, b) => a - b);

  it('writes every item exactly once into complete files, even after a crash at any call', async () => {
    const whole = new SimulatedDisk();
    const { posts } = await run(whole);
    expect(posts).toBe(all.length);
    expect(Object.keys(filesOf(whole)).length).toBeGreaterThan(4);
    for (const how of ['killed', 'power cut'])
      for (let cut = 0; cut < whole.calls; cut += 5) {
        const disk = new SimulatedDisk();
        disk.cutAt = cut;
        await expect(run(disk)).rejects.toBeInstanceOf(PowerCut);
        if (how === 'killed') disk.keepAll();
        else disk.restart(() => 0.5);
        // Every file that has its final name is complete.
        await itemsOf(disk);
        await run(disk);
        expect(await itemsOf(disk), `${how} at call ${cut}`).toEqual(all);
        expect(Object.keys(filesOf(disk)).filter(name => name.endsWith('.part'))).toEqual([]);
      }
  });

  it('removes the .part files that a killed run had started, even files that it does not write again', async () => {
    const whole = new SimulatedDisk();
    await run(whole);
    const last = Object.keys(filesOf(whole)).filter(name => name.startsWith('/out/a.')).length;
    const names = [last + 1, last + 2].map(
      number => `/out/a.${String(number).padStart(4, '0')}.parquet.part`,
    );
    const disk = new SimulatedDisk();
    disk.cutAt = Math.floor(whole.calls / 2);
    await expect(run(disk)).rejects.toBeInstanceOf(PowerCut);
    disk.keepAll();
    for (const name of names) disk.put(name, Buffer.from('rows'));
    await run(disk);
    expect(await itemsOf(disk)).toEqual(all);
    expect(Object.keys(filesOf(disk)).filter(name => name.endsWith('.part'))).toEqual([]);
  });

  it('continues after a full disk at any call that writes', async () => {
    const whole = new SimulatedDisk();
    await run(whole);
    let failed = 0;
    for (let at = 0; at < whole.calls; at += 5) {
      const disk = new SimulatedDisk();
      disk.before = (call, file) => {
        if (disk.calls - 1 === at && /^(write|datasync|sync|rename|open w|mkdir)/.test(call))
          throw nodeError('ENOSPC', `${call} '${file}'`);
      };
      await run(disk).catch(error => {
        failed++;
        expect(error).toBeInstanceOf(StorageError);
      });
      disk.before = () => {};
      await run(disk);
      expect(await itemsOf(disk), `a full disk at call ${at}`).toEqual(all);
    }
    expect(failed).toBeGreaterThan(5);
  });

  it('commits when each file has a complete row group, so that a killed run need not start from the beginning', async () => {
    const days = (counts: readonly number[]) =>
      counts.flatMap((count, day) =>
        Array.from({ length: count / 5 }, (_, page) =>
          Array.from({ length: 5 }, (_, i) => ({ to: `day=${day}`, n: day * 1000 + page * 5 + i })),
        ),
      );
    const batches = days([60, 30, 10, 10, 200]);
    const disk = new SimulatedDisk();
    const stop = new AbortController();
    const killed = new Flow<Item>(async function* ({ signal }) {
      for (const [at, items] of batches.entries()) {
        // The commit ends before the next page is requested.
        await new Promise(resolve => setTimeout(resolve, 1));
        yield { items: items as readonly Item[], cursor: { next: at + 1 } };
      }
      stop.abort(new Error('killed'));
      signal.throwIfAborted();
    });
    const sink = () => parquetOn(disk, { ...options, maxBytes: undefined, rowGroup: 50 });
    await expect(pipeline(killed, sink(), { signal: stop.signal })).rejects.toThrow('killed');
    const committed = await itemsOf(disk);
    expect(committed.length).toBeGreaterThanOrEqual(250);
    expect(Object.keys(filesOf(disk)).length).toBeLessThanOrEqual(12);
    const opened: number[] = [];
    await pipeline(places(batches as Item[][], { onOpen: from => opened.push(from) }), sink());
    expect(opened).toEqual([committed.length / 5]);
    expect(await itemsOf(disk)).toEqual(batches.flat().map(({ n }) => n));
  });

  it('writes one file for each of many small partitions', async () => {
    const disk = new SimulatedDisk();
    const pages = Array.from({ length: 60 }, (_, page) =>
      Array.from({ length: 5 }, (_, i) => ({ to: `tag=${(page * 5 + i) % 20}`, n: page * 5 + i })),
    );
    const sink = parquetOn(disk, { ...options, maxBytes: undefined, rowGroup: 50 });
    await pipeline(places(pages as Item[][]), sink);
    expect(Object.keys(filesOf(disk)).length).toBe(20);
  });

  it('commits after some time if the source is endless', async () => {
    const disk = new SimulatedDisk();
    const stop = new AbortController();
    const endless = new Flow<Item>(async function* ({ signal }) {
      for (const [at, items] of ITEMS.entries()) yield { items, cursor: { next: at + 1 } };
      stop.abort(new Error('enough'));
      signal.throwIfAborted();
    });
    const sink = parquetOn(disk, { ...options, maxBytes: 1 << 20, commitIntervalMs: 0 });
    await expect(pipeline(endless, sink, { signal: stop.signal })).rejects.toThrow('enough');
    expect(await itemsOf(disk)).toEqual(all);
  });

  it('does not continue if the columns have changed', async () => {
    const disk = new SimulatedDisk();
    await run(disk);
    const others = run(disk, { columns: [{ name: 'n', type: 'int64', value: ({ n }) => n }] });
    await expect(others).rejects.toThrow('`columns` of parquet() was');
  });
});

describe('a Parquet file on disk', () => {
  it('is called NAME.part until it is complete', async () => {
    const folder = await temporaryFolder();
    const seen: string[][] = [];
    const posts = new Flow<Activity>(async function* () {
      for (let n = 0; n < 5; n++) {
        yield { items: [post({ id: String(n) })] };
        seen.push(await readdir(folder));
      }
    });
    const { files, bytes } = await pipeline(
      posts,
      parquet({ path: path.join(folder, 'x.parquet'), rowGroup: 1 }),
    );
    expect(seen.flat()).not.toContain('x.parquet');
    expect(await readdir(folder)).toEqual(['x.parquet']);
    const file = await readFile(files[0]?.path as string);
    expect(file.length).toBe(bytes);
    expect(file.subarray(-4).toString()).toBe('PAR1');
  });
});
