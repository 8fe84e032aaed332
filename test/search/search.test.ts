import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Activity } from '../../src/activity/activity.js';
import { OptionError } from '../../src/errors.js';
import type { Batch, Cursor, Flow } from '../../src/flow/flow.js';
import { Progress } from '../../src/flow/progress.js';
import { account } from '../../src/http/account.js';
import { type SearchOptions, search } from '../../src/search/search.js';
import { DAY } from '../../src/time.js';
import { ScriptedServer } from '../http/scripted-server.js';
import { unchecked } from '../unchecked.js';
import { januaryPosts, PASSWORD, raw, searchPages, testAccount } from './paged-service.js';

const JANUARY = { fromDate: '202401010000', toDate: '202401310000' } as const;
const SNOW: SearchOptions = { query: 'snow', product: 'fullarchive', maxResults: 10, ...JANUARY };

let server: ScriptedServer;

beforeEach(async () => {
  server = await new ScriptedServer().start();
});
afterEach(() => server.stop());

async function batchesOf(flow: Flow<Activity>, resume?: Cursor): Promise<Batch<Activity>[]> {
  const batches: Batch<Activity>[] = [];
  for await (const batch of flow.batches({ resume })) batches.push(batch);
  return batches;
}

function bytesOf(batches: readonly Batch<Activity>[]): string[] {
  return batches.flatMap(({ items }) => items.map(post => post.raw.toString()));
}

describe('a search', () => {
  it('gives every post of every page, newest first, byte for byte', async () => {
    const posts = januaryPosts(47);
    server.otherwise = searchPages(posts);
    const found: string[] = [];
    for await (const post of search(testAccount(server), SNOW)) found.push(post.raw.toString());
    expect(found).toEqual(posts.map(post => post.bytes));
    expect(server.received.length).toBe(5);
  });

  it('repeats the identical request with the next token added', async () => {
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

  it('sends no dates that were not given', async () => {
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

  it('accepts Date objects', async () => {
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

  it('uses another label or product if it is given', async () => {
    server.otherwise = searchPages([]);
    const options: SearchOptions = { query: 'snow', product: '30day', label: 'my label/2' };
    await batchesOf(search(testAccount(server), options));
    expect(server.received[0]?.url).toBe(
      '/base/search/30day/accounts/acme%20corp/my%20label%2F2.json',
    );
  });

  it('reads gzip, and bodies that arrive byte by byte', async () => {
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

  it('continues after pages without posts', async () => {
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

  it('can start at a given next token', async () => {
    const posts = januaryPosts(25);
    server.otherwise = searchPages(posts);
    const [first] = await batchesOf(search(testAccount(server), SNOW));
    const next = String(first?.cursor?.next);
    const rest = bytesOf(await batchesOf(search(testAccount(server), { ...SNOW, next })));
    expect(rest).toEqual(posts.slice(10).map(post => post.bytes));
  });

  it('sends nothing before it is pulled, and can be run twice', async () => {
    server.otherwise = searchPages(januaryPosts(12));
    const flow = search(testAccount(server), SNOW);
    await new Promise(resolve => setTimeout(resolve, 20));
    expect(server.received).toEqual([]);
    const [first, second] = await Promise.all([batchesOf(flow), batchesOf(flow)]);
    expect(bytesOf(first).length).toBe(12);
    expect(bytesOf(second)).toEqual(bytesOf(first));
  });

  it('requests only the next page while one is consumed', async () => {
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

  it('reports a failure of the next page only when it is its turn', async () => {
    server.script.push(searchPages(januaryPosts(15)));
    server.otherwise = raw('{"nothing":true}');
    const batches = search(testAccount(server), SNOW).batches()[Symbol.asyncIterator]();
    expect((await batches.next()).value?.items.length).toBe(10);
    await new Promise(resolve => setTimeout(resolve, 50));
    await expect(batches.next()).rejects.toMatchObject({ code: 'ERR_INCOMPLETE' });
  });
});

describe('a limit', () => {
  it.each([
    [1, 1],
    [9, 1],
    [10, 1],
    [11, 2],
    [20, 2],
    [47, 5],
    [48, 5],
    [1000, 5],
  ])('of %i posts needs %i requests', async (limit, requests) => {
    const posts = januaryPosts(47);
    server.otherwise = searchPages(posts);
    const found = bytesOf(await batchesOf(search(testAccount(server), { ...SNOW, limit })));
    expect(found).toEqual(posts.slice(0, limit).map(post => post.bytes));
    await new Promise(resolve => setTimeout(resolve, 20));
    expect(server.received.length).toBe(requests);
  });

  it.each([1, 2, 4, 5, 6])(
    'of %i pages sends that number of requests, if there are enough pages',
    async pages => {
      const posts = januaryPosts(47);
      server.otherwise = searchPages(posts);
      const found = bytesOf(await batchesOf(search(testAccount(server), { ...SNOW, pages })));
      expect(found.length).toBe(Math.min(pages * 10, 47));
      await new Promise(resolve => setTimeout(resolve, 20));
      expect(server.received.length).toBe(Math.min(pages, 5));
    },
  );

  it('limits the page size to what it needs; without it, pages have 500 posts', async () => {
    server.otherwise = searchPages(januaryPosts(600));
    const { maxResults: _unset, ...options } = SNOW;
    for (const limit of [undefined, 3, 123, 5000])
      await batchesOf(search(testAccount(server), { ...options, pages: 1, limit }));
    expect(server.received.map(({ params }) => params.maxResults)).toEqual([500, 10, 123, 500]);
  });
});

describe('the options of a search', () => {
  const now = Date.UTC(2024, 0, 31, 12);
  const bad: [string, Record<string, unknown>][] = [
    ['query', { query: undefined }],
    ['query', { query: '' }],
    ['query', { query: ' \n' }],
    ['query', { query: 5 }],
    ['query', { query: 'a'.repeat(2049) }],
    ['query', { query: '🎉'.repeat(2049) }],
    ['query', { query: 'half \ud83c' }],
    ['product', { product: undefined }],
    ['product', { product: '7day' }],
    ['method', { method: 'PUT' }],
    ['maxResults', { maxResults: 9 }],
    ['maxResults', { maxResults: 501 }],
    ['maxResults', { maxResults: 10.5 }],
    ['maxResults', { maxResults: '100' }],
    ['maxResults', { maxResults: Number.NaN }],
    ['fromDate', { fromDate: '20240101' }],
    ['fromDate', { fromDate: '202402300000' }],
    ['fromDate', { fromDate: new Date('nothing') }],
    ['fromDate', { fromDate: 202401010000 }],
    ['toDate', { toDate: '2024-01-01' }],
    ['toDate', { fromDate: '202401020000', toDate: '202401010000' }],
    ['toDate', { fromDate: '202401020000', toDate: '202401020000' }],
    ['fromDate', { fromDate: '200603202359' }],
    ['toDate', { fromDate: undefined, toDate: '200603210000' }],
    ['limit', { limit: 0 }],
    ['limit', { limit: 1.5 }],
    ['pages', { pages: -1 }],
    ['tag', { tag: '' }],
    ['next', { next: '' }],
    ['label', { label: '' }],
    ['slices', { slices: 0 }],
    ['slices', { slices: 2, limit: 5 }],
    ['slices', { slices: 2, pages: 5 }],
    ['slices', { slices: 2, next: 'token' }],
    ['next', { next: 'token', resume: {} }],
    ['fromdate', { fromdate: '202401010000' }],
    ['maxresults', { maxresults: 10 }],
  ];

  it.each(bad)('are refused before anything is sent: %s of %j', (option, options) => {
    const act = () => search(testAccount(server), { ...SNOW, ...options } as SearchOptions);
    expect(act).toThrow(OptionError);
    try {
      act();
    } catch (error) {
      expect((error as OptionError).option).toBe(option);
      expect((error as OptionError).message).toContain(`\`${option}\``);
    }
    expect(server.sockets.size).toBe(0);
  });

  it.each([
    { query: 'a'.repeat(2048) },
    { query: '🎉'.repeat(2048) },
    { maxResults: 500 },
    { fromDate: '200603210000' },
    { product: '30day' as const, fromDate: new Date(now - 31 * DAY), toDate: undefined },
  ])('are accepted at their limits: %#', options => {
    expect(() => search(testAccount(server), { ...SNOW, ...options })).not.toThrow();
  });

  it('are required, and the account must be one', () => {
    const call = unchecked<(...args: unknown[]) => unknown>(search);
    expect(() => call(testAccount(server))).toThrow(OptionError);
    expect(() => call({ baseUrl: server.url }, SNOW)).toThrow(OptionError);
    expect(() => call(undefined, SNOW)).toThrow('made by `account()`');
  });

  it('need an account with certain settings', () => {
    const settings = {
      baseUrl: server.url,
      account: 'a',
      label: 'b',
      email: 'c',
      password: PASSWORD,
    };
    for (const name of Object.keys(settings) as (keyof typeof settings)[]) {
      const { [name]: _missing, ...rest } = settings;
      expect(() => search(account(rest, {}), SNOW)).toThrow(`\`${name}\` is needed for searches`);
    }
    const { label: _label, ...unlabelled } = settings;
    expect(() => search(account(unlabelled, {}), { ...SNOW, label: 'x' })).not.toThrow();
  });
});

describe('the cursor of a search', () => {
  it('resumes right after its batch, also after a round trip through JSON', async () => {
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

  it('continues a window that the service chose', async () => {
    const posts = januaryPosts(25);
    server.otherwise = searchPages(posts);
    const options: SearchOptions = { query: 'snow', product: '30day', maxResults: 10 };
    const [first] = await batchesOf(search(testAccount(server), options));
    const rest = await batchesOf(search(testAccount(server), options), first?.cursor);
    expect(rest.length).toBe(2);
    expect(server.received.at(-1)?.params).not.toHaveProperty('toDate');
  });

  it('continues to count towards a limit, and reaches a higher limit exactly', async () => {
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

  it('is refused for another request, with the difference', async () => {
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

  it('says that `maxResults` follows from a changed `limit`, and how to go on', async () => {
    const posts = januaryPosts(90);
    server.otherwise = searchPages(posts);
    const acme = testAccount(server);
    const { maxResults: _, ...options } = SNOW;
    const first = await batchesOf(search(acme, { ...options, limit: 60 }));
    const resume = first.at(-1)?.cursor;
    await expect(batchesOf(search(acme, { ...options, limit: 80 }), resume)).rejects.toThrow(
      'its maxResults was 60, and now it is 80. Without `maxResults`, it follows from `limit`: pass `maxResults: 60` to go on with another `limit`',
    );
    const goOn = search(acme, { ...options, limit: 80, maxResults: 60 });
    expect(bytesOf(await batchesOf(goOn, resume))).toEqual(
      posts.slice(60, 80).map(post => post.bytes),
    );
  });

  it('is refused for another service, unless an older version wrote it', async () => {
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

  it('is refused if it is damaged', async () => {
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

describe('the progress of a search', () => {
  it('has the received posts, the position, and the end', async () => {
    const posts = januaryPosts(47);
    server.otherwise = searchPages(posts, { gzip: true });
    const progress = new Progress();
    const fractions: number[] = [];
    let seen = 0;
    for await (const { items } of search(testAccount(server), SNOW).batches({ progress })) {
      seen += items.length;
      fractions.push(progress.fraction ?? Number.NaN);
      expect(progress.received).toBe(seen);
      expect(progress.reached).toBe(Math.floor(posts[seen - 1]!.at / 1000) * 1000);
    }
    expect(fractions).toEqual(fractions.toSorted((a, b) => a - b));
    expect(fractions[0]).toBeCloseTo(10 / 47, 1);
    expect(fractions.at(-1)).toBe(1);
    expect(progress.receivedBytes).toBeGreaterThan(100);
    expect(progress.receivedBytes).toBeLessThan(posts.map(({ bytes }) => bytes).join().length);
  });

  it('takes a limit into account', async () => {
    server.otherwise = searchPages(januaryPosts(1000));
    const progress = new Progress();
    const fractions: (number | undefined)[] = [];
    const flow = search(testAccount(server), { ...SNOW, limit: 20 });
    for await (const _batch of flow.batches({ progress })) fractions.push(progress.fraction);
    expect(fractions).toEqual([0.5, 1]);
  });
});

it('a search names all wrong options in one error', () => {
  const options = { ...SNOW, maxResults: 5, pages: 0, labl: 'prod' };
  expect(() => search(account({}, {}), options)).toThrow(
    [
      'search: unknown option `labl`; did you mean `label`?',
      'search: `maxResults` must be a whole number from 10 to 500, got 5',
      'search: `pages` must be a whole number of at least 1, got 0',
    ].join('\n'),
  );
});
