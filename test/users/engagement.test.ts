import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AuthorizationError, OptionError } from '../../src/base/errors.js';
import { DAY, MINUTE } from '../../src/base/time.js';
import { type Batch, type Cursor, Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { type AccountOptions, account } from '../../src/http/account.js';
import { Activity } from '../../src/post/activity.js';
import { search } from '../../src/search/search.js';
import { collect } from '../../src/sinks/collect.js';
import { coalesce, type Engaged, engagement } from '../../src/users/engagement.js';
import { signIn } from '../../src/users/sign-in.js';
import { json, type Received, ScriptedServer, silence, status } from '../http/scripted-server.js';
import { idOf, post } from '../service/users/engagement-posts.js';
import { unchecked } from '../unchecked.js';
import { localUser } from './local-user.js';

const server = new ScriptedServer();
beforeEach(() => server.start());
afterEach(() => server.stop());

const acme = (options: AccountOptions = {}) =>
  account(
    {
      dataUrl: server.url,
      consumerKey: 'key',
      consumerSecret: 'secret',
      accessToken: 'token',
      accessTokenSecret: 'token-secret',
      retry: { firstWaitMs: 1, maxWaitMs: 1 },
      ...options,
    },
    {},
  );

function activity(id: number | string): Activity {
  return new Activity(
    Buffer.from(`{"created_at":"Thu Jan 01 00:00:00 +0000 2026","id":${id},"id_str":"${id}"}`),
  );
}

function flow(batches: readonly Batch<Activity>[]): Flow<Activity> {
  return new Flow(async function* ({ resume }) {
    for (const batch of batches.slice(Number(resume?.next ?? 0))) yield batch;
  });
}

const asked = (request: Received) => request.params.tweet_ids as string[];

function answerAll(): void {
  server.otherwise = (response, request) =>
    json({ byPost: Object.fromEntries(asked(request).map(id => [id, { favorites: id }])) })(
      response,
      request,
    );
}

async function batchesFrom(
  source: Flow<Activity>,
  options: Parameters<typeof engagement>[1] = {},
  resume?: Cursor,
): Promise<Batch<Engaged>[]> {
  const batches: Batch<Engaged>[] = [];
  const measured = engagement(acme(), { waitMs: 60_000, ...options })(source);
  for await (const batch of measured.batches({ resume })) batches.push(batch as Batch<Engaged>);
  return batches;
}

describe('engagement()', () => {
  it('adds the totals to each activity, in order, and forwards each cursor after the items before it', async () => {
    answerAll();
    const items = Array.from({ length: 600 }, (_, i) => activity(i + 1));
    const batches = await batchesFrom(
      flow([
        { items: items.slice(0, 100), cursor: { next: 1 }, origin: 'a' },
        { items: [], cursor: { next: 2 } },
        { items: items.slice(100, 500), cursor: { next: 3 }, origin: 'b' },
        { items: items.slice(500) },
        { items: [], cursor: { next: 5 } },
      ]),
    );
    const out = batches.flatMap(batch => batch.items);
    expect(out.map(item => item.activity)).toEqual(items);
    expect(out.map(({ totals }) => totals?.favorites)).toEqual(items.map(({ id }) => id));
    expect(server.received.map(request => asked(request).length)).toEqual([250, 250, 100]);
    const places = new Map<number, unknown>();
    let count = 0;
    for (const { items, cursor } of batches) {
      count += items.length;
      if (cursor !== undefined) places.set(count, cursor);
    }
    expect([...places]).toEqual([
      [100, { next: 2 }],
      [500, { next: 3 }],
      [600, { next: 5 }],
    ]);
    expect(batches[0]?.origin).toBe('a');
  });

  it('requests the totals of a repeated id once, and adds them to both activities', async () => {
    answerAll();
    const [batch] = await batchesFrom(flow([{ items: [activity(1), activity(2), activity(1)] }]));
    expect(batch?.items.map(({ totals }) => totals?.favorites)).toEqual(['1', '2', '1']);
    expect(server.received.map(asked)).toEqual([['1', '2']]);
  });

  it('adds the reason to an activity without totals, and continues', async () => {
    const forbidden = { errors: ['Forbidden to access tweets for author id 7: 4'] };
    server.script.push(
      json({
        byPost: { 1: { favorites: '9' } },
        errors: ['1 Tweet ID(s) are unavailable', 'internal server error'],
        unavailable_tweet_ids: ['2'],
      }),
      status(403, JSON.stringify(forbidden)),
    );
    const source = new Flow<Activity>(async function* () {
      yield { items: [activity(1), activity(2), activity(3)] };
      await new Promise(resolve => setTimeout(resolve, 150));
      yield { items: [activity(4)] };
    });
    const out = (await batchesFrom(source, { waitMs: 10, counts: 'number' })).flatMap(b => b.items);
    expect(out.map(({ totals, errors }) => [totals, errors])).toEqual([
      [{ favorites: 9 }, []],
      [undefined, ['1 Tweet ID(s) are unavailable', 'internal server error']],
      [undefined, ['internal server error']],
      [undefined, forbidden.errors],
    ]);
  });

  it('sends a request without waiting for more items if the source is slow', async () => {
    answerAll();
    let more = () => {};
    const source = new Flow<Activity>(async function* () {
      yield { items: [activity(1)], cursor: { next: 1 } };
      await new Promise<void>(resolve => {
        more = resolve;
      });
      yield { items: [activity(2)] };
    });
    const iterator = engagement(acme(), { waitMs: 20 })(source)[Symbol.asyncIterator]();
    expect((await iterator.next()).value?.activity.id).toBe('1');
    more();
    expect((await iterator.next()).value?.activity.id).toBe('2');
    expect((await iterator.next()).done).toBe(true);
  });

  it('forwards the cursors of empty batches immediately', async () => {
    let ended = false;
    const source = new Flow<Activity>(async function* ({ signal }) {
      yield { items: [], cursor: { next: 1 } };
      await new Promise(resolve => signal.addEventListener('abort', resolve));
      ended = true;
    });
    const batches = engagement(acme(), { waitMs: 60_000 })(source).batches();
    for await (const { cursor } of batches) {
      expect(cursor).toEqual({ next: 1 });
      break;
    }
    await new Promise(resolve => setImmediate(resolve));
    expect(ended).toBe(true);
  });

  it('delivers the activities before a request that fails, and then rejects', async () => {
    answerAll();
    const [first, second] = [activity(1), activity(2)];
    server.script.push(
      json({ byPost: { 1: { favorites: '1' } } }),
      status(
        401,
        '{"errors":["Your account could not be authenticated. Reason: Access token not found"]}',
      ),
    );
    const source = new Flow<Activity>(async function* () {
      yield { items: [first] };
      await new Promise(resolve => setTimeout(resolve, 100));
      yield { items: [second] };
    });
    const seen: string[] = [];
    const run = async () => {
      for await (const item of engagement(acme(), { waitMs: 10, concurrency: 1 })(source))
        seen.push(item.activity.id);
    };
    const error = await run().catch(failure => failure);
    expect(error).toBeInstanceOf(AuthorizationError);
    expect(error.failure).toBe('token');
    expect(seen).toEqual(['1']);
  });

  it('delivers the activities before an error of its input, and then rejects', async () => {
    answerAll();
    const failure = new Error('cut');
    const source = new Flow<Activity>(async function* () {
      yield { items: [activity(1)] };
      throw failure;
    });
    const seen: string[] = [];
    const run = async () => {
      for await (const item of engagement(acme(), { waitMs: 60_000 })(source))
        seen.push(item.activity.id);
    };
    expect(await run().catch(error => error)).toBe(failure);
    expect(seen).toEqual(['1']);
  });

  it('ends immediately if its consumer stops during a request', async () => {
    server.otherwise = silence;
    const reason = new Error('enough');
    const controller = new AbortController();
    const run = pipeline(
      flow([{ items: [activity(1)] }]),
      engagement(acme(), { waitMs: 0 }),
      collect(),
      { signal: controller.signal },
    );
    while (server.received.length === 0) await new Promise(resolve => setTimeout(resolve, 1));
    controller.abort(reason);
    expect(await run.catch(error => error)).toBe(reason);
    await server.closed();
  });

  it.each([
    { types: ['impressions'] },
    { counts: 'float' },
    { concurrency: 0 },
    { waitMs: -1 },
    { token: 'x' },
    { ids: [] },
  ])('throws for %j when it is called', options => {
    expect(() => engagement(acme(), unchecked(options))).toThrow(OptionError);
  });

  it('adds the totals to the posts of a search of the local service', async () => {
    const posts = Array.from({ length: 300 }, (_, i) => ({
      ago: DAY + i * MINUTE,
      favorites: i,
      author: i === 3 ? '8' : '7',
    }));
    const local = await localUser(posts.map(of => post(of)));
    const token = await signIn(local.acme, { open: local.consent });
    const out = await pipeline(
      search(local.acme, { product: '30day', query: 'tea', maxResults: 500 }),
      engagement(local.acme, { token, counts: 'number', types: ['favorites'] }),
      collect(),
    );
    expect(out.map(({ activity }) => activity.id)).toEqual(posts.map(idOf));
    expect(out.map(({ totals }) => totals?.favorites)).toEqual(
      posts.map(({ favorites, author }) => (author === '7' ? favorites : undefined)),
    );
    expect(out[3]?.errors).toEqual([
      `Forbidden to access tweets for author id 8: ${out[3]?.activity.id}`,
    ]);
  });
});

describe('coalesce, which joins small batches,', () => {
  it('keeps the order of items and cursors', async () => {
    const batch = fc.record({
      count: fc.integer({ min: 0, max: 12 }),
      cursor: fc.boolean(),
      late: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(batch, { maxLength: 12 }),
        fc.integer({ min: 1, max: 7 }),
        fc.constantFrom(0, 60_000),
        async (batches, most, waitMs) => {
          let made = 0;
          const expected = new Map<number, number>();
          const input = new Flow<number>(async function* () {
            for (const { count, cursor, late } of batches) {
              if (late) await new Promise(resolve => setImmediate(resolve));
              const items = Array.from({ length: count }, () => made++);
              if (cursor) expected.set(made, made);
              yield { items, ...(cursor ? { cursor: { made } } : {}) };
            }
          });
          const out: number[] = [];
          const cursors = new Map<number, number>();
          for await (const batches of coalesce(input.batches(), { maxItems: most, waitMs })) {
            expect(batches.flatMap(piece => piece.items).length).toBeLessThanOrEqual(most);
            for (const piece of batches) {
              out.push(...piece.items);
              if (piece.cursor !== undefined) cursors.set(out.length, Number(piece.cursor.made));
            }
          }
          expect(out).toEqual(Array.from({ length: made }, (_, i) => i));
          expect(cursors).toEqual(expected);
        },
      ),
    );
  });

  it('delivers items `waitMs` after the first of them, even if others keep arriving', async () => {
    const all = 40;
    const input = new Flow<number>(async function* () {
      for (let item = 0; item < all; item++) {
        yield { items: [item] };
        await new Promise(resolve => setTimeout(resolve, 10));
      }
    });
    const groups: number[] = [];
    for await (const batches of coalesce(input.batches(), { maxItems: 1_000, waitMs: 50 }))
      groups.push(batches.flatMap(({ items }) => items).length);
    expect(groups.reduce((sum, count) => sum + count)).toBe(all);
    expect(groups.length).toBeGreaterThan(2);
  });
});
