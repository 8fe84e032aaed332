import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { IncompleteError } from '../../src/base/errors.js';
import { DAY, FIRST_POST, formatTimestamp, MINUTE, parseTimestamp } from '../../src/base/time.js';
import type { Cursor } from '../../src/flow/flow.js';
import { Progress } from '../../src/flow/progress.js';
import { resolveDates, sliceDates } from '../../src/search/run-query.js';
import { type SearchOptions, search } from '../../src/search/search.js';
import { AT_ONCE_MS } from '../at-once.js';
import { type Received, ScriptedServer, status } from '../http/scripted-server.js';
import { impatient } from '../http/virtual-time.js';
import { januaryPosts, ownRealTime, searchPages, testAccount } from './paged-service.js';

const JANUARY = { fromDate: '202401010000', toDate: '202401310000' } as const;
const SNOW: SearchOptions = { query: 'snow', product: 'fullarchive', maxResults: 10, ...JANUARY };
const POSTS = januaryPosts(150);

let server: ScriptedServer;

beforeEach(async () => {
  server = await new ScriptedServer().start();
  server.otherwise = searchPages(POSTS);
});
afterEach(() => server.stop());

async function run(options: Partial<SearchOptions>, acme = testAccount(server)) {
  const found: string[] = [];
  const cursors: (Cursor | undefined)[] = [];
  const counts: number[] = [];
  for await (const batch of search(acme, { ...SNOW, ...options }).batches()) {
    found.push(...batch.items.map(post => post.raw.toString()));
    cursors.push(batch.cursor);
    counts.push(found.length);
  }
  return { found, cursors, counts };
}

describe('the post budget of a search', () => {
  it('includes damaged results, which the service has sent and charged', async () => {
    const isDamaged = (index: number) => index % 10 < 4;
    server.otherwise = searchPages(
      POSTS.map((one, index) => (isDamaged(index) ? { ...one, bytes: '{"text":"no id"}' } : one)),
    );
    let damaged = 0;
    const onDamaged = () => void damaged++;
    await expect(run({ budget: { posts: 30 }, onDamaged })).rejects.toMatchObject({
      reason: 'budget',
    });
    expect(server.received.length).toBe(3);
    expect(damaged).toBe(12);
  });
});

describe('a search with `onDamaged`', () => {
  it('rejects with a cursor to continue from if a later page fails after a damaged result', async () => {
    const [first, ...others] = POSTS.slice(0, 20);
    server.otherwise = searchPages([{ ...first!, bytes: '{"text":"no id"}' }, ...others]);
    server.script.push(server.otherwise, status(401));
    let damaged = 0;
    const onDamaged = () => void damaged++;
    const error = await run({ onDamaged }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(IncompleteError);
    const resume = (error as IncompleteError).cursor as Cursor;
    const rest = await run({ onDamaged, resume });
    expect(rest.found).toEqual(POSTS.slice(10, 20).map(post => post.bytes));
    expect(damaged).toBe(1);
  });
});

describe('the slices of a search window', () => {
  it('cover the window without gaps or overlaps, in about equal lengths, newest first', () => {
    const minute = fc.integer({ min: 0, max: 10_000_000 });
    fc.assert(
      fc.property(
        minute,
        fc.integer({ min: 1, max: 100_000 }),
        fc.integer({ min: 1, max: 60 }),
        (start, length, count) => {
          const from = FIRST_POST + start * MINUTE;
          const dates = {
            fromDate: formatTimestamp(from),
            toDate: formatTimestamp(from + length * MINUTE),
          };
          const slices = sliceDates(dates, count);
          expect(slices.length).toBe(Math.min(count, length));
          expect(slices[0]?.toDate).toBe(dates.toDate);
          expect(slices.at(-1)?.fromDate).toBe(dates.fromDate);
          const lengths = slices.map(({ fromDate, toDate }, i) => {
            if (i > 0) expect(toDate).toBe(slices[i - 1]?.fromDate);
            return (parseTimestamp(toDate)! - parseTimestamp(fromDate)!) / MINUTE;
          });
          expect(Math.min(...lengths)).toBeGreaterThan(0);
          expect(Math.max(...lengths) - Math.min(...lengths)).toBeLessThanOrEqual(1);
        },
      ),
    );
  });

  it('cover the documented default window if dates are omitted', () => {
    const now = Date.UTC(2024, 0, 31, 12, 0, 59, 999);
    expect(resolveDates({}, {}, 'fullarchive', now)).toEqual({
      fromDate: '202401011200',
      toDate: '202401311200',
    });
    expect(resolveDates({ fromDate: '202401300000' }, {}, '30day', now)).toEqual({
      fromDate: '202401300000',
      toDate: '202401311200',
    });
    expect(resolveDates({ toDate: '202312310000' }, {}, 'fullarchive', now)).toEqual({
      fromDate: '202312010000',
      toDate: '202312310000',
    });
  });

  it('do not start before the first date of the product if dates are omitted', () => {
    const now = Date.UTC(2024, 0, 31, 12, 0, 59, 999);
    expect(resolveDates({ toDate: '200604010000' }, {}, 'fullarchive', now)).toEqual({
      fromDate: '200603210000',
      toDate: '200604010000',
    });
    expect(resolveDates({ toDate: '202401150000' }, {}, '30day', now)).toEqual({
      fromDate: '202312311201',
      toDate: '202401150000',
    });
    const echoed = { fromDate: '202312311459', toDate: '202401311459' };
    expect(resolveDates({ toDate: '202401150000' }, echoed, '30day', now)).toEqual({
      fromDate: '202312311500',
      toDate: '202401150000',
    });
    // This date is too old for the product, but only the service reports that.
    expect(resolveDates({ toDate: '202312311130' }, {}, '30day', now)).toEqual({
      fromDate: '202312311129',
      toDate: '202312311130',
    });
  });
});

describe('a sliced search', () => {
  it.each([2, 3, 7, 31, 500])(
    'delivers the same posts in the same order with %i slices',
    async slices => {
      const { found } = await run({ slices });
      expect(found).toEqual(POSTS.map(post => post.bytes));
    },
  );

  it('requests each slice with its own dates', async () => {
    await run({ slices: 3 });
    const windows = new Set(
      server.received.map(({ params }) => `${params.fromDate}-${params.toDate}`),
    );
    expect([...windows].toSorted()).toEqual([
      '202401010000-202401110000',
      '202401110000-202401210000',
      '202401210000-202401310000',
    ]);
  });

  it('fetches at most 12 slices concurrently', async () => {
    let open = 0;
    let most = 0;
    let release = () => {};
    const twelveOpen = new Promise<void>(resolve => (release = resolve));
    server.otherwise = async (response, request) => {
      most = Math.max(most, ++open);
      if (open === 12) setTimeout(release, 20);
      await twelveOpen;
      open--;
      return searchPages(POSTS)(response, request);
    };
    await run({ slices: 15 });
    expect(most).toBe(12);
  });

  it('causes no listener leak warning with many slices', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on('warning', onWarning);
    await run({ slices: 20 });
    await new Promise(resolve => setImmediate(resolve));
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });

  it('buffers at most 4 pages of a slice that waits for its turn', async () => {
    const { fromDate, toDate } = sliceDates(JANUARY, 2)[1]!;
    const isOfSecond = ({ params }: Received) =>
      params.fromDate === fromDate && params.toDate === toDate;
    const batches = search(testAccount(server), { ...SNOW, slices: 2 })
      .batches()
      [Symbol.asyncIterator]();
    await batches.next();
    await expect.poll(() => server.received.length).toBe(9);
    await new Promise(resolve => setTimeout(resolve, 100));
    expect(server.received.length).toBe(9);
    expect(server.received.filter(isOfSecond).length).toBe(4);
    await batches.return?.();
  });

  it('resumes from any cursor with the same slices as in the first run', async () => {
    const now = Date.UTC(2024, 0, 31, 12);
    const undated: Partial<SearchOptions> = { fromDate: undefined, toDate: undefined, slices: 4 };
    const timing = { ...impatient(), now: () => now };
    const first = await run(undated, testAccount(server, { timing }));
    expect(first.found.length).toBeGreaterThan(140);
    const later = testAccount(server, { timing: { ...timing, now: () => now + 2 * DAY } });
    // If a request has no dates, the service now uses a later window.
    server.otherwise = (response, request) => {
      const { params } = request;
      const toDate = params.toDate ?? formatTimestamp(now + 2 * DAY);
      return searchPages(POSTS)(response, { ...request, params: { ...params, toDate } });
    };
    for (const [i, cursor] of first.cursors.entries()) {
      const resume = JSON.parse(JSON.stringify(cursor)) as Cursor;
      const rest = await run({ ...undated, resume }, later);
      expect(rest.found).toEqual(first.found.slice(first.counts[i]));
    }
    expect(first.cursors.at(-1)).toMatchObject({ done: true, slice: 3 });
  });

  it('delivers everything before a slice that fails, and then rejects with a cursor to continue from', async () => {
    const failing = sliceDates(JANUARY, 5)[2]!;
    server.otherwise = (response, request) =>
      request.params.toDate === failing.toDate
        ? status(422, '{"error":{"message":"No."}}')(response, request)
        : searchPages(POSTS)(response, request);
    const found: string[] = [];
    const error = await (async () => {
      for await (const post of search(testAccount(server), { ...SNOW, slices: 5 }))
        found.push(post.raw.toString());
    })().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(IncompleteError);
    expect(found).toEqual(POSTS.slice(0, 60).map(post => post.bytes));
    expect(await server.closed(8)).toBeLessThan(AT_ONCE_MS);
    server.otherwise = searchPages(POSTS);
    const rest = await run({ slices: 5, resume: (error as IncompleteError).cursor as Cursor });
    expect(rest.found).toEqual(POSTS.slice(60).map(post => post.bytes));
  });

  it('closes every connection immediately when its reader stops', async () => {
    let answers = 0;
    server.otherwise = (response, request) =>
      answers++ < 2 ? searchPages(POSTS)(response, request) : undefined;
    for await (const _post of search(testAccount(server), { ...SNOW, slices: 8 })) {
      while (server.received.length < 9) await new Promise(resolve => setTimeout(resolve, 1));
      break;
    }
    expect(await server.closed()).toBeLessThan(AT_ONCE_MS);
  });

  it('applies one rate limit to all slices together', async () => {
    const arrivals: number[] = [];
    server.otherwise = (response, request) => {
      arrivals.push(performance.now());
      return searchPages(POSTS)(response, request);
    };
    const limits = { search: [{ requests: 5, perMs: 100 }] };
    await run({ slices: 10 }, testAccount(server, { timing: ownRealTime(), limits }));
    for (let i = 5; i < arrivals.length; i++)
      // A timer can fire up to 2 ms early.
      expect(arrivals[i]! - arrivals[i - 5]!).toBeGreaterThan(97);
  });

  it('reports its progress over the whole window', async () => {
    const progress = new Progress();
    const fractions: number[] = [];
    const flow = search(testAccount(server), { ...SNOW, slices: 5 });
    for await (const _batch of flow.batches({ progress })) fractions.push(progress.fraction!);
    expect(fractions).toEqual(fractions.toSorted((a, b) => a - b));
    expect(fractions[0]).toBeLessThan(0.1);
    expect(fractions.at(-1)).toBe(1);
    expect(progress.received).toBe(150);
  });
});
