import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import type { Cursor } from '../../src/flow/flow.js';
import { type SearchOptions, search } from '../../src/search/search.js';
import { januaryPosts, PASSWORD, searchPages, testAccount } from './paged-service.js';
import { batchesOf, bytesOf, SNOW, server, setUpServer } from './scripted-search.js';

setUpServer();

describe('the cursor of a search', () => {
  it('continues right after its batch, even after it was converted to JSON and back', async () => {
    const posts = januaryPosts(47);
    server.otherwise = searchPages(posts);
    const acme = testAccount(server);
    const batches = await batchesOf(search(acme, SNOW));
    let seen = 0;
    for (const { items, cursor } of batches) {
      seen += items.length;
      const resume = JSON.parse(JSON.stringify(cursor)) as Cursor;
      const before = server.received.length;
      const rest = bytesOf(await batchesOf(search(acme, SNOW), resume));
      expect(rest).toEqual(posts.slice(seen).map(post => post.bytes));
      expect(server.received.length - before).toBe(Math.ceil((47 - seen) / 10));
      expect(bytesOf(await batchesOf(search(acme, { ...SNOW, resume })))).toEqual(rest);
    }
    expect(seen).toBe(47);
  });

  it('continues in the window that the service chose for the first page', async () => {
    const posts = januaryPosts(25);
    server.otherwise = searchPages(posts);
    const options: SearchOptions = { query: 'snow', product: '30day', maxResults: 10 };
    const [first] = await batchesOf(search(testAccount(server), options));
    const rest = await batchesOf(search(testAccount(server), options), first?.cursor);
    expect(rest.length).toBe(2);
    expect(server.received.at(-1)?.params).not.toHaveProperty('toDate');
  });

  it('counts the posts of the previous run towards a limit, and reaches a higher limit exactly', async () => {
    const posts = januaryPosts(47);
    server.otherwise = searchPages(posts);
    const acme = testAccount(server);
    for (const limit of [7, 10, 13, 20, 25]) {
      const first = await batchesOf(search(acme, { ...SNOW, limit }));
      expect(bytesOf(first).length).toBe(limit);
      const end = first.at(-1)?.cursor;
      const before = server.received.length;
      expect(await batchesOf(search(acme, { ...SNOW, limit }), end)).toEqual([]);
      expect(server.received.length).toBe(before);
      for (const higher of [limit + 1, limit + 5, 30, 1000]) {
        const more = bytesOf(await batchesOf(search(acme, { ...SNOW, limit: higher }), end));
        expect(more).toEqual(posts.slice(limit, higher).map(post => post.bytes));
      }
      const [middle] = first;
      const rest = bytesOf(await batchesOf(search(acme, { ...SNOW, limit }), middle?.cursor));
      expect(rest).toEqual(bytesOf(first).slice(middle?.items.length));
    }
  });

  it('causes an OptionError that names the difference if the request has changed', async () => {
    server.otherwise = searchPages(januaryPosts(25));
    const [first] = await batchesOf(search(testAccount(server), SNOW));
    const resume = first?.cursor;
    const before = server.received.length;
    for (const [name, other] of [
      ['query', { query: 'rain' }],
      ['tag', { tag: 'x' }],
      ['maxResults', { maxResults: 20 }],
      ['fromDate', { fromDate: '202401010001' }],
      ['toDate', { toDate: undefined }],
      ['label', { label: 'other' }],
      ['slices', { slices: 2 }],
    ] as const) {
      const flow = search(testAccount(server), { ...SNOW, ...other });
      await expect(batchesOf(flow, resume)).rejects.toThrow(OptionError);
      await expect(batchesOf(flow, resume)).rejects.toThrow(`its ${name} was`);
    }
    expect(server.received.length).toBe(before);
  });

  it('causes an error with advice on how to continue if `maxResults` differs', async () => {
    const posts = januaryPosts(90);
    server.otherwise = searchPages(posts);
    const acme = testAccount(server);
    const { maxResults: _, ...options } = SNOW;
    const first = await batchesOf(search(acme, { ...options, limit: 60 }));
    const resume = first.at(-1)?.cursor;
    await expect(batchesOf(search(acme, { ...options, limit: 80 }), resume)).rejects.toThrow(
      'its maxResults was 60, and now it is 80. Without `maxResults`, it follows from `limit`: pass `maxResults: 60` to continue with another `limit`',
    );
    const goOn = search(acme, { ...options, limit: 80, maxResults: 60 });
    expect(bytesOf(await batchesOf(goOn, resume))).toEqual(
      posts.slice(60, 80).map(post => post.bytes),
    );
  });

  it('causes an error with another service, unless an older version wrote the cursor', async () => {
    server.otherwise = searchPages(januaryPosts(25));
    const at = (localService?: string) => search(testAccount(server, { localService }), SNOW);
    const [first] = await batchesOf(at('one'));
    await expect(batchesOf(at('two'), first?.cursor)).rejects.toThrow(
      'its service was "one", and now it is "two"',
    );
    expect((await batchesOf(at('one'), first?.cursor)).length).toBe(2);
    const [older] = await batchesOf(at());
    expect((await batchesOf(at('two'), older?.cursor)).length).toBe(2);
  });

  it('causes an OptionError if it is damaged', async () => {
    server.otherwise = searchPages(januaryPosts(25));
    const [first] = await batchesOf(search(testAccount(server), SNOW));
    for (const damage of [
      { source: 'counts' },
      { request: null },
      { window: 5 },
      { window: { fromDate: 'then' } },
      { slice: -1 },
      { slice: 7 },
      { next: 5 },
      { skip: 'a' },
      { items: null },
      { done: 'no' },
      { reached: 'then' },
      { reached: 5 },
    ] as Cursor[]) {
      const resume = { ...first?.cursor, ...damage };
      const run = batchesOf(search(testAccount(server), SNOW), resume);
      const refusal = {
        code: 'ERR_OPTION',
        option: 'resume',
        message: expect.stringMatching(/ to start again$/),
      };
      await expect(run).rejects.toMatchObject(refusal);
    }
    await expect(batchesOf(search(testAccount(server), SNOW), {})).rejects.toThrow(OptionError);
  });

  it('contains no secret', async () => {
    server.otherwise = searchPages(januaryPosts(25));
    const batches = await batchesOf(search(testAccount(server), SNOW));
    const text = JSON.stringify(batches.map(({ cursor, origin }) => [cursor, origin]));
    expect(text).not.toContain('pa55');
    expect(text).not.toContain(Buffer.from(PASSWORD).toString('base64').slice(0, 12));
  });
});
