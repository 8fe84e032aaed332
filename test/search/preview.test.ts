import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HttpError, OptionError } from '../../src/base/errors.js';
import { DAY, floorTo, formatTimestamp, HOUR } from '../../src/base/time.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { type Account, account } from '../../src/http/account.js';
import { preview } from '../../src/search/preview.js';
import { search } from '../../src/search/search.js';
import { createService, type Service } from '../../src/service/index.js';
import { collect } from '../../src/sinks/collect.js';
import { impatient } from '../http/virtual-time.js';

let service: Service;
let acme: Account;
const TO = floorTo(DAY, Date.UTC(2024, 4, 9));
const WINDOW = {
  product: 'fullarchive',
  fromDate: formatTimestamp(TO - 3 * DAY + 7 * HOUR),
  toDate: formatTimestamp(TO - 5 * HOUR),
} as const;
const QUERY = { query: 'good OR coffee', maxResults: 10, ...WINDOW } as const;
const RULES = {
  rules: [{ value: 'good' }, { value: 'coffee OR new' }, { value: 'good day' }],
  queryLimits: { clauses: 2 },
  maxResults: 10,
  ...WINDOW,
} as const;

beforeAll(async () => {
  service = createService({ postsPerMinute: 0.2, limits: 'relaxed' });
  const addresses = await service.start();
  service.clock.change({ frozen: true });
  service.clock.set(TO + DAY);
  acme = account({ ...addresses, timing: impatient(), limits: { search: [] } }, {});
});
afterAll(() => service.stop());

async function taken(options: Parameters<typeof search>[1]) {
  let requests = 0;
  const count = () => requests++;
  service.on('request', count);
  const posts = await pipeline(search(acme, options), collect());
  service.off('request', count);
  return { posts: posts.length, requests };
}

describe('preview()', () => {
  it('predicts the posts and requests of a search', async () => {
    const { posts, pages, requests, queries } = await preview(acme, QUERY);
    expect(posts).toBeGreaterThan(30);
    expect(pages).toBe(Math.ceil(posts / 10));
    expect(await taken(QUERY)).toEqual({ posts, requests });
    expect(queries).toEqual([{ query: QUERY.query, posts, pages, requests }]);
  });

  it.each([
    { limit: 13 },
    { limit: 20 },
    { pages: 2 },
    { slices: 40 },
    { shard: { index: 2, of: 3 } },
    { maxResults: 500 },
  ])('predicts the posts and requests of a search with %j', async option => {
    const options = { ...QUERY, ...option };
    const { posts, requests } = await preview(acme, options);
    const found = await taken(options);
    expect(posts).toBe(found.posts);
    // The last page of each slice is not full, so a search in slices may need more requests.
    if (!('slices' in option)) expect(requests).toBe(found.requests);
    else expect([requests, found.requests >= requests]).toEqual([40, true]);
  });

  it.each([{}, { fromDate: WINDOW.fromDate }, { toDate: WINDOW.toDate }])(
    'includes the request that slices need to learn a window of which only %j is given',
    async dates => {
      const open = { query: 'rain', product: '30day', maxResults: 500, ...dates } as const;
      const sliced = { ...open, slices: 5 };
      expect((await preview(acme, sliced)).requests).toBe(6);
      expect((await taken(sliced)).requests).toBe(6);
      expect((await preview(acme, open)).requests).toBe(1);
    },
  );

  it('predicts one request if no posts match', async () => {
    const nothing = { ...QUERY, query: 'thereisnosuchword' };
    expect(await preview(acme, nothing)).toMatchObject({ posts: 0, pages: 1, requests: 1 });
    expect(await taken(nothing)).toEqual({ posts: 0, requests: 1 });
  });

  it('adds up the posts and requests of all queries that the rules are packed into', async () => {
    const { posts, requests, queries } = await preview(acme, RULES);
    expect(queries.map(({ query }) => query)).toEqual(['coffee OR new', 'good day', 'good']);
    expect(posts).toBe(queries.reduce((sum, one) => sum + one.posts, 0));
    const found = await taken(RULES);
    expect(requests).toBe(found.requests);
    expect(posts).toBeGreaterThan(found.posts);
  });

  it('throws for the same options as search()', async () => {
    await expect(preview(acme, { ...QUERY, query: '-x' })).rejects.toThrow(OptionError);
    await expect(preview(acme, { ...RULES, rules: [] })).rejects.toThrow(OptionError);
  });

  it('rejects with an HttpError if the service rejects the request for counts', async () => {
    service.faults.plant({ kind: 'status', status: 401 });
    await expect(preview(acme, QUERY)).rejects.toThrow(HttpError);
    service.faults.clear();
  });

  it('rejects when its signal is aborted', async () => {
    const reason = new Error('enough');
    const signal = AbortSignal.abort(reason);
    await expect(preview(acme, QUERY, { signal })).rejects.toBe(reason);
  });
});
