import { spawnSync } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { type Options, parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { DataError, OptionError, StorageError } from '../../src/base/errors.js';
import { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { activities } from '../../src/operators/activities.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { routeByTag } from '../../src/operators/route-by-tag.js';
import { Activity } from '../../src/post/activity.js';
import type { Written } from '../../src/sinks/commit/run-result.js';
import { type CsvOptions, csv, csvOn } from '../../src/sinks/csv.js';
import { localFiles } from '../../src/sources/local-files.js';
import { csvRow } from '../../src/tables/csv/csv-row.js';
import { rowReader } from '../../src/tables/row-reader.js';
import { listColumns } from '../../src/tables/table-options.js';
import * as tables from '../../src/tables/tables.js';
import { codePoint } from '../code-point.js';
import { askedOfThreads } from '../files/asked-of-threads.js';
import { blocksOf, pageNamed } from '../pages.js';
import { arbitraryPost } from '../post/arbitrary-post.js';
import { PowerCut, SimulatedDisk } from '../storage/simulated-disk.js';
import { bySuite } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';
import { places } from './cursors.js';
import { PAGES, pageOf } from './pages.js';
import { post } from './posts.js';

// A run waits if a crash has left an empty lock file. These tests simulate hundreds of crashes, so
// this mock ends each wait immediately.
vi.mock('node:timers/promises', () => ({ setTimeout: async () => {} }));

/** Parses rows. An empty field without quotes becomes `null`. */
function rowsOf(text: string, options: Options = {}): (string | null)[][] {
  return unchecked<(string | null)[][]>(
    parse(text, {
      relax_column_count: false,
      // Readers accept each of these as the end of a record. By default, this parser accepts only
      // the one that ends the first line.
      record_delimiter: ['\r\n', '\n', '\r'],
      cast: (value, { quoting }) => (value === '' && !quoting ? null : value),
      ...options,
    }),
  );
}

async function write<T>(
  items: readonly T[],
  options: Omit<CsvOptions<T>, 'path'> & { readonly path?: CsvOptions<T>['path'] },
): Promise<{ readonly files: Record<string, Buffer>; readonly written: Written }> {
  const disk = new SimulatedDisk();
  const written = await pipeline(
    places([items]),
    csvOn<T>(disk, { path: '/out/rows.csv', ...options }),
  );
  return { files: filesOf(disk), written };
}

function filesOf(disk: SimulatedDisk): Record<string, Buffer> {
  const names = disk.files().filter(name => name.startsWith('/out/'));
  return Object.fromEntries(names.map(name => [name, disk.read(name)]));
}

async function textOf<T>(items: readonly T[], options: Omit<CsvOptions<T>, 'path'>) {
  return String((await write(items, options)).files['/out/rows.csv']);
}

const own = <Type extends tables.ColumnType>(type: Type, name = 'value') =>
  unchecked<tables.Column<unknown>>({ name, type, value: (item: unknown) => item });

describe('a written CSV file', () => {
  const texts = [
    'plain',
    '',
    null,
    'null',
    'NULL',
    'NA',
    'nan',
    ' ',
    '9007199254740993',
    'a "b",\nc',
  ];
  const columns: tables.Column<{ readonly id: string; readonly text: string | null }>[] = [
    { name: 'id', type: 'string', value: ({ id }) => id },
    { name: 'text', type: 'string', value: ({ text }) => text },
  ];
  const written = async () => {
    const folder = await temporaryFolder();
    const rows = texts.map((text, i) => ({ id: `${i}`, text }));
    await pipeline(places([rows]), csv({ path: path.join(folder, '2024-01-31.csv'), columns }));
    return folder;
  };
  const lineOf = (language: string) =>
    String(
      blocksOf(pageNamed('src/tables/README.md'), language).find(block => block.includes('csv')),
    );

  it('is read correctly by DuckDB, including empty strings and strings such as null', async () => {
    const folder = await written();
    const connection = await (await DuckDBInstance.create()).connect();
    const query = `${lineOf('sql').replace('out/csv', folder)} ORDER BY id::INT`;
    const rows = (await connection.runAndReadAll(query)).getRowObjects();
    connection.closeSync();
    expect(rows.map(({ text }) => text)).toEqual(texts);
  });

  it('is read correctly by pandas, which returns null as empty strings', async context => {
    const isThere = (python: string) => spawnSync(python, ['-c', 'import pandas']).status === 0;
    const python = ['python3', '/usr/bin/python3'].find(isThere);
    context.skip(python === undefined, 'pandas is not installed: apt-get install python3-pandas');
    const line = lineOf('python').replace('out/csv', await written());
    const script = `import json, pandas\n${line}\nprint(json.dumps(list(posts['text'])))`;
    const { stdout } = spawnSync(String(python), ['-c', script], { encoding: 'utf8' });
    expect(JSON.parse(stdout)).toEqual(texts.map(text => text ?? ''));
  });
});

describe('csv', () => {
  it('writes the same bytes with and without threads for any value of a single column', async () => {
    const folder = await temporaryFolder();
    const asked = askedOfThreads();
    const at = (name: string) => path.join(folder, name);
    const columns = ['text', 'author_name', 'hashtags', 'longitude', 'favorite_count'] as const;
    const special = fc.constantFrom('\\\\.', '\\u005c.', '', 'a\\ud800b');
    const anyText = fc.string({
      unit: fc.constantFrom(
        '\\\\',
        '.',
        '\\ud800',
        '\\udc00',
        '\\u005c',
        '\\"',
        ',',
        '\\n',
        '\\u0000',
        'é',
        '-',
      ),
      maxLength: 4,
    });
    const literal = fc.oneof(special, anyText);
    const number = fc.constantFrom('-0', '-0.0', '-0e1', '0', '1', '1e2', '-1', '1.50', 'null');
    const line = fc
      .tuple(literal, number, number)
      .map(
        ([text, x, count]) =>
          `{"created_at":"Wed Oct 10 20:19:24 +0000 2018","id":1,"id_str":"1","text":"${text}","user":{"id_str":"2","name":"${text}"},` +
          `"coordinates":{"type":"Point","coordinates":[${x},1]},"favorite_count":${count},"entities":{"hashtags":[{"text":"${text}"}]}}\n`,
      );
    const settings = fc.record({
      column: fc.constantFrom(...columns),
      formulas: fc.constantFrom('keep' as const, 'escape' as const),
      lines: fc.array(line, { minLength: 1, maxLength: 20 }),
    });
    let run = 0;
    const property = fc.asyncProperty(settings, async ({ column, formulas, lines }) => {
      const input = at(`${++run}.jsonl`);
      await writeFile(input, lines.join(''));
      const [here, byThreads] = [at(`${run}-0.csv`), at(`${run}-2.csv`)];
      const given = { columns: [column], formulas, invalidValues: 'null' as const };
      const read = () => activities()(jsonLines()(localFiles(input)));
      await pipeline(read(), csv({ ...given, path: here, workers: 0 }));
      await pipeline(read(), csv({ ...given, path: byThreads, workers: 2 }));
      const posts = lines.map(text => new Activity(Buffer.from(text.trimEnd())));
      const rows = rowReader('csv', listColumns([column]), 'null');
      const expected = [column, ...posts.map(post => rows(post))].map(row =>
        csvRow(unchecked(Array.isArray(row) ? row : [row]), formulas === 'escape'),
      );
      expect(String(await readFile(here))).toBe(
        `${expected.join('\n')}\n`.replace(/[\ud800-\udfff]/g, '\ufffd'),
      );
      expect(await readFile(byThreads)).toEqual(await readFile(here));
    });
    await fc.assert(property, { numRuns: bySuite(5, 300) });
    expect(asked('decode')).toBeGreaterThan(0);
  });

  describe('with posts that contain quotes and line ends', () => {
    const two = () =>
      write(
        [
          post({ id: '9223372036854775807', text: 'Say "snow",\r\nor\nnot 🍕' }),
          post({ id: '2', text: '', lang: 'en' }),
        ],
        { columns: ['id', 'posted_at', 'text', 'author_verified', 'hashtags'] },
      );

    it('writes the column names and a row for each post', async () => {
      const { files } = await two();
      expect(String(files['/out/rows.csv'])).toBe(
        'id,posted_at,text,author_verified,hashtags\r\n' +
          '9223372036854775807,2024-01-01T00:00:00.000Z,"Say ""snow"",\r\nor\nnot 🍕",,[]\r\n' +
          '2,2024-01-01T00:00:00.000Z,"",,[]\r\n',
      );
    });

    it('returns the number of posts and bytes', async () => {
      const { files, written } = await two();
      expect(written.posts).toBe(2);
      expect(written.bytes).toBe(files['/out/rows.csv']?.length);
    });
  });

  it('writes all columns of posts by default', async () => {
    const [header] = rowsOf(await textOf([post({ id: '1' })], {}));
    expect(header).toEqual(Object.keys(tables.posts));
  });

  it.each<[tables.ColumnType, unknown, string]>([
    ['int32', -5, '-5'],
    ['int64', 9223372036854775807n, '9223372036854775807'],
    ['double', 0.1, '0.1'],
    ['double', -0, '-0'],
    ['double', 1e21, '1e+21'],
    ['boolean', true, 'true'],
    ['boolean', false, 'false'],
    ['timestamp', new Date(5), '1970-01-01T00:00:00.005Z'],
    ['string', '""', '""""""'],
    ['string', ' a ', ' a '],
    ['string', 'a\rb', '"a\rb"'],
    ['string', 'a\nb', '"a\nb"'],
    ['list<int64>', [9223372036854775807n, 1n], '"[9223372036854775807,1]"'],
    ['list<string>', ['a', '"'], '"[""a"",""\\""""]"'],
    ['list<timestamp>', [new Date(5)], '"[""1970-01-01T00:00:00.005Z""]"'],
    ['list<string>', [], '[]'],
    // A null in the only column is quoted, because readers skip blank lines.
    ['string', null, '""'],
    ['string', '\\.', '"\\."'],
  ])('prints a value of the type %s: %o', async (type, value, text) => {
    expect(await textOf([value], { columns: [own(type)] })).toBe(`value\r\n${text}\r\n`);
  });

  it('writes any strings so that a parser returns them', async () => {
    const text = fc.oneof(
      fc.string({ unit: codePoint }),
      fc.string({
        unit: fc.constantFrom('"', ',', '\r', '\n', "'", ' ', '=', '\ufeff', 'a', '🍕'),
      }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.option(text), { minLength: 3, maxLength: 3 }), { minLength: 1 }),
        async rows => {
          const columns = [0, 1, 2].map(at => ({
            name: `c${at}`,
            type: 'string' as const,
            value: (row: (string | null)[]) => row[at],
          }));
          const { files } = await write(rows, { columns });
          expect(rowsOf(String(files['/out/rows.csv']))).toEqual([['c0', 'c1', 'c2'], ...rows]);
        },
      ),
      { numRuns: bySuite(20, 500) },
    );
  });

  it('writes any posts so that a parser returns their values', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(arbitraryPost, { minLength: 1, maxLength: 5 }), async written => {
        const posts = written.map(({ bytes }) => new Activity(bytes));
        const expected = posts.map(item => Object.values(tables.toRow(tables.posts)(item)));
        const [, ...rows] = rowsOf(await textOf(posts, {}));
        const types = Object.values(tables.posts).map(({ type }) => type);
        const parsed = rows.map(row =>
          row.map((field, at) => {
            if (field === null) return null;
            switch (types[at]) {
              case 'int32':
              case 'double':
                return Number(field);
              case 'boolean':
                return field === 'true';
              case 'timestamp':
                return new Date(field);
              case 'list<string>':
              case 'list<double>':
                return JSON.parse(field);
              default:
                return field;
            }
          }),
        );
        expect(parsed).toEqual(expected);
      }),
      { numRuns: bySuite(10, 500) },
    );
  });

  it('writes an apostrophe before formulas, and only before formulas, if `formulas` is "escape"', async () => {
    const texts = ['=1+2', '+1', '-1', '@jack hi', '\tx', '\rx', '\n=1', '＝1', "'=", 'a=1', ''];
    const columns = [own('string')];
    const kept = rowsOf(await textOf(texts, { columns })).slice(1);
    expect(kept.flat()).toEqual(texts);
    const escaped = rowsOf(await textOf(texts, { columns, formulas: 'escape' })).slice(1);
    expect(escaped.flat()).toEqual([
      ...["'=1+2", "'+1", "'-1", "'@jack hi", "'\tx", "'\rx", "'\n=1", "'＝1", "'=", 'a=1', ''],
    ]);
    const numbers = await textOf([-5, -2], { columns: [own('int32')], formulas: 'escape' });
    expect(numbers).toBe('value\r\n-5\r\n-2\r\n');
  });

  it('can start with a byte order mark for Excel', async () => {
    expect(await textOf([1], { columns: [own('int32')], bom: true })).toBe('\ufeffvalue\r\n1\r\n');
  });

  it('writes the column names into every numbered file, compressed or not', async () => {
    const posts = Array.from({ length: 40 }, (_, n) =>
      post({ id: String(n), text: 'snow '.repeat(n) }),
    );
    for (const gzip of [false, true]) {
      const { files, written } = await write(posts, {
        columns: ['id', 'text'],
        maxBytes: 500,
        gzip,
      });
      const parts = Object.values(files).map(bytes =>
        rowsOf(String(gzip ? gunzipSync(bytes) : bytes)),
      );
      expect(parts.length).toBeGreaterThan(5);
      for (const [header] of parts) expect(header).toEqual(['id', 'text']);
      expect(parts.flatMap(([, ...rows]) => rows.map(([id]) => id))).toEqual(
        posts.map(({ id }) => id),
      );
      expect(written.posts).toBe(40);
    }
  });

  it('writes the posts of each tag to a separate file, with the tag in a column', async () => {
    const disk = new SimulatedDisk();
    const tagged = post({ id: '1' }).withMatchingRules([
      { tag: 'snow', id: '1' },
      { tag: 'ice', id: '2' },
    ]);
    await pipeline(
      places([[tagged]]),
      routeByTag(),
      csvOn(disk, { path: '/out/{tag}.csv', columns: ['tag', 'rule_tags', 'id'] }),
    );
    expect(Object.entries(filesOf(disk)).map(([name, bytes]) => [name, String(bytes)])).toEqual([
      ['/out/ice.csv', 'tag,rule_tags,id\r\nice,"[""snow"",""ice""]",1\r\n'],
      ['/out/snow.csv', 'tag,rule_tags,id\r\nsnow,"[""snow"",""ice""]",1\r\n'],
    ]);
  });

  it('rejects with an error about the item that does not fit the columns, and writes no file', async () => {
    const columns: CsvOptions<Activity>['columns'] = [
      'id',
      { name: 'words', type: 'int32', value: item => item.text.length / 0 },
    ];
    const broken = write([post({ id: '7' })], { columns });
    await expect(broken).rejects.toBeInstanceOf(DataError);
    await expect(broken).rejects.toThrow(
      'Column "words" of post 7: expected a whole number of 32 bits, got Infinity. Pass invalidValues: \'null\' to csv()',
    );
    const lenient = await textOf([post({ id: '7' })], { columns, invalidValues: 'null' });
    expect(lenient).toBe('id,words\r\n7,\r\n');
    await expect(write([unchecked({ count: 1 })], {})).rejects.toThrow(
      'The columns of csv() are of posts, but got an object',
    );
  });

  it.each<[object, string, string]>([
    [{ columns: ['id', 'id'] }, 'columns', 'csv: `columns` must have each column once'],
    [{ columns: [] }, 'columns', 'at least one column'],
    [{ columns: ['postedAt'] }, 'columns', 'did you mean "posted_at"?'],
    [{ formulas: 'on' }, 'formulas', "'keep' or 'escape'"],
    [{ invalidValues: null }, 'invalidValues', "'error' or 'null'"],
    [{ path: 'x.csv.zstd' }, 'path', 'csv: `path`'],
    [{ bom: 1, colums: [] }, 'colums', 'did you mean `columns`?'],
  ])('throws an OptionError for %j before any I/O', (options, option, message) => {
    const call = () => csv(unchecked({ path: 'x.csv', ...options }));
    expect(call).toThrow(OptionError);
    expect(call).toThrow(message);
    expect(call).toThrow(expect.objectContaining({ option }));
  });

  it('continues after a crash at any call, with one header per file', async () => {
    const items = Array.from({ length: 12 }, (_, batch) =>
      Array.from({ length: batch % 4 }, (_, n) => ({
        to: 'ab'.charAt((batch + n) % 2),
        n: batch * 10 + n,
      })),
    );
    const options: CsvOptions<{ to: string; n: number }> = {
      path: ({ to }) => `/out/${to}.csv`,
      columns: [
        { name: 'n', type: 'int32', value: ({ n }) => n },
        { name: 'text', type: 'string', value: ({ n }) => `${n}\n"${n}"` },
      ],
      checkpoint: '/run.json',
      commitIntervalMs: 0,
    };
    const run = (disk: SimulatedDisk) => pipeline(places(items), csvOn(disk, options));
    const whole = new SimulatedDisk();
    await run(whole);
    expect(Object.keys(filesOf(whole))).toEqual(['/out/a.csv', '/out/b.csv']);
    for (let cut = 0; cut < whole.calls; cut += 7) {
      const disk = new SimulatedDisk();
      disk.cutAt = cut;
      await expect(run(disk)).rejects.toBeInstanceOf(PowerCut);
      disk.keepAll();
      await run(disk);
      expect(filesOf(disk), `cut at call ${cut}`).toEqual(filesOf(whole));
    }
  });

  it('does not continue files if the columns have changed', async () => {
    const disk = new SimulatedDisk();
    const options = { path: '/out/rows.csv', checkpoint: '/run.json', commitIntervalMs: 0 };
    const pages = Array.from({ length: 5 }, (_, page) => pageOf(page));
    await pipeline(places(pages), csvOn(disk, { ...options, columns: ['id', 'text'] }));
    const others = pipeline(places(pages), csvOn(disk, { ...options, columns: ['id', 'lang'] }));
    await expect(others).rejects.toBeInstanceOf(StorageError);
    await expect(others).rejects.toThrow('`columns` of csv() was');
  });

  it('writes every post into gzip files on disk', async () => {
    const folder = await temporaryFolder();
    const pages = new Flow<Activity>(async function* () {
      for (let page = 0; page < PAGES; page++) yield { items: pageOf(page) };
    });
    await pipeline(pages, csv({ path: path.join(folder, '{hour}.csv.gz') }));
    const names = await readdir(folder);
    const ids = await Promise.all(
      names.map(async name =>
        rowsOf(String(gunzipSync(await readFile(path.join(folder, name)))))
          .slice(1)
          .map(([id]) => id),
      ),
    );
    const expected = Array.from({ length: PAGES }, (_, page) => pageOf(page).map(({ id }) => id));
    expect(ids.flat().toSorted()).toEqual(expected.flat().toSorted());
  });
});
