import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { DataError, OptionError, StorageError } from '../../../src/base/errors.js';
import { Flow } from '../../../src/flow/flow.js';
import { pipeline } from '../../../src/flow/pipeline.js';
import { activities } from '../../../src/operators/activities.js';
import { compose } from '../../../src/operators/compose.js';
import { dedupe } from '../../../src/operators/dedupe.js';
import { gunzip } from '../../../src/operators/gunzip.js';
import { jsonLines } from '../../../src/operators/json-lines.js';
import { routeByTag } from '../../../src/operators/route-by-tag.js';
import type { Activity, Routed } from '../../../src/post/activity.js';
import { committed, type WriteRange } from '../../../src/sinks/committed.js';
import { csv } from '../../../src/sinks/csv.js';
import { files } from '../../../src/sinks/files.js';
import { tee } from '../../../src/sinks/tee.js';
import { localFiles } from '../../../src/sources/local-files.js';
import { toCsv } from '../../../src/tables/csv/to-csv.js';
import { askedOfThreads } from '../../files/asked-of-threads.js';
import { bySuite } from '../../suite.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { unchecked } from '../../unchecked.js';
import { places } from '../cursors.js';
import { post } from '../posts.js';
import { ENDINGS, StandIn } from '../stand-in.js';

const quick = { retryWaitMs: 0, waitMs: 0 } as const;

/** Returns a post as a line of JSON. `text` is a JSON string without its quotes. */
function line(id: number | bigint, text: string, tags: readonly string[] = ['a']): string {
  const rules = tags.map((tag, index) => ({ tag, id: index + 1, id_str: `${index + 1}` }));
  return `{"created_at":"Wed Oct 10 20:19:24 +0000 2018","id":${id},"id_str":"${id}","text":"${text}","user":{"id":1,"id_str":"1","screen_name":"a"},"lang":"en","matching_rules":${JSON.stringify(rules)}}`;
}

const gz = (lines: readonly string[]) => gzipSync(lines.map(one => `${one}\n`).join(''));

async function store(folder: string, contents: readonly (readonly string[])[]) {
  await mkdir(folder, { recursive: true });
  const paths = contents.map((_, index) => path.join(folder, `${index}.gz`));
  for (const [index, lines] of contents.entries()) await writeFile(paths[index]!, gz(lines));
  return paths;
}

const postsOf = (paths: readonly string[]): Flow<Activity> =>
  activities()(jsonLines()(gunzip()(localFiles(paths))));

/**
 * Returns functions for `committed()` that join the blocks of each call into one row of `target`.
 */
function blocksInto(target: StandIn<string>, kind: 'transactions' | 'ranges' = 'transactions') {
  const { write, ...calls } = target[kind];
  return {
    ...calls,
    write: (blocks: readonly Buffer[], _: unknown, range: WriteRange) =>
      write([Buffer.concat(blocks).toString()], undefined, range),
  };
}

const ofTarget = (target: StandIn<string>) => target.rows.join('');
const rowsIn = (text: string): string[][] => parse(text, { relaxColumnCount: true });

const TEXTS = [
  'snow',
  'a, b',
  '\\u0022quoted\\u0022',
  'two\\nlines',
  '天気 &amp; ☃',
  '\\u0000',
  '',
];
const lines = fc.array(
  fc
    .tuple(
      fc.integer({ min: 1, max: 60 }),
      fc.constantFrom(...TEXTS),
      fc.subarray(['rain', 'snow', 'a,b'], { maxLength: 3 }),
    )
    .map(([id, text, tags]) => line(id, text, tags)),
  { maxLength: 15 },
);
const contents = fc.array(lines, { minLength: 1, maxLength: 5 });

describe('committed() with `encode`', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await temporaryFolder();
  });

  async function csvOf<T>(flow: Flow<T>, columns: readonly string[], name = 'all.csv') {
    const file = path.join(folder, name);
    await pipeline(flow, csv<T>(unchecked({ path: file, columns, workers: 0 })));
    const text = await readFile(file, 'utf8').catch(() => '');
    await rm(file, { force: true });
    return text.slice(text.indexOf('\n') + 1);
  }

  it('passes the bytes of csv rows without a header to `write`, with and without threads', async () => {
    const asked = askedOfThreads();
    const columns = ['tag', 'id', 'text', 'posted_at', 'rule_tags'] as const;
    let round = 0;
    const holds = async (stored: readonly (readonly string[])[], rows: number, isOnce: boolean) => {
      const paths = await store(path.join(folder, `${round++}`), stored);
      const routed = () =>
        routeByTag({ untagged: 'none' })(isOnce ? dedupe()(postsOf(paths)) : postsOf(paths));
      const expected = await csvOf(routed(), columns);
      for (const workers of [0, 2]) {
        const target = new StandIn<string>();
        const result = await pipeline(
          routed(),
          committed({
            ...quick,
            rows,
            workers,
            encode: toCsv<Routed>([...columns]),
            ...blocksInto(target),
          }),
        );
        expect(ofTarget(target)).toBe(expected);
        expect(result).toEqual({ rows: rowsIn(expected).length });
        for (const written of target.rows) {
          expect(written.endsWith('\r\n')).toBe(true);
          expect(rowsIn(written).length).toBeLessThanOrEqual(rows);
        }
      }
    };
    const some = Array.from({ length: 3 }, (_, file) =>
      Array.from({ length: 10 }, (_, at) => line(file * 7 + at + 1, TEXTS[at % TEXTS.length]!)),
    );
    await holds(some, 4, true);
    expect(asked('encode')).toBe(3);
    expect(asked('take')).toBe(0);
    await fc.assert(
      fc.asyncProperty(contents, fc.integer({ min: 1, max: 20 }), fc.boolean(), holds),
      {
        numRuns: bySuite(5, 150),
      },
    );
  });

  it.each(['transactions', 'ranges'] as const)(
    'writes each row exactly once after any failures and kills, with any number of threads, with %s',
    async kind => {
      let round = 0;
      await fc.assert(
        fc.asyncProperty(
          contents,
          fc.array(fc.constantFrom(...ENDINGS), { maxLength: 8 }),
          fc.array(fc.constantFrom(0, 1, 2), { minLength: 1 }),
          fc.integer({ min: 1, max: 12 }),
          async (stored, endings, workers, rows) => {
            const paths = await store(path.join(folder, `${round++}`), stored);
            const flow = () => dedupe()(postsOf(paths));
            const expected = await csvOf(flow(), ['id', 'text']);
            const target = new StandIn<string>(endings);
            for (let runs = 0; ; runs++) {
              expect(runs).toBeLessThan(20);
              const sink = committed({
                ...quick,
                rows,
                workers: workers[runs % workers.length],
                encode: toCsv(['id', 'text']),
                ...blocksInto(target, kind),
              });
              const result = await pipeline(flow(), sink).catch((error: unknown) => error);
              if (!(result instanceof Error)) {
                expect(result).toMatchObject({ rows: rowsIn(expected).length });
                break;
              }
              expect(result).toBeInstanceOf(StorageError);
              target.revive();
            }
            expect(ofTarget(target)).toBe(expected);
          },
        ),
        { numRuns: bySuite(6, 150) },
      );
    },
  );

  it('encodes with threads in a branch of tee next to a branch that writes files', async () => {
    const asked = askedOfThreads();
    const stored = Array.from({ length: 4 }, (_, file) =>
      Array.from({ length: 30 }, (_, at) => line(file * 30 + at + 1, `text ${at}`)),
    );
    const paths = await store(folder, stored);
    const target = new StandIn<string>();
    const [all, rows] = await pipeline(
      postsOf(paths),
      tee(
        files({ path: path.join(folder, 'all.jsonl'), commitIntervalMs: 0, workers: 2 }),
        compose(
          dedupe(),
          committed({ ...quick, rows: 50, encode: toCsv(['id', 'text']), ...blocksInto(target) }),
        ),
      ),
    );
    expect([all.posts, rows]).toEqual([120, { rows: 120 }]);
    expect(ofTarget(target)).toBe(await csvOf(postsOf(paths), ['id', 'text']));
    expect(asked('encode')).toBe(4);
    expect(asked('copy')).toBe(0);
  });

  it('encodes with threads as the only committing branch of tee', async () => {
    const asked = askedOfThreads();
    const paths = await store(folder, [[line(1, 'x'), line(2, 'y')]]);
    const target = new StandIn<string>();
    const sink = committed({ workers: 1, encode: toCsv(['id']), ...blocksInto(target) });
    expect(await pipeline(postsOf(paths), tee(sink))).toEqual([{ rows: 2 }]);
    expect(ofTarget(target)).toBe('1\r\n2\r\n');
    expect(asked('encode')).toBe(1);
  });

  it('divides rows into blocks of about 1 MiB, and puts a larger row into its own block', async () => {
    const sizes = [...Array.from({ length: 30 }, () => 100_000), 3_000_000, 5];
    const paths = await store(folder, [sizes.map((size, at) => line(at, 'x'.repeat(size)))]);
    for (const workers of [0, 1]) {
      const blocks: Buffer[] = [];
      const { write: _, ...calls } = blocksInto(new StandIn<string>());
      const sink = committed({
        ...calls,
        encode: toCsv(['id', 'text']),
        workers,
        write: (some: readonly Buffer[]) => void blocks.push(...some),
      });
      expect(await pipeline(postsOf(paths), sink)).toEqual({ rows: 32 });
      const small = blocks.filter(({ length }) => length < 3_000_000);
      expect(Math.max(...small.map(({ length }) => length))).toBeLessThan(1_200_000);
      expect(blocks.length).toBeGreaterThanOrEqual(4);
      expect(blocks.length).toBeLessThan(8);
      for (const block of blocks) expect(block.subarray(-2).toString()).toBe('\r\n');
      expect(rowsIn(Buffer.concat(blocks).toString()).map(([id]) => Number(id))).toEqual(
        sizes.map((_, at) => at),
      );
    }
  });

  it('commits the rows before an invalid post, and rejects with the same error with and without threads', async () => {
    const damaged = line(7, 'x').replace('Wed Oct 10 20:19:24 +0000 2018', 'at noon');
    const paths = await store(folder, [
      [line(1, 'x'), line(2, 'y')],
      [line(3, 'z'), damaged],
    ]);
    const errors: unknown[] = [];
    for (const workers of [0, 2]) {
      const target = new StandIn<string>();
      const run = pipeline(
        postsOf(paths),
        committed({
          ...quick,
          rows: 1,
          workers,
          encode: toCsv(['id', 'posted_at']),
          ...blocksInto(target),
        }),
      );
      const error: unknown = await run.catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(DataError);
      errors.push((error as Error).message);
      expect(rowsIn(ofTarget(target)).map(([id]) => id)).toEqual(['1', '2']);
    }
    expect(errors[0]).toMatch(/Column "posted_at" of post 7/);
    expect(errors[1]).toBe(errors[0]);
  });

  it('keeps each item that it cannot encode once in the file of damaged records', async () => {
    const damaged = line(7, 'x').replace('Wed Oct 10 20:19:24 +0000 2018', 'at noon');
    const paths = await store(folder, [
      [line(1, 'x'), damaged, '{}'],
      [line(3, 'z'), damaged],
    ]);
    const log = path.join(folder, 'damaged.jsonl');
    const target = new StandIn<string>(['ok', 'ok', 'killed before']);
    const run = () =>
      pipeline(
        postsOf(paths),
        committed({
          ...quick,
          rows: 1,
          retries: 0,
          damaged: log,
          encode: toCsv(['id', 'posted_at']),
          ...blocksInto(target),
        }),
      );
    await expect(run()).rejects.toBeInstanceOf(StorageError);
    target.revive();
    expect(await run()).toEqual({ rows: 2, damaged: 3 });
    const kept = (await readFile(log, 'utf8')).trim().split('\n');
    expect(kept.map(one => (JSON.parse(one) as { text: string }).text).toSorted()).toEqual([
      damaged,
      damaged,
      '{}',
    ]);
    expect(rowsIn(ofTarget(target)).map(([id]) => id)).toEqual(['1', '3']);
  });

  it('accepts strings and bytes from any encode function, and copies the bytes', async () => {
    const target = new StandIn<string>();
    const memory = new Uint8Array(2);
    const bytes = (item: number) => {
      memory.set([0x30 + item, 0x0a]);
      return memory;
    };
    const batches = [[1, 2], [], [3]];
    const calls = { ...quick, rows: 2, ...blocksInto(target) };
    await pipeline(places(batches), committed({ ...calls, encode: bytes }));
    expect(ofTarget(target)).toBe('1\n2\n3\n');
    const texts = new StandIn<string>();
    await pipeline(
      places(batches),
      committed({ ...calls, ...blocksInto(texts), encode: (item: number) => `${item} ☃\n` }),
    );
    expect(ofTarget(texts)).toBe('1 ☃\n2 ☃\n3 ☃\n');
  });

  it.each([5, null, undefined, Promise.resolve('x')])(
    'rejects with a DataError if its encode function returns %s',
    async value => {
      const target = new StandIn<string>();
      const encode = unchecked<(item: number) => string>(() => value);
      const run = pipeline(places([[1]]), committed({ ...quick, encode, ...blocksInto(target) }));
      await expect(run).rejects.toThrow(/The option `encode` must return text or bytes/);
      await expect(run).rejects.toBeInstanceOf(DataError);
      expect(target.rows).toEqual([]);
    },
  );

  it('reads as few items ahead of a commit as without `encode`', async () => {
    const askedWith = async (encode: ReturnType<typeof toCsv> | undefined) => {
      const target = new StandIn<string>();
      let asked = 0;
      const source = new Flow<Activity>(async function* () {
        for (let id = 1; id <= 9; id++) {
          asked++;
          yield { items: [post({ id: `${id}` })], cursor: { next: id } };
        }
      });
      const idle = async () => {
        for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
      };
      const seen: number[] = [];
      const write = async () => {
        await idle();
        seen.push(asked);
      };
      const { load, save, transaction } = target.transactions;
      const calls = { ...quick, rows: 1, load, save, transaction, write };
      await pipeline(
        source,
        encode === undefined ? committed<Activity>(calls) : committed({ ...calls, encode }),
      );
      return seen;
    };
    expect(await askedWith(toCsv(['id']))).toEqual(await askedWith(undefined));
  });

  it('rejects with the reason of an abort while threads encode, and continues in the next run', async () => {
    const stored = Array.from({ length: 6 }, (_, file) =>
      Array.from({ length: 200 }, (_, at) => line(file * 200 + at + 1, `text ${at}`)),
    );
    const paths = await store(folder, stored);
    const target = new StandIn<string>();
    const stop = new AbortController();
    const reason = new Error('enough');
    const run = (signal?: AbortSignal) => {
      let writes = 0;
      const { write, ...calls } = blocksInto(target);
      const sink = committed({
        ...quick,
        rows: 100,
        workers: 2,
        encode: toCsv(['id', 'text']),
        ...calls,
        write: (blocks: readonly Buffer[], _: unknown, range: WriteRange) => {
          if (++writes === 3 && signal !== undefined) stop.abort(reason);
          return write(blocks, undefined, range);
        },
      });
      return pipeline(postsOf(paths), sink, { signal });
    };
    await expect(run(stop.signal)).rejects.toBe(reason);
    expect(await run()).toEqual({ rows: 1_200 });
    expect(ofTarget(target)).toBe(await csvOf(postsOf(paths), ['id', 'text']));
  });

  it('rejects if `write` fails, and writes each row exactly once in the next run', async () => {
    const stored = Array.from({ length: 4 }, (_, file) =>
      Array.from({ length: 50 }, (_, at) => line(file * 50 + at + 1, 'x')),
    );
    const paths = await store(folder, stored);
    const target = new StandIn<string>();
    const run = (failAt: number) => {
      let calls = 0;
      const { write, ...others } = blocksInto(target);
      const sink = committed({
        ...quick,
        rows: 40,
        retries: 0,
        workers: 2,
        encode: toCsv(['id']),
        ...others,
        write: (blocks: readonly Buffer[], _: unknown, range: WriteRange) => {
          if (++calls === failAt) throw new Error('no space');
          return write(blocks, undefined, range);
        },
      });
      return pipeline(postsOf(paths), sink);
    };
    await expect(run(3)).rejects.toThrow('no space');
    expect(await run(0)).toEqual({ rows: 200 });
    expect(ofTarget(target)).toBe(await csvOf(postsOf(paths), ['id']));
  });

  it('commits after 20,000 rows by default, instead of 5,000 items without `encode`', async () => {
    const batches = Array.from({ length: 4 }, () => Array.from({ length: 6_000 }, (_, n) => n));
    const commitsWith = async (encode: ((item: number) => string) | undefined) => {
      const target = new StandIn<string>();
      const { load, save, transaction } = target.transactions;
      const calls = { waitMs: 60_000, load, save, transaction, write: () => {} };
      await pipeline(
        places(batches),
        encode === undefined ? committed<number>(calls) : committed({ ...calls, encode }),
      );
      return (JSON.parse(target.text ?? '') as { commits: number }).commits;
    };
    // One further commit completes the run.
    expect(await commitsWith(undefined)).toBe(4 + 1);
    expect(await commitsWith(String)).toBe(1 + 1);
  });

  it('throws an OptionError for a wrong `encode` or `workers` before it reads', () => {
    const calls = { load() {}, save() {}, write() {} };
    const wrong = (options: object) => () => committed(unchecked({ ...calls, ...options }));
    expect(wrong({ encode: 5 })).toThrow(OptionError);
    expect(wrong({ encode: 'csv' })).toThrow(/`encode`/);
    expect(wrong({ encode: toCsv(), workers: -1 })).toThrow(/`workers`/);
    expect(wrong({ workers: 2 })).toThrow(/`workers` needs `encode`/);
    expect(() => toCsv(unchecked(['id', 'postedAt']))).toThrow(/did you mean "posted_at"/i);
  });
});
