import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  DAY,
  formatTimestamp,
  HOUR,
  MINUTE,
  parseTimestamp,
  SECOND,
} from '../../../src/base/time.js';
import type { Archive } from '../../../src/service/index.js';
import { bySuite } from '../../suite.js';
import { COUNTS_PATH, local, NOW, type Page, teaPosts } from '../local-service.js';
import { MemoryArchive, originalPost } from '../memory-archive.js';

const periods = (page: Page) => page.results.map(bucket => String(bucket.timePeriod));
const countsOf = (page: Page) => page.results.map(bucket => Number(bucket.count));
const post = (time: string, id: string) => originalPost(parseTimestamp(time) as number, id, 'tea');

describe('the counts endpoint of the local service', () => {
  it('counts by hour over the last 30 days by default', async () => {
    const { counts } = await local([
      post('202405151200', '3'),
      post('202404151234', '2'),
      post('202404151233', '1'),
    ]);
    const { status, page } = await counts({ query: 'tea' });
    expect(status).toBe(200);
    expect(page.requestParameters).toEqual({
      bucket: 'hour',
      fromDate: '202404151234',
      toDate: '202405151234',
    });
    expect(page.results).toHaveLength(30 * 24 + 1);
    expect(periods(page)).toEqual(periods(page).toSorted());
    expect(page.results[0]).toEqual({ timePeriod: '202404151200', count: 1 });
    expect(page.results.at(-1)).toEqual({ timePeriod: '202405151200', count: 1 });
    expect(page.totalCount).toBe(2);
    expect(page.next).toBeUndefined();
  });

  it.each([
    ['day', ['202405010000', '202405020000']],
    ['hour', Array.from({ length: 48 }, (_, i) => formatTimestamp(Date.UTC(2024, 4, 1, i)))],
    ['minute', Array.from({ length: 2880 }, (_, i) => formatTimestamp(Date.UTC(2024, 4, 1, 0, i)))],
  ])('counts by %s', async (bucket, expected) => {
    const { counts } = await local([
      post('202405010000', '1'),
      post('202405022359', '2'),
      post('202405030000', '3'),
    ]);
    const { page } = await counts({
      query: 'tea',
      bucket,
      fromDate: '202405010000',
      toDate: '202405030000',
    });
    expect(periods(page)).toEqual(expected);
    expect(page.totalCount).toBe(2);
    expect(countsOf(page)[0]).toBe(1);
    expect(countsOf(page).at(-1)).toBe(1);
  });

  it('labels the first bucket of a window that starts within a bucket with the start of that bucket', async () => {
    const { counts } = await local([post('202405010029', '1'), post('202405010030', '2')]);
    const { page } = await counts({
      query: 'tea',
      bucket: 'day',
      fromDate: '202405010030',
      toDate: '202405020001',
    });
    expect(page.results).toEqual([
      { timePeriod: '202405010000', count: 1 },
      { timePeriod: '202405020000', count: 0 },
    ]);
  });

  it('includes the bucket of the current minute, whose posts are not searchable yet', async () => {
    const { counts, service } = await local([originalPost(NOW, '1', 'tea')]);
    service.clock.set(Date.UTC(2024, 4, 15, 12, 36, 10));
    const { page } = await counts({ query: 'tea', bucket: 'minute', fromDate: '202405151233' });
    expect(page.results).toEqual([
      { timePeriod: '202405151233', count: 0 },
      { timePeriod: '202405151234', count: 1 },
      { timePeriod: '202405151235', count: 0 },
      { timePeriod: '202405151236', count: 0 },
    ]);
  });

  it('returns at most 31 days in one response, with a `next` token for the rest', async () => {
    const { pages } = await local(teaPosts(110, { every: DAY, newest: DAY }));
    const all = await pages(
      'counts',
      { query: 'tea', bucket: 'day', fromDate: '202402010000', toDate: '202405010000' },
      'fullarchive',
    );
    expect(all.map(page => page.results.length)).toEqual([31, 31, 28]);
    expect(all.map(page => page.totalCount)).toEqual([31, 31, 28]);
    expect(all.map(page => page.next !== undefined)).toEqual([true, true, false]);
    expect(all.flatMap(periods)).toEqual(
      Array.from({ length: 90 }, (_, i) => formatTimestamp(Date.UTC(2024, 1, 1 + i))),
    );
    for (const page of all)
      expect(page.requestParameters).toEqual({
        bucket: 'day',
        fromDate: '202402010000',
        toDate: '202405010000',
      });
  });

  it('never splits a bucket between two pages', async () => {
    const { pages } = await local(teaPosts(110, { every: DAY, newest: DAY }));
    const all = await pages(
      'counts',
      { query: 'tea', bucket: 'day', fromDate: '202402011817', toDate: '202405011233' },
      'fullarchive',
    );
    const starts = all.flatMap(periods);
    expect(starts).toEqual(
      Array.from({ length: 91 }, (_, i) => formatTimestamp(Date.UTC(2024, 1, 1 + i))),
    );
    expect(all.every(page => page.results.length <= 31)).toBe(true);
  });

  it('stops after a complete bucket when time runs out, and continues with `next`', async () => {
    const { pages, archive } = await local(teaPosts(10, { every: DAY, newest: DAY }));
    archive.bucketsUntilTimeout = 2;
    const all = await pages('counts', { query: 'tea', bucket: 'day', fromDate: '202405060000' });
    expect(all.map(periods)).toEqual([
      ['202405060000', '202405070000'],
      ['202405080000', '202405090000'],
      ['202405100000', '202405110000'],
      ['202405120000', '202405130000'],
      ['202405140000', '202405150000'],
    ]);
    expect(all.flatMap(countsOf)).toEqual([...Array(9).fill(1), 0]);
  });

  it('returns the same page for a repeated `next` token, even if the time limit would end the page elsewhere', async () => {
    const { pages, counts, archive } = await local(teaPosts(10, { every: DAY, newest: DAY }));
    const request = { query: 'tea', bucket: 'day', fromDate: '202405060000' };
    archive.bucketsUntilTimeout = 2;
    const [first, second] = await pages('counts', request);
    for (const buckets of [1, 5, Number.POSITIVE_INFINITY]) {
      archive.bucketsUntilTimeout = buckets;
      const { page } = await counts({ ...request, next: first?.next });
      expect(page).toEqual(second);
    }
  });

  it('returns the same whole page for a repeated `next` token, even if the time limit would now end it', async () => {
    const { pages, counts, archive } = await local(teaPosts(40, { every: DAY, newest: DAY }));
    const request = { query: 'tea', bucket: 'day', fromDate: '202404010000' };
    const [first, second] = await pages('counts', request, 'fullarchive');
    archive.bucketsUntilTimeout = 2;
    const { page } = await counts({ ...request, next: first?.next }, 'fullarchive');
    expect(page).toEqual(second);
  });

  it('ends a repeated page elsewhere if the fault `counts-timeout` is planted', async () => {
    const { pages, counts, service } = await local(teaPosts(40, { every: DAY, newest: DAY }));
    const request = { query: 'tea', bucket: 'day', fromDate: '202404010000' };
    const [first] = await pages('counts', request, 'fullarchive');
    service.faults.plant({ kind: 'counts-timeout', buckets: 1 });
    const { page } = await counts({ ...request, next: first?.next }, 'fullarchive');
    expect(periods(page)).toHaveLength(1);
  });

  it('returns the same page to two requests for a `next` token at the same time', async () => {
    const { counts, archive } = await local(teaPosts(10, { every: DAY, newest: DAY }));
    const request = { query: 'tea', bucket: 'day', fromDate: '202405060000' };
    archive.bucketsUntilTimeout = 2;
    const { next } = (await counts(request)).page;
    const count = archive.counts.bind(archive);
    let [calls, release] = [0, () => {}];
    const held = new Promise<void>(resolve => {
      release = resolve;
    });
    archive.counts = async (...call) => {
      const isFirst = calls++ === 0;
      archive.bucketsUntilTimeout = isFirst ? 1 : 3;
      const answer = await count(...call);
      if (isFirst) await held;
      return answer;
    };
    const first = counts({ ...request, next });
    while (calls === 0) await setImmediate();
    const second = await counts({ ...request, next });
    release();
    expect(second.page.results).toHaveLength(3);
    expect((await first).page).toEqual(second.page);
  });

  it('does not count on a later page what was too recent at the time of the first page', async () => {
    const { counts, service } = await local([originalPost(NOW - SECOND, '1', 'tea')]);
    service.faults.plant({ kind: 'counts-timeout', buckets: 1 });
    const request = { query: 'tea', bucket: 'minute', fromDate: '202405151233' };
    const { next } = (await counts(request)).page;
    service.clock.advance(HOUR);
    const { page } = await counts({ ...request, next });
    expect(page.results).toEqual([{ timePeriod: '202405151234', count: 0 }]);
    expect((await counts(request)).page.totalCount).toBe(1);
  });

  it('stops early if the fault `counts-timeout` is planted', async () => {
    const { pages, service } = await local(teaPosts(10, { every: DAY, newest: DAY }));
    service.faults.plant({ kind: 'counts-timeout', buckets: 3, times: 2 });
    const all = await pages('counts', { query: 'tea', bucket: 'day', fromDate: '202405060000' });
    expect(all.map(page => page.results.length)).toEqual([3, 3, 4]);
    expect(all.flatMap(countsOf)).toEqual([...Array(9).fill(1), 0]);
  });

  it('passes its time limit to the archive', async () => {
    const archive = new MemoryArchive([]);
    const deadlines: unknown[] = [];
    const { counts } = await local([], {
      countsTimeoutMs: 250,
      archive: {
        format: 'original',
        search: (...call: Parameters<Archive['search']>) => archive.search(...call),
        counts: (rule, window, bucketMs, options) => {
          deadlines.push(options?.deadlineMs);
          return archive.counts(rule, window, bucketMs);
        },
        scan: window => archive.scan(window),
        close: () => archive.close(),
      },
    });
    await counts({ query: 'tea' });
    expect(deadlines).toEqual([250]);
  });

  it('returns the newest buckets first if the option countsOrder is descending', async () => {
    const posts = teaPosts(100, { every: DAY, newest: DAY });
    const { pages } = await local(posts, { countsOrder: 'descending' });
    const request = {
      query: 'tea',
      bucket: 'day',
      fromDate: '202402011817',
      toDate: '202405011233',
    };
    const all = await pages('counts', request, 'fullarchive');
    expect(all.flatMap(periods)).toEqual(
      Array.from({ length: 91 }, (_, i) => formatTimestamp(Date.UTC(2024, 4, 1 - i))),
    );
    expect(all.map(page => page.results.length)).toEqual([31, 31, 29]);
    const ascending = await local(posts);
    const forwards = await ascending.pages('counts', request, 'fullarchive');
    expect(all.flatMap(countsOf)).toEqual(forwards.flatMap(countsOf).toReversed());
  });

  it('stops after a complete bucket when time runs out, newest first, and continues with `next`', async () => {
    const posts = teaPosts(4, { every: DAY, newest: DAY });
    const { pages, archive } = await local(posts, { countsOrder: 'descending' });
    archive.bucketsUntilTimeout = 2;
    const request = { query: 'tea', bucket: 'day', fromDate: '202405110000' };
    const all = await pages('counts', request);
    expect(all.map(periods)).toEqual([
      ['202405150000', '202405140000'],
      ['202405130000', '202405120000'],
      ['202405110000'],
    ]);
    expect(all.map(countsOf)).toEqual([[0, 1], [1, 1], [1]]);
  });

  it.each(['ascending', 'descending'] as const)(
    'returns one complete bucket even if time runs out within that bucket (%s)',
    async countsOrder => {
      const posts = teaPosts(4, { every: DAY, newest: DAY });
      const { pages, archive } = await local(posts, { countsOrder });
      archive.bucketsUntilTimeout = 0;
      const request = { query: 'tea', bucket: 'day', fromDate: '202405131200' };
      const all = await pages('counts', request);
      const starts = ['202405130000', '202405140000', '202405150000'];
      const expected = countsOrder === 'ascending' ? starts : starts.toReversed();
      expect(all.map(periods)).toEqual(expected.map(start => [start]));
      expect(all.reduce((sum, page) => sum + (page.totalCount ?? 0), 0)).toBe(2);
    },
  );

  it.each(['ascending', 'descending'] as const)(
    'counts each bucket once and completely even if the archive stops within a bucket (%s)',
    async countsOrder => {
      const archive = new MemoryArchive(teaPosts(24, { every: DAY / 4, newest: DAY / 4 }));
      const { pages } = await local([], {
        countsOrder,
        archive: {
          format: 'original',
          search: (...call: Parameters<Archive['search']>) => archive.search(...call),
          counts: (rule, { from, to }, bucketMs, { newestFirst = false } = {}) =>
            archive.counts(
              rule,
              newestFirst
                ? { from: Math.max(from, to - 1.5 * DAY), to }
                : { from, to: Math.min(to, from + 1.5 * DAY) },
              bucketMs,
            ),
          scan: window => archive.scan(window),
          close: () => archive.close(),
        },
      });
      const dates = { fromDate: '202405100000', toDate: '202405140000' };
      const all = await pages('counts', { query: 'tea', bucket: 'day', ...dates });
      const starts = ['202405100000', '202405110000', '202405120000', '202405130000'];
      const expected = countsOrder === 'ascending' ? starts : starts.toReversed();
      expect(all.map(periods)).toEqual(expected.map(start => [start]));
      expect(all.map(countsOf)).toEqual([[4], [4], [4], [4]]);
    },
  );

  it('accepts GET as well as POST', async () => {
    const { ask } = await local([post('202405141200', '1')]);
    const query = new URLSearchParams({ query: 'tea', bucket: 'day', fromDate: '202405140000' });
    const { status, page } = await ask(`${COUNTS_PATH}?${query}`);
    expect([status, page.totalCount]).toEqual([200, 1]);
  });

  it.each(['month', 'Day', '', 5, 'toString'])(
    'responds to the bucket %j with 422',
    async bucket => {
      const { counts } = await local();
      const { status, page } = await counts({ query: 'tea', bucket });
      expect([status, page.error?.message]).toEqual([
        422,
        expect.stringContaining('day, hour, minute'),
      ]);
    },
  );

  it('responds with 422 to a `next` token that was issued for other dates or another bucket', async () => {
    const { counts } = await local();
    const request = { query: 'tea', bucket: 'day', fromDate: '202401010000' };
    const { page } = await counts(request, 'fullarchive');
    const { next } = page;
    expect((await counts({ ...request, next }, 'fullarchive')).status).toBe(200);
    expect((await counts({ ...request, bucket: 'hour', next }, 'fullarchive')).status).toBe(422);
    expect(
      (await counts({ ...request, fromDate: '202401020000', next }, 'fullarchive')).status,
    ).toBe(422);
  });

  it('returns counts that add up to the number of posts of a search', async () => {
    const start = Date.UTC(2024, 2, 1);
    const span = 45 * DAY;
    const posts = Array.from({ length: 300 }, (_, i) =>
      originalPost(start + ((i * 7_919 * SECOND * 613) % span), String(i + 1), 'tea'),
    );
    const orders = {
      ascending: await local(posts),
      descending: await local(posts, { countsOrder: 'descending' }),
    };
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: span / MINUTE }),
        fc.integer({ min: 1, max: span / MINUTE }),
        fc.constantFrom('day', 'hour'),
        fc.constantFrom('ascending' as const, 'descending' as const),
        async (offset, length, bucket, order) => {
          const from = start + offset * MINUTE;
          const to = Math.min(from + length * MINUTE, start + span - HOUR);
          fc.pre(from < to);
          const { pages, archive } = orders[order];
          const dates = { fromDate: formatTimestamp(from), toDate: formatTimestamp(to) };
          const all = await pages('counts', { query: 'tea', bucket, ...dates }, 'fullarchive');
          const total = all.reduce((sum, page) => sum + (page.totalCount ?? 0), 0);
          expect(total).toBe(archive.matches({ matches: () => true }, { from, to }).length);
          const starts = all.flatMap(periods);
          const sorted = starts.toSorted();
          expect(starts).toEqual(order === 'ascending' ? sorted : sorted.toReversed());
          expect(new Set(starts).size).toBe(starts.length);
        },
      ),
      { numRuns: bySuite(2, 100) },
    );
  });
});
