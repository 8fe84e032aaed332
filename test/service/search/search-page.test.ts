import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { DAY, floorTo, formatTimestamp, HOUR, MINUTE, SECOND } from '../../../src/base/time.js';
import type { Archive } from '../../../src/service/index.js';
import { bySuite } from '../../suite.js';
import { idsOf, local, NOW, SEARCH_PATH, teaPosts } from '../local-service.js';
import { MemoryArchive, originalPost, streamsPost } from '../memory-archive.js';

const TODAY = floorTo(MINUTE, NOW);

describe('the dates of a search of the local service', () => {
  it('are the last 30 days before the request by default', async () => {
    const edge = TODAY - 30 * DAY;
    const { search } = await local([
      originalPost(NOW - 40 * SECOND, '3', 'tea now'),
      originalPost(edge, '2', 'tea at the edge'),
      originalPost(edge - 1, '1', 'tea too old'),
    ]);
    const { status, page } = await search({ query: 'tea' });
    expect(status).toBe(200);
    expect(idsOf(page)).toEqual(['3', '2']);
    expect(page.requestParameters).toEqual({
      maxResults: 100,
      fromDate: '202404151234',
      toDate: '202405151234',
    });
  });

  it('end at the time of the request if only fromDate is given', async () => {
    const from = TODAY - 2 * DAY;
    const { search } = await local([
      originalPost(NOW - 31 * SECOND, '3', 'tea'),
      originalPost(from, '2', 'tea, inclusive'),
      originalPost(from - 1, '1', 'tea before'),
    ]);
    const { page } = await search({ query: 'tea', fromDate: formatTimestamp(from) });
    expect(idsOf(page)).toEqual(['3', '2']);
    expect(page.requestParameters).toMatchObject({
      fromDate: '202405131234',
      toDate: '202405151234',
    });
  });

  it.each([0, 1])('may start at the minute that began %d ms before the request', async ms => {
    const { search, counts, service } = await local();
    service.clock.set(TODAY + ms);
    const request = { query: 'tea', fromDate: formatTimestamp(TODAY) };
    const { status, page } = await search(request);
    expect([status, page.results, page.next]).toEqual([200, [], undefined]);
    const { page: counted } = await counts({ ...request, bucket: 'minute' });
    expect([counted.totalCount, counted.next]).toEqual([0, undefined]);
  });

  it('start 30 days before toDate if only toDate is given', async () => {
    const to = TODAY - 400 * DAY;
    const { search } = await local([
      originalPost(to, '4', 'tea, exclusive'),
      originalPost(to - 1, '3', 'tea'),
      originalPost(to - 30 * DAY, '2', 'tea'),
      originalPost(to - 30 * DAY - 1, '1', 'tea'),
    ]);
    const { page } = await search({ query: 'tea', toDate: formatTimestamp(to) }, 'fullarchive');
    expect(idsOf(page)).toEqual(['3', '2']);
    expect(page.requestParameters).toMatchObject({
      fromDate: formatTimestamp(to - 30 * DAY),
      toDate: formatTimestamp(to),
    });
  });

  it('include posts at fromDate, but not at toDate', async () => {
    const [from, to] = [TODAY - DAY, TODAY - HOUR];
    const { search } = await local([
      originalPost(to, '4', 'tea'),
      originalPost(to - 1, '3', 'tea'),
      originalPost(from, '2', 'tea'),
      originalPost(from - 1, '1', 'tea'),
    ]);
    const { page } = await search({
      query: 'tea',
      fromDate: formatTimestamp(from),
      toDate: formatTimestamp(to),
    });
    expect(idsOf(page)).toEqual(['3', '2']);
  });

  it('do not start before the first date of the product if only toDate is given', async () => {
    const { search } = await local();
    const whole = await search({ query: 'tea', toDate: '200604010000' }, 'fullarchive');
    expect(whole.page.requestParameters.fromDate).toBe('200603210000');
    const recent = await search({ query: 'tea', toDate: '202405010000' });
    expect(recent.page.requestParameters.fromDate).toBe('202404141234');
  });

  it.each([
    ['30day', { fromDate: '202404141233' }, 'begins at 202404141234'],
    ['30day', { toDate: '202404141233' }, 'begins at 202404141234'],
    ['fullarchive', { fromDate: '200603202359' }, 'begins at 200603210000'],
    ['fullarchive', { fromDate: '202405151235' }, "Can't ask for activities from the future"],
    ['30day', { toDate: '202405151235' }, "Can't ask for activities from the future"],
    ['30day', { fromDate: '202405100000', toDate: '202405100000' }, "before 'toDate'"],
    ['30day', { fromDate: '202405100001', toDate: '202405100000' }, "before 'toDate'"],
    ['30day', { fromDate: '2024-05-10' }, 'Invalid date format'],
    ['30day', { fromDate: '20240510000' }, 'Invalid date format'],
    ['30day', { fromDate: '202402300000' }, 'Invalid date format'],
    ['30day', { toDate: '' }, 'Invalid date format'],
    ['30day', { fromDate: 202405100000 }, 'must be a string'],
  ])('for the product %s are rejected with 422: %j', async (product, dates, message) => {
    const { search } = await local();
    const { status, page } = await search({ query: 'tea', ...dates }, product);
    expect(status).toBe(422);
    expect(page.error?.message).toMatch(/^There were errors processing your request: /);
    expect(page.error?.message).toContain(message);
  });

  it.each([
    ['30day', '202404141234'],
    ['fullarchive', '200603210000'],
  ])('for the product %s may reach back to %s', async (product, fromDate) => {
    const { search } = await local();
    expect((await search({ query: 'tea', fromDate }, product)).status).toBe(200);
  });
});

describe('the posts of a search of the local service', () => {
  it('can be found 30 s after their creation', async () => {
    const { search, service } = await local([originalPost(NOW, '1', 'tea')]);
    service.clock.advance(30 * SECOND);
    expect((await search({ query: 'tea' })).page.results).toEqual([]);
    service.clock.advance(1);
    expect(idsOf((await search({ query: 'tea' })).page)).toEqual(['1']);
  });

  it('are sorted from newest to oldest, and by id within the same instant', async () => {
    const at = NOW - DAY;
    const { search } = await local([
      originalPost(at, '99', 'tea'),
      originalPost(at + 1, '5', 'tea'),
      originalPost(at, '100', 'tea'),
    ]);
    expect(idsOf((await search({ query: 'tea' })).page)).toEqual(['5', '100', '99']);
  });

  it('match the rule', async () => {
    const { search } = await local([
      originalPost(NOW - DAY, '1', 'green tea'),
      originalPost(NOW - DAY, '2', 'black coffee'),
    ]);
    expect(idsOf((await search({ query: 'green OR (tea -black)' })).page)).toEqual(['1']);
  });

  it('contain matching_rules with tag and id, and are otherwise the stored bytes', async () => {
    const [post] = teaPosts(1);
    const { search } = await local(post ? [post] : []);
    const { text, page } = await search({ query: 'tea', tag: 'häß "1"' });
    const rule = (page.results[0]?.matching_rules as { tag: string }[] | undefined)?.[0];
    expect(rule?.tag).toBe('häß "1"');
    const stored = post?.activity.raw.toString() ?? '';
    expect(text).toContain(stored.slice(0, -1));
    const id = /"matching_rules":\[\{[^}]*"id":(\d+)/.exec(text)?.[1];
    expect(id).toMatch(/^\d{10,19}$/);
    const again = await search({ query: 'tea', tag: 'häß "1"', maxResults: 500 });
    expect(again.text).toContain(`"id":${id}`);
    const other = await search({ query: 'tea' });
    expect(other.text).toContain('"tag":null');
    expect(other.text).not.toContain(`"id":${id}`);
  });

  it('contain their matching rules under gnip in Activity Streams', async () => {
    const archive = new MemoryArchive([streamsPost(NOW - DAY, '1', 'tea')], 'activity_streams');
    const { search } = await local([], { archive });
    const { page } = await search({ query: 'tea', tag: 'drinks' });
    expect(page.results[0]?.gnip).toMatchObject({ matching_rules: [{ tag: 'drinks' }] });
  });
});

describe('the pages of a search of the local service', () => {
  it('contain at most maxResults posts, 100 by default', async () => {
    const { pages } = await local(teaPosts(101));
    const sizes = async (parameters: object) =>
      (await pages('search', { query: 'tea', ...parameters })).map(page => page.results.length);
    expect(await sizes({})).toEqual([100, 1]);
    expect(await sizes({ maxResults: 10 })).toEqual([...Array(10).fill(10), 1]);
    expect(await sizes({ maxResults: 500 })).toEqual([101]);
  });

  it('have a `next` token only if more posts remain', async () => {
    const { search } = await local(teaPosts(10));
    const { text, page } = await search({ query: 'tea', maxResults: 10 });
    expect(page.results).toHaveLength(10);
    expect(text).not.toContain('"next"');
  });

  it('cover at most 31 days each, and continue a longer window with `next`', async () => {
    const { pages } = await local(teaPosts(9, { every: 10 * DAY, newest: HOUR }));
    const all = await pages('search', { query: 'tea', fromDate: '202401010000' }, 'fullarchive');
    expect(all.map(page => page.results.length)).toEqual([4, 3, 2, 0, 0]);
    expect(all.flatMap(idsOf)).toHaveLength(9);
    for (const page of all) {
      const times = page.results.map(post => Date.parse(String(post.created_at)));
      if (times.length > 0)
        expect(Math.max(...times) - Math.min(...times)).toBeLessThanOrEqual(31 * DAY);
    }
  });

  it('contain the same posts for the same `next` token, whatever posts were added since', async () => {
    const posts = teaPosts(40, { every: 13 * HOUR, newest: 0 });
    const { search, service } = await local(posts);
    const first = await search({ query: 'tea', maxResults: 10 });
    const second = await search({ query: 'tea', maxResults: 10, next: first.page.next });
    service.clock.advance(365 * DAY);
    const later = await search({ query: 'tea', maxResults: 10, next: first.page.next });
    expect(later.text).toBe(second.text);
  });

  it('do not contain posts that were too new at the time of the first page', async () => {
    const posts = [originalPost(NOW - 10 * SECOND, '99', 'tea'), ...teaPosts(20)];
    const { search, service } = await local(posts);
    const first = await search({ query: 'tea', maxResults: 10 });
    service.clock.advance(HOUR);
    const second = await search({ query: 'tea', maxResults: 10, next: first.page.next });
    expect([...idsOf(first.page), ...idsOf(second.page)]).not.toContain('99');
  });

  it('continue after the service restarts with the same seed', async () => {
    const posts = teaPosts(25);
    const before = await local(posts, { seed: 7 });
    const { page } = await before.search({ query: 'tea', maxResults: 10 });
    await before.service.stop();
    const after = await local(posts, { seed: 7 });
    const second = await after.search({ query: 'tea', maxResults: 10, next: page.next });
    expect(idsOf(second.page)).toEqual(posts.slice(10, 20).map(post => post.id));
    const other = await local(posts, { seed: 8 });
    expect((await other.search({ query: 'tea', maxResults: 10, next: page.next })).status).toBe(
      422,
    );
  });

  it('may be requested by POST first and then by GET, with `next` URL-encoded', async () => {
    const posts = teaPosts(25);
    const { search, ask } = await local(posts);
    const { page } = await search({ query: 'tea', maxResults: 10 });
    const query = new URLSearchParams({ query: 'tea', maxResults: '10', next: String(page.next) });
    const second = await ask(`${SEARCH_PATH}?${query}`);
    expect(idsOf(second.page)).toEqual(posts.slice(10, 20).map(post => post.id));
  });

  it('begin with the last post of the previous page if duplicates are enabled', async () => {
    const posts = teaPosts(30);
    const { pages } = await local(posts, { duplicatesAtPageEdges: true });
    const all = await pages('search', { query: 'tea', maxResults: 10 });
    const ids = posts.map(post => post.id);
    expect(all.map(idsOf)).toEqual([
      ids.slice(0, 10),
      ids.slice(9, 19),
      ids.slice(18, 28),
      ids.slice(27),
    ]);
  });

  it.each([
    ['query', { query: 'tea ' }],
    ['tag', { tag: 'x' }],
    ['maxResults', { maxResults: 11 }],
  ])('are rejected with 422 if %s differs from the first request', async (_, change) => {
    const { search } = await local(teaPosts(20));
    const { page } = await search({ query: 'tea', maxResults: 10 });
    const reply = await search({ query: 'tea', maxResults: 10, ...change, next: page.next });
    expect(reply.status).toBe(422);
    expect(reply.page.error?.message).toContain('repeat the identical request');
  });

  it('are rejected with 422 if a date, the product or the endpoint differs', async () => {
    const { search, counts } = await local(teaPosts(20));
    const { page } = await search({ query: 'tea', maxResults: 10 });
    const again = { query: 'tea', maxResults: 10, next: page.next };
    const from = await search({ ...again, fromDate: '202405010000' });
    expect([from.status, from.page.error?.message]).toEqual([
      422,
      expect.stringContaining('fromDate'),
    ]);
    expect((await search({ ...again, toDate: '202405151234' })).status).toBe(422);
    expect((await search(again, 'fullarchive')).status).toBe(422);
    expect((await counts({ query: 'tea', next: page.next })).status).toBe(422);
  });

  it.each(['', 'x', 'null', 'AAAA', 12])(
    'are rejected with 422 for the `next` token %j',
    async next => {
      const { search } = await local(teaPosts(20));
      expect((await search({ query: 'tea', next })).status).toBe(422);
    },
  );

  it('contain every matching post of the window exactly once, for any posts and page size', async () => {
    // The posts are close to the limits of 31 days. Many of them have the same time.
    const at = fc.tuple(fc.constantFrom(0, 30, 31, 62, 90), fc.integer({ min: -2, max: 2 }));
    const posts = fc.uniqueArray(fc.tuple(at, fc.bigInt({ min: 1n, max: 10_000n })), {
      selector: ([, id]) => id,
      maxLength: 60,
    });
    let archive = new MemoryArchive([]);
    const { pages } = await local([], {
      archive: {
        format: 'original',
        search: (...call: Parameters<Archive['search']>) => archive.search(...call),
        counts: (rule, window, bucketMs) => archive.counts(rule, window, bucketMs),
        scan: window => archive.scan(window),
        close: () => archive.close(),
      },
    });
    const to = TODAY - DAY;
    await fc.assert(
      fc.asyncProperty(posts, fc.integer({ min: 10, max: 20 }), async (drafts, maxResults) => {
        archive = new MemoryArchive(
          drafts.map(([[days, ms], id]) => originalPost(to - days * DAY + ms, String(id), 'tea')),
        );
        const window = { from: to - 90 * DAY, to };
        const all = await pages(
          'search',
          {
            query: 'tea',
            maxResults,
            fromDate: formatTimestamp(window.from),
            toDate: formatTimestamp(to),
          },
          'fullarchive',
        );
        const expected = archive.matches({ matches: () => true }, window).map(post => post.id);
        expect(all.flatMap(idsOf)).toEqual(expected);
      }),
      { numRuns: bySuite(3, 120) },
    );
  });

  it('are rejected if the query has too many phrases', async () => {
    const { search } = await local();
    const phrases = (count: number) =>
      Array.from({ length: count }, (_, index) => `"a ${index} b"`).join(' OR ');
    expect((await search({ query: phrases(100) })).status).toBe(200);
    const { status, page } = await search({ query: phrases(101) });
    expect(status).toBe(422);
    expect(page.error?.message).toContain('too complex to process. It has 101 phrase operators');
  });
});

describe('a search with a time limit', () => {
  it('ends its page early with a `next` token, and finds each post once over all pages', async () => {
    const posts = Array.from({ length: 40 }, (_, i) => ({
      text: 'tea',
      postedAt: NOW - (i + 2) * MINUTE,
    }));
    const { pages, service } = await local([], {
      archive: undefined,
      postsPerMinute: 60,
      searchTimeoutMs: 0,
      posts,
    });
    const request = {
      query: '"tea" -has:geo -zyxwv',
      maxResults: 500,
      fromDate: formatTimestamp(NOW - 2 * HOUR),
    };
    const late = await pages('search', request);
    service.clock.set(NOW);
    const { pages: inTime } = await local([], { archive: undefined, postsPerMinute: 60, posts });
    const whole = await inTime('search', request);
    expect(late.length).toBeGreaterThan(whole.length);
    expect(late.flatMap(idsOf)).toEqual(whole.flatMap(idsOf));
  });

  it('returns the same page for a repeated `next` token, even if the time limit would end the page elsewhere', async () => {
    const { search, archive } = await local(teaPosts(31));
    const request = { query: 'tea', maxResults: 10 };
    const { next } = (await search(request)).page;
    const found = archive.search.bind(archive);
    const cut = vi.spyOn(archive, 'search');
    const endAfter = (limit: number) =>
      cut.mockImplementationOnce(async (rule, window, options) => {
        if (options.deadlineMs === Number.POSITIVE_INFINITY) return found(rule, window, options);
        const { posts } = await found(rule, window, { ...options, limit });
        return { posts, more: false, reached: posts.at(-1) };
      });
    endAfter(7);
    const late = await search({ ...request, next });
    expect(late.page.results).toHaveLength(7);
    for (const count of [1, 9, 10]) {
      endAfter(count);
      expect((await search({ ...request, next })).text).toBe(late.text);
    }
    const whole = await search({ ...request, next: late.page.next });
    endAfter(1);
    expect((await search({ ...request, next: late.page.next })).text).toBe(whole.text);
  });

  it('returns the same page to two requests with the same `next` token that run at the same time', async () => {
    const { search, archive } = await local(teaPosts(31));
    const request = { query: 'tea', maxResults: 10 };
    const { next } = (await search(request)).page;
    const found = archive.search.bind(archive);
    const cut = vi.spyOn(archive, 'search');
    let waiting = 0;
    let release = () => {};
    const bothWait = new Promise<void>(resolve => {
      release = resolve;
    });
    for (const limit of [7, 4])
      cut.mockImplementationOnce(async (rule, window, options) => {
        if (++waiting === 2) release();
        await bothWait;
        const { posts } = await found(rule, window, { ...options, limit });
        return { posts, more: false, reached: posts.at(-1) };
      });
    const [one, other] = await Promise.all([1, 2].map(() => search({ ...request, next })));
    expect(waiting).toBe(2);
    expect(other?.text).toBe(one?.text);
  });

  it('loses no post if a page that is requested again ends at another post', async () => {
    const posts = teaPosts(31);
    const request = { query: 'tea', maxResults: 10 };
    const [first, ...whole] = await (await local(posts)).pages('search', request);
    for (const count of [1, 7]) {
      // A service that has started again no longer knows the ends of pages.
      const { search, archive } = await local(posts);
      const found = archive.search.bind(archive);
      vi.spyOn(archive, 'search').mockImplementationOnce(async (rule, window, options) => {
        const { posts } = await found(rule, window, { ...options, limit: count });
        return { posts, more: false, reached: posts.at(-1) };
      });
      const ids: string[] = [];
      for (let next = first?.next; next !== undefined; ) {
        const { page } = await search({ ...request, next });
        if (ids.length === 0) expect(page.results).toHaveLength(count);
        ids.push(...idsOf(page));
        next = page.next;
      }
      expect(ids).toEqual(whole.flatMap(idsOf));
    }
  });

  it('loses no post that was added since the time limit has ended a page', async () => {
    const posts = Array.from({ length: 31 }, (_, i) => ({
      text: 'tea',
      postedAt: NOW - (i + 1) * MINUTE,
    }));
    const { search, service } = await local([], {
      archive: undefined,
      searchTimeoutMs: 0,
      posts,
      postsPerMinute: 0,
    });
    const request = { query: 'tea', maxResults: 10 };
    const all = async (next?: string): Promise<string[]> => {
      const { page } = await search({ ...request, ...(next !== undefined && { next }) });
      return [...idsOf(page), ...(page.next === undefined ? [] : await all(page.next))];
    };
    const { next } = (await search(request)).page;
    await all(next);
    const at = NOW - 20 * MINUTE - SECOND;
    service.posts.add(Array.from({ length: 15 }, () => ({ text: 'tea', postedAt: at })));
    const found = await all(next);
    expect(found).toHaveLength(new Set(found).size);
    expect(found).toHaveLength(31 + 15 - 10);
  });

  it('passes its time limit to the archive', async () => {
    const { search, archive } = await local(teaPosts(3), { searchTimeoutMs: 250 });
    const reached = { at: NOW - DAY, id: '0' };
    const found = vi.spyOn(archive, 'search');
    found.mockResolvedValue({ posts: [], more: false, reached });
    const { page } = await search({ query: 'tea' });
    expect(page.results).toEqual([]);
    await search({ query: 'tea', next: page.next });
    const [first, second] = found.mock.calls.map(([, window, options]) => ({ window, options }));
    expect(first?.options.deadlineMs).toBeLessThanOrEqual(250);
    expect(second?.options.after).toEqual(reached);
    expect(second?.window.to).toBe(reached.at + 1);
  });
});
