import { describe, expect, it } from 'vitest';
import { Progress } from '../../src/flow/progress.js';
import { account } from '../../src/http/account.js';
import { type SearchOptions, search } from '../../src/search/search.js';
import { unchecked } from '../unchecked.js';
import { januaryPosts, raw, searchPages, testAccount } from './paged-service.js';
import { batchesOf, bytesOf, JANUARY, SNOW, server, setUpServer } from './scripted-search.js';

setUpServer();

describe('search()', () => {
  it('delivers every post of every page byte for byte', async () => {
    const posts = januaryPosts(47);
    server.otherwise = searchPages(posts);
    const found: string[] = [];
    for await (const post of search(testAccount(server), SNOW)) found.push(post.raw.toString());
    expect(found).toEqual(posts.map(post => post.bytes));
    expect(server.received.length).toBe(5);
  });

  it('repeats the same request for each page with the `next` token of the previous page', async () => {
    server.otherwise = searchPages(januaryPosts(25));
    await batchesOf(search(testAccount(server), { ...SNOW, tag: 'weather' }));
    const [first, second, third] = server.received.map(({ params }) => params);
    expect(first).toEqual({ query: 'snow', tag: 'weather', maxResults: 10, ...JANUARY });
    expect(second).toEqual({ ...first, next: expect.any(String) });
    expect(third).toEqual({ ...first, next: expect.any(String) });
    expect(third?.next).not.toBe(second?.next);
    const [request] = server.received;
    expect(request).toMatchObject({
      method: 'POST',
      url: '/base/search/fullarchive/accounts/acme%20corp/prod.json',
    });
    expect(request?.headers['content-type']).toMatch(/^application\/json/);
  });

  it('sends no dates if none are given', async () => {
    server.otherwise = searchPages(januaryPosts(25));
    const { fromDate: _from, toDate: _to, ...undated } = SNOW;
    const batches = await batchesOf(search(testAccount(server), { ...undated, product: '30day' }));
    for (const { params } of server.received) {
      expect(params).not.toHaveProperty('fromDate');
      expect(params).not.toHaveProperty('toDate');
    }
    expect(batches.at(-1)?.cursor?.window).toEqual({
      fromDate: '202401011200',
      toDate: '202401311200',
    });
  });

  it('accepts Date objects as dates', async () => {
    server.otherwise = searchPages(januaryPosts(5));
    const fromDate = new Date(Date.UTC(2024, 0, 1, 0, 0, 59, 999));
    await batchesOf(search(testAccount(server), { ...SNOW, fromDate }));
    expect(server.received[0]?.params.fromDate).toBe('202401010000');
  });

  it.each([
    'snow (lang:en OR "a b") -rt',
    'emoji 🎉 "☃️" é',
    'signs "& = + % # ? / \\ \'"',
    'white\tspace\nand more',
  ])('sends the same parameters by GET and by POST: %j', async query => {
    server.otherwise = searchPages(januaryPosts(25));
    const acme = testAccount(server);
    const posted = bytesOf(await batchesOf(search(acme, { ...SNOW, query })));
    const got = bytesOf(await batchesOf(search(acme, { ...SNOW, query, method: 'GET' })));
    expect(got).toEqual(posted);
    expect(posted.length).toBe(25);
    const sent = server.received.map(({ method, params }) => [
      method,
      params.query,
      String(params.maxResults),
    ]);
    expect(sent).toEqual([
      ...Array(3).fill(['POST', query, '10']),
      ...Array(3).fill(['GET', query, '10']),
    ]);
    expect(server.received[5]?.params.next).toMatch(/^[A-Za-z0-9+/=]+$/);
  });

  it('uses the label and the product of its options in the URL', async () => {
    server.otherwise = searchPages([]);
    const options: SearchOptions = { query: 'snow', product: '30day', label: 'my label/2' };
    await batchesOf(search(testAccount(server), options));
    expect(server.received[0]?.url).toBe(
      '/base/search/30day/accounts/acme%20corp/my%20label%2F2.json',
    );
  });

  it('reads gzip responses, and responses that arrive byte by byte', async () => {
    const posts = januaryPosts(3);
    for (const gzip of [false, true]) {
      server.script.push(async (response, request) => {
        const chunks: Buffer[] = [];
        const fake = {
          setHeader: () => {},
          end: (chunk: Buffer) => chunks.push(Buffer.from(chunk)),
        };
        await searchPages(posts, { gzip })(unchecked<typeof response>(fake), request);
        if (gzip) response.setHeader('content-encoding', 'gzip');
        response.socket?.setNoDelay();
        for (const byte of Buffer.concat(chunks)) {
          await new Promise(resolve => response.write(Buffer.of(byte), resolve));
        }
        response.end();
      });
      const found = bytesOf(await batchesOf(search(testAccount(server), SNOW)));
      expect(found).toEqual(posts.map(post => post.bytes));
    }
  });

  it('continues after pages without posts if they have a `next` token', async () => {
    const echo = { requestParameters: { maxResults: 10, ...JANUARY } };
    server.script.push(
      raw(JSON.stringify({ results: [], next: 'a', ...echo })),
      raw(JSON.stringify({ results: [], next: 'b', ...echo })),
      raw(JSON.stringify({ results: [{ id_str: '1' }], ...echo })),
    );
    const batches = await batchesOf(search(testAccount(server), SNOW));
    expect(batches.map(({ items }) => items.length)).toEqual([0, 0, 1]);
    expect(batches.every(({ cursor }) => cursor !== undefined)).toBe(true);
  });

  it('can start at the `next` token of an option', async () => {
    const posts = januaryPosts(25);
    server.otherwise = searchPages(posts);
    const [first] = await batchesOf(search(testAccount(server), SNOW));
    const next = String(first?.cursor?.next);
    const rest = bytesOf(await batchesOf(search(testAccount(server), { ...SNOW, next })));
    expect(rest).toEqual(posts.slice(10).map(post => post.bytes));
  });

  it('sends no request before it is read, and can be run twice', async () => {
    server.otherwise = searchPages(januaryPosts(12));
    const flow = search(testAccount(server), SNOW);
    await new Promise(resolve => setTimeout(resolve, 20));
    expect(server.received).toEqual([]);
    const [first, second] = await Promise.all([batchesOf(flow), batchesOf(flow)]);
    expect(bytesOf(first).length).toBe(12);
    expect(bytesOf(second)).toEqual(bytesOf(first));
  });

  it('requests one page before its consumer needs the page', async () => {
    server.otherwise = searchPages(januaryPosts(50));
    const batches = search(testAccount(server), SNOW).batches()[Symbol.asyncIterator]();
    for (let page = 1; page <= 3; page++) {
      await batches.next();
      await expect.poll(() => server.received.length).toBe(page + 1);
      await new Promise(resolve => setTimeout(resolve, 50));
      expect(server.received.length).toBe(page + 1);
    }
    await batches.return?.();
  });

  it('reports the failure of a page that it requested ahead only when the consumer needs the page', async () => {
    server.script.push(searchPages(januaryPosts(15)));
    server.otherwise = raw('{"nothing":true}');
    const batches = search(testAccount(server), SNOW).batches()[Symbol.asyncIterator]();
    expect((await batches.next()).value?.items.length).toBe(10);
    await new Promise(resolve => setTimeout(resolve, 50));
    await expect(batches.next()).rejects.toMatchObject({ code: 'ERR_INCOMPLETE' });
  });
});

describe('the limit of a search', () => {
  it.each([
    [1, 1],
    [9, 1],
    [10, 1],
    [11, 2],
    [20, 2],
    [47, 5],
    [48, 5],
    [1000, 5],
  ])('set to %i posts causes %i requests if 47 posts match', async (limit, requests) => {
    const posts = januaryPosts(47);
    server.otherwise = searchPages(posts);
    const found = bytesOf(await batchesOf(search(testAccount(server), { ...SNOW, limit })));
    expect(found).toEqual(posts.slice(0, limit).map(post => post.bytes));
    await new Promise(resolve => setTimeout(resolve, 20));
    expect(server.received.length).toBe(requests);
  });

  it.each([1, 2, 4, 5, 6])(
    'of %i pages is the number of requests if there are enough pages',
    async pages => {
      const posts = januaryPosts(47);
      server.otherwise = searchPages(posts);
      const found = bytesOf(await batchesOf(search(testAccount(server), { ...SNOW, pages })));
      expect(found.length).toBe(Math.min(pages * 10, 47));
      await new Promise(resolve => setTimeout(resolve, 20));
      expect(server.received.length).toBe(Math.min(pages, 5));
    },
  );

  it('of posts determines the page size, from 10 to 500 posts', async () => {
    server.otherwise = searchPages(januaryPosts(600));
    const { maxResults: _unset, ...options } = SNOW;
    for (const limit of [undefined, 3, 123, 5000])
      await batchesOf(search(testAccount(server), { ...options, pages: 1, limit }));
    expect(server.received.map(({ params }) => params.maxResults)).toEqual([500, 10, 123, 500]);
  });
});

describe('the progress of a search', () => {
  const watched = async () => {
    const posts = januaryPosts(47);
    server.otherwise = searchPages(posts, { gzip: true });
    const progress = new Progress();
    const pages: { seen: number; received: number; reached?: number; fraction?: number }[] = [];
    let seen = 0;
    for await (const { items } of search(testAccount(server), SNOW).batches({ progress })) {
      seen += items.length;
      const { received, reached, fraction } = progress;
      pages.push({
        seen,
        received,
        ...(reached !== undefined && { reached }),
        ...(fraction !== undefined && { fraction }),
      });
    }
    expect(pages.length).toBe(5);
    return { posts, progress, pages };
  };

  it('counts the received posts', async () => {
    for (const { seen, received } of (await watched()).pages) expect(received).toBe(seen);
  });

  it('contains the time of the last post', async () => {
    const { posts, pages } = await watched();
    for (const { seen, reached } of pages)
      expect(reached).toBe(Math.floor(posts[seen - 1]!.at / 1000) * 1000);
  });

  it('has a fraction that grows to 1', async () => {
    const fractions = (await watched()).pages.map(({ fraction = Number.NaN }) => fraction);
    expect(fractions).toEqual(fractions.toSorted((a, b) => a - b));
    expect(fractions[0]).toBeCloseTo(10 / 47, 1);
    expect(fractions.at(-1)).toBe(1);
  });

  it('counts the received bytes before decompression', async () => {
    const { posts, progress } = await watched();
    expect(progress.receivedBytes).toBeGreaterThan(100);
    expect(progress.receivedBytes).toBeLessThan(posts.map(({ bytes }) => bytes).join().length);
  });

  it('reaches 1 at the limit of a search', async () => {
    server.otherwise = searchPages(januaryPosts(1000));
    const progress = new Progress();
    const fractions: (number | undefined)[] = [];
    const flow = search(testAccount(server), { ...SNOW, limit: 20 });
    for await (const _batch of flow.batches({ progress })) fractions.push(progress.fraction);
    expect(fractions).toEqual([0.5, 1]);
  });
});

it('search() reports all wrong options in one error', () => {
  const options = { ...SNOW, maxResults: 5, pages: 0, labl: 'prod' };
  expect(() => search(account({}, {}), options)).toThrow(
    [
      'search: unknown option `labl`; did you mean `label`?',
      'search: `pages` must be a whole number of at least 1, got 0',
      'search: `maxResults` must be a whole number from 10 to 500, got 5',
    ].join('\n'),
  );
});
