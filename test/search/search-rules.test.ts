import { readFile } from 'node:fs/promises';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HttpError, IncompleteError, OptionError } from '../../src/base/errors.js';
import { DAY, floorTo, formatTimestamp, HOUR, MINUTE } from '../../src/base/time.js';
import type { Cursor } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { Progress } from '../../src/flow/progress.js';
import { type AccountOptions, account } from '../../src/http/account.js';
import { tap } from '../../src/operators/tap.js';
import type { Activity } from '../../src/post/activity.js';
import { packRules } from '../../src/rules/pack-rules.js';
import { type SearchRulesOptions, search } from '../../src/search/search.js';
import type { PackedQueries } from '../../src/search/search-rules.js';
import { createService, type Service } from '../../src/service/index.js';
import { collect } from '../../src/sinks/collect.js';
import { files } from '../../src/sinks/files.js';
import { ScriptedServer } from '../http/scripted-server.js';
import { impatient } from '../http/virtual-time.js';
import { bySuite } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';
import { testAccount } from './paged-service.js';

let service: Service;
let addresses: Awaited<ReturnType<Service['start']>>;
const START = Date.UTC(2024, 4, 10, 9, 41, 12);

beforeAll(async () => {
  service = createService({ postsPerMinute: 0.2, limits: 'relaxed' });
  addresses = await service.start();
  service.clock.change({ frozen: true });
  service.clock.set(START);
});
afterAll(() => service.stop());

const local = (options: AccountOptions = {}) =>
  account({ ...addresses, timing: impatient(), limits: { search: [] }, ...options }, {});

const TO = floorTo(DAY, START - DAY);
const WINDOW = {
  product: 'fullarchive',
  fromDate: formatTimestamp(TO - 3 * DAY),
  toDate: formatTimestamp(TO),
} as const;
const RULES = [
  { value: 'coffee OR good', tag: 'a' },
  { value: 'rain -is:retweet', tag: 'b' },
  { value: 'new', tag: 'c' },
  { value: 'day (lang:en OR lang:es)', tag: 'd' },
];
/** Options with which the rules fit into three queries. One of the queries contains two rules. */
const THREE = { rules: RULES, queryLimits: { clauses: 3 }, maxResults: 10, ...WINDOW } as const;
const PACKED = packRules(RULES, THREE.queryLimits);

async function oneByOne(
  rules: readonly { readonly value: string; readonly tag: string }[],
): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const { value, tag } of rules) {
    const posts = await pipeline(search(local(), { query: value, ...WINDOW }), collect());
    for (const { id } of posts) found.set(id, [...(found.get(id) ?? []), tag]);
  }
  return found;
}

function tagged(posts: readonly Activity[]): Map<string, string[]> {
  expect(new Set(posts.map(({ id }) => id)).size).toBe(posts.length);
  return new Map(posts.map(({ id, tags }) => [id, [...tags]]));
}

const sorted = (found: ReadonlyMap<string, readonly string[]>) =>
  [...found].map(([id, tags]) => `${id} ${tags.toSorted().join(' ')}`).toSorted();

const run = (options: SearchRulesOptions, acme = local()) =>
  pipeline(search(acme, options), collect());

const stored = (cursor: unknown): Cursor => JSON.parse(JSON.stringify(cursor));

describe('search() with `rules`', () => {
  it('delivers each post exactly once, with the tags of its rules', async () => {
    const values = [
      'coffee',
      'good OR new',
      'rain -coffee',
      'day lang:en',
      '"good day"',
      '-is:retweet new',
      'rain -is:nullcast',
      '(coffee OR rain) -(good OR day)',
    ].map((value, n) => ({ value, tag: `t${n}` }));
    const single = await oneByOne(values);
    expect(single.size).toBeGreaterThan(60);
    await fc.assert(
      fc.asyncProperty(
        fc.subarray(values, { minLength: 1 }),
        fc.constantFrom(undefined, 2, 4, 7),
        fc.constantFrom(1, 3),
        async (rules, clauses, slices) => {
          const tags = new Set(rules.map(({ tag }) => tag));
          const expected = new Map(
            [...single]
              .map(([id, all]) => [id, all.filter(tag => tags.has(tag))] as const)
              .filter(([, all]) => all.length > 0),
          );
          const found = await run({ rules, queryLimits: { clauses }, slices, ...WINDOW });
          expect(sorted(tagged(found))).toEqual(sorted(expected));
        },
      ),
      { numRuns: bySuite(3, 60) },
    );
  });

  it('reports the expected number of requests at the start, and sends each query once', async () => {
    const told: PackedQueries[] = [];
    const progress = new Progress();
    const notes = new Set<string | undefined>();
    const requests = await requestsDuring(async () => {
      const onQueries = (queries: PackedQueries) => {
        told.push(queries);
        notes.add(progress.note);
      };
      const flow = search(local(), { ...THREE, maxResults: 500, onQueries });
      for await (const _ of flow.batches({ progress })) notes.add(progress.note);
    });
    expect(PACKED.length).toBe(3);
    expect(told).toEqual([{ queries: PACKED, requests: 3 }]);
    expect([...notes]).toEqual(['4 rules in 3 queries, at least 3 requests', undefined]);
    expect(requests).toBe(3);
    expect(progress.fraction).toBe(1);
    expect(progress.dropped.get('dedupe')).toBeGreaterThan(0);
  });

  it('sends no request if onQueries throws', async () => {
    const failure = new Error('too many');
    const requests = await requestsDuring(() =>
      expect(
        run({
          ...THREE,
          onQueries: async () => {
            throw failure;
          },
        }),
      ).rejects.toBe(failure),
    );
    expect(requests).toBe(0);
  });

  it('resumes from every cursor with exactly the posts that remain', async () => {
    const found: string[] = [];
    const at: { readonly cursor: Cursor; readonly seen: number }[] = [];
    for await (const { items, cursor } of search(local(), THREE).batches()) {
      found.push(...items.map(({ id }) => id));
      at.push({ cursor: stored(cursor), seen: found.length });
    }
    const queries = new Set(at.map(({ cursor }) => cursor.query));
    expect([...queries]).toEqual([0, 1, 2, 3]);
    expect(found.length).toBeGreaterThan(40);
    for (const { cursor, seen } of at) {
      const rest = await run({ ...THREE, resume: cursor });
      expect(rest.map(({ id }) => id)).toEqual(found.slice(seen));
    }
  });

  it('reports the queries that remain in a resumed run', async () => {
    const cursors: Cursor[] = [];
    for await (const { cursor } of search(local(), THREE).batches()) cursors.push(stored(cursor));
    const inLast = cursors.find(({ query }) => query === 2) as Cursor;
    const plans: number[] = [];
    await run({ ...THREE, resume: inLast, onQueries: ({ requests }) => void plans.push(requests) });
    expect(plans).toEqual([1]);
    await run({ ...THREE, resume: cursors.at(-1), onQueries: () => plans.push(0) });
    expect(plans).toEqual([1]);
  });

  it('covers the same window with all queries, even if a query starts late', async () => {
    service.clock.set(START);
    const options = { ...THREE, maxResults: 100, fromDate: undefined, toDate: undefined } as const;
    const posts: Activity[] = [];
    for await (const post of search(local(), options)) {
      posts.push(post);
      service.clock.advance(5 * MINUTE);
    }
    const end = floorTo(MINUTE, START);
    expect(service.clock.now() - START).toBeGreaterThan(6 * HOUR);
    for (const { postedAt } of posts) expect(postedAt.getTime()).toBeLessThan(end);
    service.clock.set(START);
    expect(sorted(tagged(posts))).toEqual(sorted(tagged(await run(options))));
  });

  it('restricts each query to its shard of the window', async () => {
    const whole = await run(THREE);
    const shards = [1, 2].map(index => run({ ...THREE, shard: { index, of: 2 } }));
    const parts = (await Promise.all(shards)).flat();
    expect(sorted(tagged(parts))).toEqual(sorted(tagged(whole)));
  });

  it('rejects with the missing part if a later query fails, and resumes from the cursor of that error', async () => {
    const whole = (await run(THREE)).map(({ id }) => id);
    const seen: string[] = [];
    // Measures how many requests each query needs, to know at which request a fault hits the second
    // query.
    const total = await requestsDuring(() => run(THREE));
    const perQuery: number[] = [];
    for (const { query } of PACKED) perQuery.push(await requestsDuring(() => one(query)));
    expect(perQuery.reduce((sum, n) => sum + n, 0)).toBe(total);
    const [first = 0, second = 0] = perQuery;
    // The search fails at the first page of the second query, and then at a later page of this
    // query.
    for (const skip of [first, first + second - 1]) {
      seen.length = 0;
      service.faults.plant({ kind: 'status', status: 401, skip, times: 'always' });
      const error = await pipeline(
        search(local(), THREE),
        tap(({ id }) => seen.push(id)),
        collect(),
      ).catch((caught: unknown) => caught);
      service.faults.clear();
      expect(error).toBeInstanceOf(IncompleteError);
      const { cursor, missing, cause, message, reason } = error as IncompleteError;
      expect(message).toMatch(
        /^Query 2 of 3 did not end\. .*pass the cursor of this error as `resume`$/s,
      );
      expect(missing.length).toBe(2);
      expect(missing[1]).toBe('posts of 1 more of the 3 queries');
      expect(cause).toBeInstanceOf(HttpError);
      expect(reason).toBe(undefined);
      const rest = await run({ ...THREE, resume: stored(cursor) });
      expect([...seen, ...rest.map(({ id }) => id)]).toEqual(whole);
    }
    service.faults.plant({ kind: 'status', status: 401, times: 'always' });
    await expect(run(THREE)).rejects.toThrow(HttpError);
    service.faults.clear();
  });

  it('writes each post to files exactly once after a crash in the second query', async () => {
    const folder = await temporaryFolder();
    const sink = () =>
      files({
        path: path.join(folder, 'posts.jsonl'),
        checkpoint: path.join(folder, 'checkpoint.json'),
        commitIntervalMs: 0,
      });
    const whole = await run(THREE);
    const crash = new Error('crash');
    let count = 0;
    await expect(
      pipeline(
        search(local(), THREE),
        tap(() => {
          if (++count === whole.length - 3) throw crash;
        }),
        sink(),
      ),
    ).rejects.toBe(crash);
    await expect(
      pipeline(search(local(), { ...THREE, queryLimits: { clauses: 4 } }), sink()),
    ).rejects.toThrow(/`rules` of search\(\) was "4 rules in 3 queries/);
    await pipeline(search(local(), THREE), sink());
    const lines = (await readFile(path.join(folder, 'posts.jsonl'), 'utf8')).trim().split('\n');
    expect(lines).toEqual(whole.map(({ raw }) => String(raw)));
  });

  describe('resumed from a cursor', () => {
    let cursor: Cursor;
    beforeAll(async () => {
      [cursor] = (await cursorsOf(search(local(), THREE))) as [Cursor];
    });
    const resumed = (resume: Cursor, options = {}) => run({ ...THREE, ...options, resume });
    // Posts contain the ids of the rules that they match, so a resumed search must have the same
    // ids.
    const named = RULES.map((rule, number) => ({ ...rule, id: `${number}` }));

    it.each<[string, object, RegExp]>([
      [
        'fewer rules',
        { rules: RULES.slice(1) },
        /its rules were 4 rules in 3 queries, .* and now they are 3 rules in/,
      ],
      [
        'rules with other ids',
        { rules: named },
        /its rules were 4 rules in 3 queries, .* and now they are 4 rules in 3/,
      ],
      ['another page size', { maxResults: 20 }, /its maxResults was 10, and now it is 20/],
    ])('throws an error that names the difference for %s', async (_, options, message) => {
      await expect(resumed(cursor, options)).rejects.toThrow(message);
    });

    it('throws an error if the cursor comes from a search with `query`', async () => {
      const [ofOne] = await cursorsOf(search(local(), { ...WINDOW, query: 'rain' }));
      await expect(resumed(ofOne as Cursor)).rejects.toThrow(/is not one of search\(\) for rules/);
    });

    it('returns cursors that a search with `query` does not accept', async () => {
      const asOne = { ...WINDOW, query: 'rain', resume: cursor } as const;
      await expect(pipeline(search(local(), asOne), collect())).rejects.toThrow(OptionError);
    });

    it.each([
      { query: 4 },
      { query: 2, first: undefined },
      { at: 5 },
      { ids: 'x' },
      { ids: ['%'] },
    ])('throws an error if the cursor is damaged: %j', async damage => {
      const damaged = stored({ ...cursor, ...damage } as Cursor);
      await expect(resumed(damaged)).rejects.toThrow(/is damaged/);
    });
  });

  it('throws an OptionError for options of a search for one query, and for a rule that does not fit into a query', () => {
    const refused = (options: object) => () => search(local(), { ...THREE, ...options });
    for (const [name, value] of Object.entries({
      query: 'x',
      tag: 'x',
      next: 'x',
      limit: 5,
      pages: 1,
    })) {
      expect(refused({ [name]: value })).toThrow(OptionError);
      expect(refused({ [name]: value })).toThrow(new RegExp(`\`${name}\`.*\`rules\``));
    }
    expect(refused({ rules: [] })).toThrow(/`rules` must be an array of at least one rule/);
    expect(refused({ rules: ['rain'] })).toThrow(OptionError);
    expect(refused({ rules: [{ value: '-rain' }] })).toThrow(
      /1 of 1 rules cannot be used for search/,
    );
    expect(refused({ queryLimits: { characters: 5 } })).toThrow(/a query may have 5/);
    expect(refused({ queryLimits: { words: 5 } })).toThrow(/unknown option `queryLimits.words`/);
  });

  it('continues after the last run with `incremental`, even after a crash in any query', async () => {
    const times = fc.array(
      fc.record({
        later: fc.constantFrom(0, 90_000, 6 * HOUR, 2 * DAY),
        crash: fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined }),
      }),
      { minLength: 1, maxLength: 5 },
    );
    await fc.assert(
      fc.asyncProperty(times, async list => {
        const folder = await temporaryFolder();
        service.clock.set(START);
        const crash = new Error('crash');
        const { toDate: _, ...nightly } = { ...THREE, fromDate: formatTimestamp(TO) };
        const once = (after = 0) => {
          let count = 0;
          return pipeline(
            search(local(), { ...nightly, incremental: true }),
            tap(() => {
              // Time passes during a run, so that newer posts become visible. The later queries of
              // the run must not find posts that are newer than the end of its time range.
              service.clock.advance(1_000);
              if (++count === after) throw crash;
            }),
            files({
              path: path.join(folder, 'posts.jsonl'),
              checkpoint: path.join(folder, 'checkpoint.json'),
              commitIntervalMs: 0,
            }),
          );
        };
        for (const { later, crash: after } of list) {
          service.clock.advance(later);
          await once(after).catch(error => expect(error).toBe(crash));
        }
        await once();
        const end = searchable();
        await once();
        const lines = (await readFile(path.join(folder, 'posts.jsonl'), 'utf8')).trim().split('\n');
        const ids = lines.map(line => JSON.parse(line).id_str as string);
        expect(new Set(ids).size).toBe(ids.length);
        const whole = await run({ ...nightly, toDate: end });
        const expected = whole.map(({ id }) => id);
        expect(ids.filter(id => !expected.includes(id) && isBefore(id, lines, end))).toEqual([]);
        expect(expected.filter(id => !ids.includes(id))).toEqual([]);
      }),
      { numRuns: bySuite(2, 80) },
    );
  }, 120_000);

  it('reports minutes that are too old for 30day only once, and continues after them with all queries', async () => {
    service.clock.set(START);
    const { toDate: _, ...given } = { ...THREE, fromDate: formatTimestamp(START - DAY) };
    const nightly = { ...given, product: '30day', incremental: true } as const;
    const last = (await cursorsOf(search(local(), nightly))).at(-1);
    service.clock.advance(40 * DAY);
    const error = await run({ ...nightly, resume: last }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(IncompleteError);
    const { cursor, missing } = error as IncompleteError;
    expect(missing).toEqual([expect.stringMatching(/ to /), 'posts of 2 more of the 3 queries']);
    expect(stored(cursor).query).toBe(3);
    const gaps: unknown[] = [];
    const onGap = (gap: unknown) => void gaps.push(gap);
    const posts = await run({ ...nightly, onGap, maxResults: 10, resume: stored(cursor) });
    expect(gaps.length).toBe(1);
    const { fromDate: __, incremental: ___, ...others } = nightly;
    const { toDate: fromDate } = gaps[0] as { readonly toDate: string };
    const window = { fromDate, toDate: searchable() };
    expect(sorted(tagged(posts))).toEqual(sorted(tagged(await run({ ...others, ...window }))));
  }, 60_000);

  it('with `incremental` sends no request within the same minute', async () => {
    service.clock.set(START);
    const { toDate: _, ...nightly } = { ...THREE, incremental: true };
    const cursors = await cursorsOf(search(local(), nightly));
    const requests = await requestsDuring(async () => {
      const flow = search(local(), { ...nightly, resume: cursors.at(-1) });
      for await (const { items, cursor } of flow.batches()) {
        expect(items).toEqual([]);
        expect(cursor?.query).toBe(3);
      }
    });
    expect(requests).toBe(0);
  });
});

describe('search() with many `rules`', () => {
  it('delivers a post once, even if two queries find it with many posts in between', async () => {
    const PAGE = 500;
    const PAGES = 201;
    const postOf = (id: number) =>
      `{"id":${id},"id_str":"${id}","created_at":"Wed May 08 09:00:00 +0000 2024","text":"coffee"}`;
    const server = await new ScriptedServer().start();
    server.otherwise = (response, { params }) => {
      const page = Number(params.next ?? 0);
      // The first query finds more posts than the search can remember ids of. The second query
      // delivers the first of these posts again.
      const isFirst = params.query === 'coffee';
      const ids = isFirst ? Array.from({ length: PAGE }, (_, n) => 1 + page * PAGE + n) : [1];
      const next = isFirst && page < PAGES - 1 ? `,"next":"${page + 1}"` : '';
      const { fromDate, toDate, maxResults } = params;
      const echo = JSON.stringify({ maxResults: Number(maxResults), fromDate, toDate });
      response.end(`{"results":[${ids.map(postOf).join()}],"requestParameters":${echo}${next}}`);
    };
    const rules = [{ value: 'coffee' }, { value: 'rain' }];
    const { fromDate, toDate } = WINDOW;
    const options = {
      rules,
      queryLimits: { clauses: 1 },
      product: '30day',
      fromDate,
      toDate,
    } as const;
    let posts = 0;
    for await (const _ of search(testAccount(server), options)) posts++;
    expect(server.received.length).toBe(PAGES + 1);
    expect(posts).toBe(PAGE * PAGES);
    await server.stop();
  }, 60_000);
});

const one = (query: string) =>
  pipeline(search(local(), { query, ...WINDOW, maxResults: 10 }), collect());

async function cursorsOf(flow: ReturnType<typeof search>): Promise<Cursor[]> {
  const cursors: Cursor[] = [];
  for await (const { cursor } of flow.batches()) cursors.push(stored(cursor));
  return cursors;
}

function searchable(): string {
  return formatTimestamp(floorTo(MINUTE, service.clock.now() - MINUTE));
}

function isBefore(id: string, lines: readonly string[], end: string): boolean {
  const line = lines.find(one => JSON.parse(one).id_str === id) ?? '{}';
  return formatTimestamp(Date.parse(JSON.parse(line).created_at)) < end;
}

async function requestsDuring(work: () => unknown): Promise<number> {
  let requests = 0;
  const count = () => requests++;
  service.on('request', count);
  try {
    await work();
  } finally {
    service.off('request', count);
  }
  return requests;
}
