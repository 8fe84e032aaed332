import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { DAY, HOUR, MINUTE, SECOND } from '../../src/base/time.js';
import { pipeline } from '../../src/flow/pipeline.js';
import type { ProgressCounts } from '../../src/flow/progress.js';
import { toJetStream } from '../../src/jetstream/to-jet-stream.js';
import { compose } from '../../src/operators/compose.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { take } from '../../src/operators/take.js';
import type { Activity } from '../../src/post/activity.js';
import { type CountBucket, counts } from '../../src/search/counts.js';
import { type SearchOptions, search } from '../../src/search/search.js';
import { collect } from '../../src/sinks/collect.js';
import { committed } from '../../src/sinks/committed.js';
import { csv } from '../../src/sinks/csv.js';
import { files } from '../../src/sinks/files.js';
import { tee } from '../../src/sinks/tee.js';
import { concat } from '../../src/sources/concat.js';
import { merge } from '../../src/sources/merge.js';
import { bySuite } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';
import {
  allPosts,
  Crash,
  crashAfter,
  FROM,
  idsOf,
  linesIn,
  local,
  NIGHTLY,
  outputs,
  QUERY,
  run,
  START,
  searchable,
  service,
  setUpService,
} from './nightly-search.js';

setUpService();

describe('search() with `incremental`', () => {
  describe('in a second run', () => {
    const runTwice = async () => {
      const folder = await temporaryFolder();
      service.clock.set(START);
      const first = await run(folder);
      service.clock.advance(7 * HOUR);
      return { folder, first, second: await run(folder) };
    };

    it('continues where the last complete run ended', async () => {
      const { folder } = await runTwice();
      const all = await allPosts(searchable());
      expect(idsOf(await linesIn(folder))).toEqual(idsOf(all));
    });

    it('returns how many posts it has added', async () => {
      const { first, second } = await runTwice();
      expect(first.added).toBe(first.posts);
      expect(second.added).toBeGreaterThan(0);
      expect(second.posts).toBe(first.posts + (second.added ?? 0));
    });

    it('appends to the files of the days', async () => {
      const { folder, second } = await runTwice();
      const days = ['2024-05-08.jsonl', '2024-05-09.jsonl', '2024-05-10.jsonl'];
      expect(await readdir(folder)).toEqual([...days, 'checkpoint.json']);
      expect(second.files.map(({ path: name }) => path.basename(name)).sort()).toEqual(days);
    });
  });

  it('delivers each post exactly once despite crashed, simultaneous and late runs', async () => {
    const span = fc.oneof(
      fc.integer({ min: 0, max: 90 * SECOND }),
      fc.integer({ min: 0, max: 2 * DAY }),
      fc.constant(7 * DAY),
    );
    const runs = fc.array(
      fc.record({
        later: span,
        crash: fc.option(fc.integer({ min: 0, max: 60 }), { nil: undefined }),
        slices: fc.constantFrom(1, 1, 3),
      }),
      { minLength: 1, maxLength: 5 },
    );
    const sink = fc.record({
      maxBytes: fc.option(fc.integer({ min: 1, max: 60_000 }), { nil: undefined }),
      gzip: fc.constantFrom(false, false, true),
      commitIntervalMs: fc.constantFrom(0, 1000),
    });
    await fc.assert(
      fc.asyncProperty(runs, sink, fc.constantFrom(1, 3), async (list, { gzip, ...to }, slices) => {
        const folder = await temporaryFolder();
        service.clock.set(START);
        const once = (crash?: number) =>
          pipeline(
            search(local(), { ...NIGHTLY, slices }),
            dedupe(),
            crashAfter(crash),
            files(outputs(folder, to)),
          );
        for (const { later, crash } of list) {
          service.clock.advance(later);
          await once(crash).catch(error => expect(error).toBeInstanceOf(Crash));
        }
        await once();
        service.clock.advance(MINUTE);
        const last = await once();
        const all = await allPosts(searchable());
        expect(idsOf(await linesIn(folder))).toEqual(idsOf(all));
        expect(last.posts).toBe(all.length);
        for (const { path: name, bytes } of last.files)
          expect((await readFile(name)).length).toBe(bytes);
      }),
      { numRuns: bySuite(2, 150) },
    );
  }, 120_000);

  it('throws for options that would leave a part of the window to another run', () => {
    const refused = (options: Partial<SearchOptions>) => () =>
      search(local(), { ...NIGHTLY, ...options });
    for (const [name, value] of Object.entries({
      toDate: '202405100000',
      next: 'abc',
      limit: 5,
      pages: 1,
      shard: { index: 1, of: 2 },
    }))
      expect(refused({ [name]: value })).toThrow(OptionError);
    const sharded = local({ shard: { index: 1, of: 2 } });
    const { query, ...others } = NIGHTLY;
    for (const options of [NIGHTLY, { ...others, rules: [{ value: query }] }])
      expect(() => search(sharded, options)).toThrow('`shard` cannot be combined with `incr');
    expect(() => concat(search(local(), NIGHTLY), search(local(), NIGHTLY))).toThrow(
      /concat.*incremental.*merge/s,
    );
  });

  it('throws for a sink that could not continue in the next run', async () => {
    const folder = await temporaryFolder();
    const to = path.join(folder, '{day}.jsonl');
    const message = '`checkpoint` is missing: the source is `incremental`';
    const source = search(local(), NIGHTLY);
    await expect(pipeline(source, files({ path: to }))).rejects.toThrow(message);
    await expect(pipeline(source, tee(files({ path: to })))).rejects.toThrow(message);
    const unopened = () => Promise.reject(new Error('connected'));
    const nats = toJetStream<Activity>({ connection: unopened, stream: 'x', subject: 'y' });
    await expect(pipeline(search(local(), NIGHTLY), nats)).rejects.toThrow(
      '`toJetStream` cannot take a source that is `incremental`',
    );
    expect(await readdir(folder)).toEqual([]);
  });

  it('delivers new posts to a file that was rewritten between two runs', async () => {
    const folder = await temporaryFolder();
    service.clock.set(START);
    await run(folder);
    const today = path.join(folder, '2024-05-10.jsonl');
    const kept = (await readFile(today, 'utf8')).split('\n').slice(2).join('\n');
    await writeFile(today, kept);
    service.clock.advance(HOUR);
    await run(folder, {}, 1).catch(error => expect(error).toBeInstanceOf(Crash));
    const { added } = await run(folder);
    const text = await readFile(today, 'utf8');
    expect(text.startsWith(kept)).toBe(true);
    expect(text.split('\n').length).toBe(kept.split('\n').length + (added ?? 0));
  });

  it('continues although a finished file was moved, unless it must append to that file', async () => {
    const folder = await temporaryFolder();
    service.clock.set(START);
    await run(folder);
    await rename(path.join(folder, '2024-05-08.jsonl'), path.join(folder, 'loaded'));
    service.clock.advance(HOUR);
    const { added } = await run(folder);
    expect(added).toBeGreaterThan(0);
    await rename(path.join(folder, '2024-05-10.jsonl'), path.join(folder, 'loaded'));
    service.clock.advance(HOUR);
    await expect(run(folder)).rejects.toThrow(/2024-05-10.*was moved or removed/s);
    await rename(path.join(folder, 'loaded'), path.join(folder, '2024-05-10.jsonl'));
    await run(folder);
    expect((await linesIn(folder)).length).toBeGreaterThan(0);
  });

  it('continues with several sources in merge() and several branches in tee()', async () => {
    const folder = await temporaryFolder();
    service.clock.set(START);
    const both = () =>
      merge(
        ...['good OR new', 'coffee OR rain'].map(query => search(local(), { ...NIGHTLY, query })),
      );
    const tags = (name: string) => path.join(folder, name, '{day}.jsonl');
    const once = (crash?: number) =>
      pipeline(
        both(),
        dedupe(),
        crashAfter(crash),
        tee(
          files({ path: tags('all'), commitIntervalMs: 0 }),
          compose(take<Activity>(30), files({ path: tags('some'), commitIntervalMs: 0 })),
          csv({
            path: path.join(folder, 'table', '{day}.csv'),
            columns: ['id'],
            commitIntervalMs: 0,
          }),
          { checkpoint: path.join(folder, 'checkpoint.json') },
        ),
      );
    for (const crash of [undefined, 5, undefined, undefined]) {
      await once(crash).catch(error => expect(error).toBeInstanceOf(Crash));
      service.clock.advance(6 * HOUR);
    }
    const [all, some, table] = await once();
    const expected = await pipeline(
      search(local(), {
        ...QUERY,
        query: 'good OR new OR coffee OR rain',
        fromDate: FROM,
        toDate: searchable(),
      }),
      collect(),
    );
    expect(idsOf(await linesIn(path.join(folder, 'all')))).toEqual(
      expected.map(({ id }) => id).sort(),
    );
    expect(all).toMatchObject({ posts: expected.length, added: expect.any(Number) });
    expect(all?.added).toBeGreaterThan(0);
    expect(some).toMatchObject({ posts: 30, added: 0 });
    expect(table).toMatchObject({ posts: expected.length, added: all?.added });
  });

  it('commits every row exactly once to a custom target, with and without transactions', async () => {
    for (const isAtomic of [true, false]) {
      service.clock.set(START);
      const rows: string[] = [];
      const tokens = new Set<string>();
      let saved: string | undefined;
      let crashes = 0;
      const once = (crash?: number) => {
        let left = crash ?? Number.POSITIVE_INFINITY;
        return pipeline(
          search(local(), NIGHTLY),
          dedupe(),
          committed<Activity>({
            ...(isAtomic && {
              transaction: async (work: (tx: undefined) => Promise<void>) => work(undefined),
            }),
            load: () => saved,
            write: (posts, _, { token }) => {
              if (isAtomic || !tokens.has(token)) rows.push(...posts.map(({ id }) => id));
              tokens.add(token);
            },
            save: text => {
              if (left-- <= 0) throw new TypeError('crash');
              saved = text;
            },
            rows: 20,
          }),
        );
      };
      for (const crash of isAtomic ? [undefined] : [3, 2, undefined, 2, undefined]) {
        await once(crash).catch(error => {
          expect(error).toMatchObject({ message: 'crash' });
          crashes++;
        });
        service.clock.advance(5 * HOUR);
      }
      expect(crashes).toBe(isAtomic ? 0 : 3);
      const { added, rows: total } = await once();
      expect(added).toBeGreaterThan(0);
      const all = await allPosts(searchable());
      expect(total).toBe(all.length);
      expect(rows.sort()).toEqual(idsOf(all));
      expect(await once()).toEqual({ rows: total, added: 0 });
    }
  });
});

describe('counts() with `incremental`', () => {
  it('delivers each complete bucket exactly once over any runs', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('day', 'hour', 'minute'),
        fc.array(fc.integer({ min: 0, max: 3 * DAY }), { minLength: 1, maxLength: 4 }),
        fc.option(fc.integer({ min: 0, max: 30 }), { nil: undefined }),
        async (bucket, spans, crash) => {
          const folder = await temporaryFolder();
          service.clock.set(START);
          const options = {
            query: 'coffee',
            product: 'fullarchive',
            bucket,
            fromDate: FROM,
          } as const;
          const once = (crash?: number) =>
            pipeline(
              counts(local(), { ...options, incremental: true }),
              crashAfter(crash),
              files<CountBucket>({
                ...outputs(folder),
                path: path.join(folder, 'counts.jsonl'),
              }),
            );
          for (const later of spans) {
            service.clock.advance(later);
            await once(crash).catch(error => expect(error).toBeInstanceOf(Crash));
          }
          await once();
          const unit = { day: DAY, hour: HOUR, minute: MINUTE }[bucket];
          const whole = await pipeline(
            counts(local(), { ...options, toDate: searchable(unit) }),
            collect(),
          );
          const lines = (await linesIn(folder)).map(line => JSON.parse(line));
          expect(lines.map(({ timePeriod, count }) => `${timePeriod} ${count}`).sort()).toEqual(
            whole.map(({ timePeriod, count }) => `${timePeriod} ${count}`).sort(),
          );
        },
      ),
      { numRuns: bySuite(2, 100) },
    );
  }, 120_000);
});

describe('a run with a complete checkpoint', () => {
  it('reports since when it is complete without sending a request', async () => {
    const folder = await temporaryFolder();
    service.clock.set(START);
    const told: ProgressCounts[] = [];
    const once = () =>
      pipeline(
        search(local(), { ...QUERY, fromDate: FROM, toDate: '202405090000' }),
        files(outputs(folder)),
        { progress: counts => told.push(counts) },
      );
    const began = Date.now();
    const first = await once();
    expect(first.completeSince).toBeUndefined();
    expect(told.at(-1)?.note).toBeUndefined();
    const second = await once();
    expect(second).toEqual({ ...first, completeSince: expect.any(Date) });
    expect(second.completeSince?.getTime()).toBeGreaterThanOrEqual(began);
    const at = second.completeSince?.toISOString().slice(0, 16).replace('T', ' ');
    expect(told.at(-1)?.note).toBe(`already complete since ${at} UTC; no requests sent`);
  });
});
