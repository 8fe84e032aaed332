import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConnectionError, DataError, HttpError, IncompleteError } from '../../src/base/errors.js';
import { formatTimestamp, MINUTE } from '../../src/base/time.js';
import type { Cursor } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { type SearchOptions, search } from '../../src/search/search.js';
import { collect } from '../../src/sinks/collect.js';
import { AT_ONCE_MS } from '../at-once.js';
import { cut, type Reply, reset, silence, stall, status } from '../http/scripted-server.js';
import { impatient } from '../http/virtual-time.js';
import { bySuite } from '../suite.js';
import { afterPages, ECHO, PAGE, POSTS, run, server, setUpFaultyServer } from './faulty-search.js';
import { ownRealTime, PASSWORD, raw, searchPages, testAccount } from './paged-service.js';
import { SNOW } from './scripted-search.js';

setUpFaultyServer();

const five = <T>(value: T): T[] => Array(5).fill(value);

describe('a search continues and delivers every post exactly once', () => {
  const faults: [string, Reply[]][] = [
    ['503 five times', five(status(503, 'busy'))],
    ['500 and 502', [status(500), status(502, '<html>')]],
    [
      '429 with Retry-After',
      [status(429, '{"error":{"message":"slow"}}', { 'retry-after': '300' })],
    ],
    ['429 without', five(status(429))],
    ['a reset connection', five(reset)],
    ['a body that is cut by its length', [cut(PAGE, 'length')]],
    ['a body that is cut between chunks', [cut(PAGE, 'chunked')]],
    ['a body that is reset', [cut(PAGE, 'reset')]],
    ['a document that is cut in an answer that is whole', [cut(PAGE, 'document')]],
    ['an empty body', [status(200)]],
    ['a connection that falls silent', [silence]],
    ['a body that falls silent', [stall(PAGE)]],
    ['all of that at once', [status(503), reset, cut(PAGE, 'length'), stall(PAGE), status(429)]],
  ];

  it.each(faults)('after %s', async (_what, replies) => {
    for (const pages of [0, 2]) {
      afterPages(pages, ...replies);
      const timeouts = { connectMs: 300, responseMs: 300, silenceMs: 300 };
      const { found, error } = await run({}, { timeouts });
      expect(error).toBeUndefined();
      expect(found).toEqual(POSTS.map(post => post.bytes));
    }
  });

  it('after a response that is cut at any byte', async () => {
    const text = JSON.stringify(PAGE);
    for (let at = 0; at < text.length; at++) {
      afterPages(1, cut(PAGE, 'document', at));
      const { found } = await run({ limit: 15 });
      expect(found).toEqual(POSTS.slice(0, 15).map(post => post.bytes));
    }
  });

  it('after waits as long as Retry-After requests', async () => {
    const timing = impatient();
    afterPages(1, status(429, '', { 'retry-after': '300' }), status(503));
    await run({}, { timing });
    expect(timing.slept).toEqual([300_750, 1500]);
  });
});

describe('a search that cannot continue', () => {
  it.each([400, 401, 404, 422])(
    'throws the HttpError %i unchanged if its first page fails',
    async code => {
      server.script.push(status(code, '{"error":{"message":"No."}}'));
      const { found, error } = await run();
      expect(error).toBeInstanceOf(HttpError);
      expect(error).toMatchObject({ status: code, body: 'No.' });
      expect(found).toEqual([]);
      expect(server.received.length).toBe(1);
    },
  );

  it('throws the ConnectionError unchanged if its first page fails', async () => {
    server.otherwise = reset;
    const { error } = await run();
    expect(error).toBeInstanceOf(ConnectionError);
    expect(server.received.length).toBe(10);
  });

  it.each([
    ['401', status(401), HttpError],
    ['503 on every attempt', status(503), HttpError],
    ['a Retry-After of a day', status(429, '', { 'retry-after': '86400' }), HttpError],
    ['broken connections on every attempt', reset, ConnectionError],
    ['truncated bodies on every attempt', cut(PAGE, 'length'), ConnectionError],
    ['a post that is not JSON', raw('{"results":[{"id":1,"id_str":"1","text":"a",}]}'), DataError],
    ['a response without results', raw('{"error":{"message":"odd"}}'), DataError],
  ])(
    'rejects with a cursor to continue from if a later page fails: %s',
    async (_what, reply, cause) => {
      afterPages(2);
      server.otherwise = reply;
      const { found, cursor, error } = await run();
      expect(found).toEqual(POSTS.slice(0, 20).map(post => post.bytes));
      expect(error).toBeInstanceOf(IncompleteError);
      const incomplete = error as IncompleteError;
      expect(incomplete.cause).toBeInstanceOf(cause);
      expect(incomplete.retryable).toBe((incomplete.cause as HttpError).retryable);
      expect(incomplete.cursor).toEqual(cursor);
      expect(incomplete.missing).toEqual([
        expect.stringMatching(/^posts from 202401010000 to 202401\d{6}$/),
      ]);
      expect(incomplete.message).toContain((incomplete.cause as Error).message);
      server.otherwise = searchPages(POSTS);
      const rest = await run({ resume: incomplete.cursor as Cursor });
      expect(rest.found).toEqual(POSTS.slice(20).map(post => post.bytes));
    },
  );

  it('reports only the minutes up to the last delivered post as missing, even after a resume', async () => {
    const upTo = (count: number) => {
      const { at } = POSTS[count - 1] ?? { at: Number.NaN };
      return [`posts from 202401010000 to ${formatTimestamp(at + MINUTE)}`];
    };
    const failed = async (options: Partial<SearchOptions>, pages: number) => {
      afterPages(pages);
      server.otherwise = status(401);
      const { error } = await run(options);
      expect(error).toBeInstanceOf(IncompleteError);
      return error as IncompleteError;
    };
    const first = await failed({}, 2);
    expect(first.missing).toEqual(upTo(20));
    const second = await failed({ resume: first.cursor as Cursor }, 0);
    expect(second.missing).toEqual(upTo(20));
    const third = await failed({ resume: second.cursor as Cursor }, 1);
    expect(third.missing).toEqual(upTo(30));
    // The limit ends the run in the middle of the second page, so the rest of that page is missing.
    server.otherwise = searchPages(POSTS);
    const { cursor } = await run({ limit: 13 });
    const more = await failed({ limit: 30, resume: cursor as Cursor }, 0);
    expect(more.missing).toEqual(upTo(13));
  });

  it('does not report delivered minutes as missing if it fails after an empty page', async () => {
    const empty = JSON.stringify({ results: [], next: 'after the empty page', ...ECHO });
    afterPages(2, raw(empty));
    server.otherwise = status(401);
    const { found, error } = await run();
    expect(found.length).toBe(20);
    const { at } = POSTS[19] as (typeof POSTS)[number];
    expect((error as IncompleteError).missing).toEqual([
      `posts from 202401010000 to ${formatTimestamp(at + MINUTE)}`,
    ]);
  });

  it('shows no secret in its error, even if a response echoes it', async () => {
    const token = Buffer.from(`me@acme.test:${PASSWORD}`).toString('base64');
    for (const body of [
      JSON.stringify({ echo: PASSWORD, token }),
      JSON.stringify({ results: [PASSWORD, token], ...ECHO }),
      JSON.stringify({ results: [], next: [PASSWORD] }),
      JSON.stringify({ results: [{ text: PASSWORD }], ...ECHO }),
      JSON.stringify({ results: [], requestParameters: { fromDate: token } }),

      `{"results":[], "x": ${token} }`,
    ]) {
      afterPages(1, raw(body));
      const { error } = await run();
      expect(error).toBeInstanceOf(IncompleteError);
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('pa55');
    }
  });
});

describe('a search with any faults', () => {
  it('delivers every post exactly once if it is resumed after each error', async () => {
    const good = searchPages(POSTS);
    const replies: Reply[] = [
      ...[good, good, good, status(503), status(429), status(401), status(422), reset],
      ...[cut(PAGE, 'length'), cut(PAGE, 'chunked'), cut(PAGE, 'document'), raw('{}'), raw('[')],
    ];
    const faults = fc.array(fc.nat(replies.length - 1), { maxLength: 20 });
    const options = fc.record({
      maxResults: fc.integer({ min: 10, max: 20 }),
      slices: fc.integer({ min: 1, max: 4 }),
      gzip: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(faults, options, async (script, { maxResults, slices, gzip }) => {
        server.script.splice(0, server.script.length, ...script.map(index => replies[index]!));
        server.otherwise = searchPages(POSTS, { gzip });
        const posts: string[] = [];
        let cursor: Cursor | undefined;
        for (let runs = 0; ; runs++) {
          const attempts = { retry: { attempts: 2 } };
          const { found, error, ...last } = await run(
            { maxResults, slices, resume: cursor },
            attempts,
          );
          posts.push(...found);
          cursor = last.cursor ?? cursor;
          if (error === undefined) break;
          if (error instanceof IncompleteError) expect(error.cursor).toEqual(cursor);
          expect(runs).toBeLessThanOrEqual(script.length);
        }
        expect(posts).toEqual(POSTS.map(post => post.bytes));
      }),
      { numRuns: bySuite(5, 240) },
    );
  });
});

describe('a search that is stopped', () => {
  it('by break closes its connections promptly', async () => {
    server.script.push(searchPages(POSTS));
    server.otherwise = stall(PAGE);
    for await (const _post of search(testAccount(server), SNOW)) {
      while (server.received.length < 2) await new Promise(resolve => setTimeout(resolve, 1));
      break;
    }
    // On an idle machine, closing takes milliseconds. Waiting for the responses that were abandoned
    // would take minutes.
    expect(await server.closed()).toBeLessThan(AT_ONCE_MS);
  });

  it('by a sink that throws closes its connections promptly', async () => {
    server.script.push(searchPages(POSTS));
    server.otherwise = stall(PAGE);
    const bug = new Error('the sink is full');
    const run = pipeline(search(testAccount(server), SNOW), async input => {
      for await (const _post of input) {
        while (server.received.length < 2) await new Promise(resolve => setTimeout(resolve, 1));
        throw bug;
      }
    });
    await expect(run).rejects.toBe(bug);
    expect(await server.closed()).toBeLessThan(AT_ONCE_MS);
  });

  it.each([0, 1])(
    'by an abort during page %i rejects with the reason of the abort',
    async pages => {
      afterPages(pages);
      server.otherwise = stall(PAGE);
      const controller = new AbortController();
      const reason = { mine: true };
      const running = pipeline(search(testAccount(server), SNOW), collect(), {
        signal: controller.signal,
      });
      running.catch(() => {});
      while (server.received.length <= pages) await new Promise(resolve => setTimeout(resolve, 1));
      controller.abort(reason);
      await expect(running).rejects.toBe(reason);
      expect(await server.closed()).toBeLessThan(AT_ONCE_MS);
    },
  );

  it('by an abort during a wait ends immediately', async () => {
    server.otherwise = status(429, '', { 'retry-after': '600' });
    for (const limits of [{ search: [] }, { search: [{ requests: 1, perMs: 60_000 }] }]) {
      const controller = new AbortController();
      const acme = testAccount(server, { timing: ownRealTime(), limits });
      const running = pipeline(search(acme, { query: 'snow', product: 'fullarchive' }), collect(), {
        signal: controller.signal,
      });
      running.catch(() => {});
      await new Promise(resolve => setTimeout(resolve, 30));
      controller.abort('enough');
      // Without the abort, the run would wait for minutes.
      await expect(running).rejects.toBe('enough');
    }
  });
});

describe('the rate limit of searches', () => {
  it('applies to all searches of an account object together', async () => {
    const arrivals: number[] = [];
    server.otherwise = (response, request) => {
      arrivals.push(performance.now());
      return searchPages(POSTS)(response, request);
    };
    const limits = { search: [{ requests: 4, perMs: 200 }] };
    const acme = testAccount(server, { timing: ownRealTime(), limits });
    const options = { ...SNOW, limit: 30 };
    await Promise.all([1, 2, 3, 4].map(() => pipeline(search(acme, options), collect())));
    expect(arrivals.length).toBe(12);
    // Any five arrivals span at least 200 ms. A timer can fire up to 2 ms early.
    for (let i = 4; i < arrivals.length; i++)
      expect(arrivals[i]! - arrivals[i - 4]!).toBeGreaterThan(197);
  });
});
