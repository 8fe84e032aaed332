import { setTimeout as wait } from 'node:timers/promises';
import { Kvm } from '@nats-io/kv';
import { connect } from '@nats-io/transport-node';
import {
  Activity,
  collect,
  DataError,
  Flow,
  IncompleteError,
  type ProgressCounts,
  pipeline,
  type Wait,
} from 'millrace';
import {
  fromJetStream,
  JetStreamError,
  type ToJetStreamOptions,
  toJetStream,
} from 'millrace/jetstream';
import { describe, expect, it, vi } from 'vitest';
import { Child } from './children.js';
import { connecting } from './connecting.js';
import { manageStreams } from './manage-streams.js';
import { hasNatsServer, type NatsNode, startNode } from './nats-server.js';
import { numberedIds, numberedPosts, numberedSource } from './numbered-posts.js';

const create = { maxBytes: 64 << 20, duplicateWindowMs: 1000, shards: 4 };

const to = (node: NatsNode) => ({
  connection: connecting(node.url),
  stream: 'posts',
  subject: 'posts',
});

async function publisherOf(node: NatsNode): Promise<string | undefined> {
  const connection = await connect({ servers: node.url });
  try {
    const kv = await new Kvm(connection).open('millrace');
    const entry = await kv.get('posts').catch(() => null);
    return entry?.json<{ process: { run: string } }>().process.run;
  } finally {
    await connection.close();
  }
}

async function idsIn(node: NatsNode): Promise<string[]> {
  const read = await pipeline(fromJetStream({ ...to(node), until: 'caught up' }), collect());
  return read.map(({ id }) => id).toSorted();
}

function withDamaged(fails: boolean): Flow<Activity> {
  const large = `{"created_at":"Wed Jan 31 23:59:00 +0000 2024","id":7,"text":"${'x'.repeat(8000)}"}`;
  const damaged = [large, '{"text":"no id"}'].map(text => new Activity(Buffer.from(text)));
  return new Flow(
    async function* () {
      yield { items: [...numberedPosts(0, 100), ...damaged, ...numberedPosts(100, 150)] };
      if (fails) throw new Error('no more');
      yield { items: numberedPosts(150, 200), cursor: { at: 200 } };
    },
    undefined,
    [{ step: 'damaged' }],
  );
}

// The tests run concurrently because they mostly wait for servers and processes.
describe.skipIf(!hasNatsServer).concurrent('toJetStream', () => {
  it("publishes each post exactly once despite kill -9, even after the servers' duplicate window has passed", async () => {
    await using node = await startNode();
    // No cursor is committed, so the publisher must recover its position only from the stream.
    const options = { ...to(node), create, total: 3000, commitIntervalMs: 600_000, waitMs: 20 };
    const first = new Child('publish-child.ts', { ...options, holdAt: 1500 });
    await first.line('at 1000');
    await first.kill();
    await wait(1500);
    const second = new Child('publish-child.ts', { ...options, waitMs: 0 });
    expect(await second.line('done')).toContain('"posts":3000');
    expect(await idsIn(node)).toEqual(numberedIds(3000));
  });

  it('commits the posts paid for before the budget was spent, so that the next run does not request them again', async () => {
    await using node = await startNode();
    const begunAt: number[] = [];
    const flow = () =>
      new Flow(
        async function* ({ resume }: { resume?: unknown }) {
          const { at } = (resume ?? { at: 0 }) as { readonly at: number };
          begunAt.push(at);
          yield { items: numberedPosts(at, at + 10), cursor: { at: at + 10 } };
          if (at < 20)
            throw new IncompleteError('The budget is spent', { missing: ['x'], reason: 'budget' });
        },
        undefined,
        [{ step: 'paid' }],
      );
    const options = { ...to(node), create, commitIntervalMs: 600_000 };
    for (let runs = 0; runs < 2; runs++)
      await expect(pipeline(flow(), toJetStream(options))).rejects.toMatchObject({
        reason: 'budget',
      });
    expect(await pipeline(flow(), toJetStream(options))).toMatchObject({ posts: 30 });
    expect(begunAt).toEqual([0, 10, 20]);
    expect(await idsIn(node)).toEqual(numberedIds(30));
  });

  it('continues from the committed cursor after its process is killed', async () => {
    await using node = await startNode();
    const options = { ...to(node), create, total: 3000, commitIntervalMs: 0, waitMs: 20 };
    const first = new Child('publish-child.ts', { ...options, holdAt: 2000 });
    await first.line('at 1500');
    await first.kill();
    const second = new Child('publish-child.ts', { ...options, waitMs: 0 });
    expect(await second.line('done')).toContain('"posts":3000,"messages":3000');
    const [, start = ''] = second.lines[0]?.split(' ') ?? [];
    expect(Number(start)).toBeGreaterThan(1000);
    expect(await idsIn(node)).toEqual(numberedIds(3000));
  });

  it('does not publish again a post that an earlier run published beyond the cursor of a later run', async () => {
    await using node = await startNode();
    for (const [stopAt, commitIntervalMs] of [
      [800, 600_000],
      [400, 0],
      [2000, 0],
    ] as const) {
      const stop = new AbortController();
      const before = async (from: number) => {
        // This leaves time for acknowledgements and commits.
        await wait(20);
        if (from >= stopAt) stop.abort(new Error('stopped'));
      };
      await pipeline(
        numberedSource({ total: 1000, before }),
        toJetStream({ ...to(node), create, commitIntervalMs }),
        { signal: stop.signal },
      ).catch(error => expect(error).toMatchObject({ message: 'stopped' }));
      await wait(1200);
    }
    expect(await idsIn(node)).toEqual(numberedIds(1000));
  });

  it('returns the same result after a complete run without opening its source', async () => {
    await using node = await startNode();
    const run = (before?: () => void) =>
      pipeline(
        numberedSource({ total: 100, ...(before && { before }) }),
        toJetStream({ ...to(node), create }),
      );
    const first = await run();
    let opened = false;
    const second = await run(() => {
      opened = true;
    });
    expect(second).toEqual(first);
    expect(opened).toBe(false);
  });

  it('fails while another process publishes under the same name', async () => {
    await using node = await startNode();
    const first = new Child('publish-child.ts', { ...to(node), create, total: 2000, holdAt: 100 });
    await first.line('at 100');
    const error = await pipeline(
      numberedSource({ total: 2000 }),
      toJetStream({ ...to(node), create }),
    ).catch(thrown => thrown);
    expect(error).toBeInstanceOf(JetStreamError);
    expect(error).toMatchObject({
      failure: 'in-use',
      message: expect.stringContaining(`process ${first.process.pid}`),
    });
    first.release();
    expect(await first.line('done')).toContain('"posts":2000');
    expect(await idsIn(node)).toEqual(numberedIds(2000));
  });

  it("fails while another publisher with its name waits for space, at the start or the end of that publisher's run", async () => {
    await using node = await startNode();
    const small = { ...to(node), create: { ...create, maxBytes: 1 << 20 } };
    // Creates the bucket first. Otherwise, nats-server 2.9 panics if it is asked for a message of a
    // stream that it is still creating.
    await pipeline(numberedSource({ total: 1 }), toJetStream({ ...small, name: 'another' }));
    const run = (signal: AbortSignal, takeoverMs = 5000) => {
      // Large posts fill most of the stream, and then small posts fill the rest.
      let posts = 0;
      return pipeline(
        numberedSource({ total: 400 }),
        toJetStream({
          ...small,
          maxInFlight: 1000,
          takeoverMs,
          payload: () => Buffer.alloc(posts++ < 30 ? 100_000 : 1),
        }),
        { signal },
      ).catch(thrown => thrown);
    };
    const second = new AbortController();
    for (const what of ['end', 'start']) {
      const stop = new AbortController();
      const before = await publisherOf(node);
      const first = run(stop.signal);
      await vi.waitUntil(async () => (await publisherOf(node)) !== before, { timeout: 60_000 });
      // After this wait, the stream is full.
      await wait(1000);
      const limit = setTimeout(() => second.abort(new Error('has taken over')), 60_000);
      // The second publisher fails when the first one writes its entry. On an idle machine, the
      // first one writes every second.
      expect(await run(second.signal, 20_000), what).toMatchObject({ failure: 'in-use' });
      clearTimeout(limit);
      stop.abort(new Error('enough'));
      expect(await first).toMatchObject({ message: 'enough' });
    }
  });

  it('keeps its cursor in a KV bucket that only the leader may serve', async () => {
    await using node = await startNode();
    await pipeline(numberedSource({ total: 10 }), toJetStream({ ...to(node), create }));
    const { config } = await manageStreams(node, ({ streams }) => streams.info('KV_millrace'));
    expect(config.allow_direct).toBe(false);
  });

  it('fails if the KV entry of its publisher name is damaged', async () => {
    await using node = await startNode();
    const run = () => pipeline(numberedSource({ total: 10 }), toJetStream({ ...to(node), create }));
    await run();
    const connection = await connect({ servers: node.url });
    const kv = await new Kvm(connection).open('millrace');
    const whole = (await kv.get('posts'))!.json<object>();
    const damages = [{ positions: undefined }, { positions: [0.5] }, { seq: '1' }, { process: {} }];
    for (const damaged of ['null', '{', '[]', ...damages]) {
      const text = typeof damaged === 'string' ? damaged : JSON.stringify({ ...whole, ...damaged });
      await kv.put('posts', text);
      const error = await run().catch(thrown => thrown);
      expect(error, text).toMatchObject({
        failure: 'publisher',
        message: expect.stringContaining('damaged'),
      });
    }
    await connection.close();
  });

  it('takes over from a process that was silent, and that process fails when it continues', async () => {
    await using node = await startNode();
    const options = { ...to(node), create, total: 4000, takeoverMs: 2000 };
    const first = new Child('publish-child.ts', { ...options, waitMs: 20, holdAt: 1500 });
    await first.line('at 1000');
    first.process.kill('SIGSTOP');
    const second = new Child('publish-child.ts', options);
    expect(await second.line('done')).toContain('"posts":4000');
    first.process.kill('SIGCONT');
    first.release();
    expect(await first.line('error')).toContain('"failure":"taken-over"');
    expect(await first.closed()).toBe(1);
    expect(await idsIn(node)).toEqual(numberedIds(4000));
  });

  it('fails if another flow was published under the same publisher name', async () => {
    await using node = await startNode();
    await pipeline(numberedSource({ total: 100 }), toJetStream({ ...to(node), create }));
    const other = pipeline(numberedSource({ total: 200 }), toJetStream({ ...to(node) }));
    await expect(other).rejects.toMatchObject({
      failure: 'publisher',
      message: expect.stringContaining('another flow'),
    });
    await pipeline(numberedSource({ total: 200 }), toJetStream({ ...to(node), name: 'more' }));
    expect((await idsIn(node)).length).toBe(300);
  });

  it('fails if the same flow was published under its name with another number of shards', async () => {
    await using node = await startNode();
    const run = (shard: string | undefined, total = 100) => {
      const [index = 1, of = 1] = shard?.split('/').map(Number) ?? [];
      const posts = numberedPosts(0, total).filter((_, number) => number % of === index - 1);
      const source = new Flow(
        async function* () {
          yield { items: posts };
        },
        undefined,
        [{ step: 'numbers', total, ...(shard !== undefined && { shard }) }],
      );
      return pipeline(source, toJetStream({ ...to(node), create }));
    };
    await run('1/2');
    for (const [other, is] of [
      ['1/4', 'is shard 1/4'],
      [undefined, 'is no shard'],
    ] as const)
      await expect(run(other), other).rejects.toMatchObject({
        failure: 'publisher',
        message: expect.stringMatching(
          `the publisher posts-1-of-2 has published shard 1/2 of this flow, and this run ${is}.* Run the same shards as before`,
        ),
      });
    await run('2/2');
    expect(await idsIn(node)).toEqual(numberedIds(100));
    // These flows have different identities than the flows above, so the posts published above do
    // not affect them.
    await run('1/4', 40);
    await run(undefined, 10);
    const whole = await run('3/3', 10).catch(thrown => thrown);
    expect(whole).toMatchObject({
      message: expect.stringContaining('the publisher posts has published all of this flow'),
    });
    expect(await idsIn(node)).toHaveLength(120);
  });

  it('continues after the server is killed and restarted', async () => {
    await using node = await startNode();
    let killed: Promise<void> | undefined;
    const source = numberedSource({
      total: 4000,
      before: async from => {
        await wait(5);
        if (from === 1000)
          killed = node
            .kill()
            .then(() => wait(1500))
            .then(() => node.start());
      },
    });
    const published = await pipeline(source, toJetStream({ ...to(node), create }));
    await killed;
    expect(published.posts).toBe(4000);
    expect(await idsIn(node)).toEqual(numberedIds(4000));
  });

  it('publishes each post exactly once, even if acknowledgements arrive after the duplicate window', async () => {
    await using node = await startNode();
    let paused: Promise<unknown> | undefined;
    const source = numberedSource({
      total: 3000,
      before: from => {
        if (from !== 1000) return;
        node.pause();
        paused = wait(8000).then(() => node.resume());
      },
    });
    await pipeline(source, toJetStream({ ...to(node), create }));
    await paused;
    expect(await idsIn(node)).toEqual(numberedIds(3000));
  });

  it('fails with the last cursor after an outage of maxOutageMs', async () => {
    await using node = await startNode();
    const source = numberedSource({
      total: 10_000,
      before: async from => {
        await wait(20);
        if (from === 2000) await node.kill();
      },
    });
    const error = await pipeline(
      source,
      toJetStream({ ...to(node), create, commitIntervalMs: 0, maxOutageMs: 1000 }),
    ).catch(thrown => thrown);
    expect(error).toBeInstanceOf(JetStreamError);
    expect(error).toMatchObject({ failure: 'outage', retryable: true });
    expect(error.cursor.at).toBeGreaterThan(0);
  });

  it('fails with the last cursor if the stream is full', async () => {
    await using node = await startNode();
    const small = { ...create, maxBytes: 1 << 20 };
    const error = await pipeline(
      numberedSource({ total: 20_000 }),
      toJetStream({ ...to(node), create: small, commitIntervalMs: 0, maxOutageMs: 500 }),
    ).catch(thrown => thrown);
    expect(error).toMatchObject({
      failure: 'full',
      message: expect.stringContaining('maximum bytes exceeded'),
    });
    expect(error.cursor.at).toBeGreaterThan(0);
  });

  it('rejects with the reason of an abort', async () => {
    await using node = await startNode();
    const stop = new AbortController();
    const source = numberedSource({
      total: 1_000_000,
      before: async from => {
        await wait(1);
        if (from !== 500) return;
        stop.abort(new Error('enough'));
      },
    });
    const run = pipeline(source, toJetStream({ ...to(node), create }), { signal: stop.signal });
    await expect(run).rejects.toThrow('enough');
  });

  it('closes its connections when the source fails', async () => {
    await using node = await startNode();
    const source = numberedSource({
      total: 1000,
      before: from => {
        if (from === 500) throw new Error('no more');
      },
    });
    const run = pipeline(source, toJetStream({ ...to(node), create }));
    await expect(run).rejects.toThrow('no more');
    await pipeline(numberedSource({ total: 1000 }), toJetStream({ ...to(node), create }));
    expect(await idsIn(node)).toEqual(numberedIds(1000));
  });

  it('fails if the stream is recreated while it publishes', async () => {
    await using node = await startNode();
    const source = numberedSource({
      total: 2000,
      before: async from => {
        if (from !== 1000) return;
        await wait(200);
        await manageStreams(node, async ({ streams }) => {
          const { config } = await streams.info('posts');
          await streams.delete('posts');
          await streams.add(config);
        });
      },
    });
    const run = pipeline(source, toJetStream({ ...to(node), create }));
    await expect(run).rejects.toMatchObject({ failure: 'stream' });
  });

  it.each([
    ['the stream', 'posts', 'the stream posts was deleted during the run, with all posts in it'],
    [
      'the bucket of publishers',
      'KV_millrace',
      'the bucket millrace was deleted during the run, with the cursor of this publisher',
    ],
  ])('fails without retries if %s is deleted while it publishes', async (_, name, text) => {
    await using node = await startNode();
    const source = numberedSource({
      total: 1_000_000,
      before: async from => {
        await wait(5);
        if (from !== 1000) return;
        await manageStreams(node, ({ streams }) => streams.delete(name));
      },
    });
    const sink = toJetStream<Activity>({
      ...to(node),
      create,
      commitIntervalMs: 50,
      maxOutageMs: 5_000,
    });
    const error = await pipeline(source, sink).catch(thrown => thrown);
    expect(error).toBeInstanceOf(JetStreamError);
    expect(error).toMatchObject({
      failure: 'stream',
      retryable: false,
      message: expect.stringContaining(text),
      cursor: { at: expect.any(Number) },
    });
  });

  it('shows why and until when it waits for space, and fails if the stream is deleted during the wait', async () => {
    await using node = await startNode();
    const waits: Wait[] = [];
    let deleting: Promise<unknown> | undefined;
    const run = pipeline(
      numberedSource({ total: 20_000 }),
      toJetStream<Activity>({ ...to(node), create: { ...create, maxBytes: 1 << 20 } }),
      {
        progress: ({ wait }) => {
          if (wait === undefined) return;
          waits.push(wait);
          deleting ??= manageStreams(node, ({ streams }) => streams.delete('posts'));
        },
      },
    );
    expect(await run.catch(thrown => thrown)).toMatchObject({ failure: 'stream' });
    await deleting;
    const [first] = waits;
    expect(first).toMatchObject({
      reason: 'servers',
      waitMs: expect.any(Number),
      retry: expect.any(Number),
      error: { failure: 'full', message: expect.stringContaining('maximum bytes exceeded') },
    });
    // The run waits until `maxOutageMs` has passed, which is 5 minutes by default.
    expect(first!.waitMs).toBeGreaterThan(60_000);
  });

  it('shows no wait once the servers respond again', async () => {
    await using node = await startNode();
    const seen: (Wait | undefined)[] = [];
    let isBack = false;
    const source = numberedSource({
      total: 100_000,
      before: async from => {
        await wait(5);
        if (from === 500) await node.kill();
        if (isBack && seen.at(-1) === undefined) throw new Error('no longer shown');
      },
    });
    const progress = async (counts: ProgressCounts) => {
      seen.push(counts.wait);
      if (isBack || counts.wait === undefined) return;
      isBack = true;
      await node.start();
    };
    const run = pipeline(source, toJetStream({ ...to(node), create }), { progress });
    await expect(run).rejects.toThrow('no longer shown');
    expect(seen.find(each => each !== undefined)).toMatchObject({
      reason: 'servers',
      error: { failure: 'outage' },
    });
  });

  it('fails with advice if an item is larger than the servers accept', async () => {
    await using node = await startNode({ config: 'max_payload: 8192' });
    const run = pipeline(withDamaged(false), toJetStream({ ...to(node), create }));
    await expect(run).rejects.toMatchObject({
      code: 'ERR_DATA',
      message: expect.stringMatching(
        /The item 7 has \d+ bytes, and the servers accept 8192 .*\. Raise `max_payload` of the servers, or pass `onDamaged` to leave it out/,
      ),
    });
  });

  it('skips items that are too large or have no id if `onDamaged` returns', async () => {
    await using node = await startNode({ config: 'max_payload: 8192' });
    const damaged: [raw: string, message: string][] = [];
    let dropped: number | undefined;
    const run = (fails: boolean) =>
      pipeline(
        withDamaged(fails),
        toJetStream<Activity>({
          ...to(node),
          create,
          onDamaged: async ({ raw }, { message }) => {
            await wait(1);
            damaged.push([raw.toString(), message]);
          },
        }),
        { progress: ({ dropped: by }) => (dropped = by.get('damaged')) },
      );
    await expect(run(true)).rejects.toThrow('no more');
    const before = damaged.splice(0);
    expect(await run(false)).toMatchObject({ posts: 200, messages: 200 });
    for (const all of [before, damaged])
      expect(all).toEqual([
        [expect.stringContaining('x'.repeat(8000)), expect.stringContaining('The item 7 has')],
        ['{"text":"no id"}', expect.stringContaining('id')],
      ]);
    expect(dropped).toBe(2);
    expect(await idsIn(node)).toEqual(numberedIds(200));
  });

  it('ends with the error that `onDamaged` throws', async () => {
    await using node = await startNode({ config: 'max_payload: 8192' });
    const onDamaged = () => {
      throw new Error('I cannot take it');
    };
    const run = pipeline(
      withDamaged(false),
      toJetStream<Activity>({ ...to(node), create, onDamaged }),
    );
    await expect(run).rejects.toThrow('I cannot take it');
  });

  it('fails with advice if items are not activities', async () => {
    await using node = await startNode();
    const [post] = numberedPosts(0, 1);
    const wrong: [item: unknown, named: string, advice: string][] = [
      ['{"id":1}', 'a string', 'Put jsonLines(), activities() before it'],
      [Buffer.from('{"id":1}'), 'bytes', 'Put activities() before it'],
      [{ id: 1 }, 'an object', 'Put activities() before it'],
      [{ tag: 'snow', activity: post }, 'an activity with a tag', 'Put routeByTag() after all'],
      [[post], 'an array of activities', 'Put it before chunk()'],
      [Promise.resolve(post), 'a promise', 'Put mapAsync() in the place of the map()'],
      [undefined, 'undefined', 'Put activities() before it'],
      [null, 'null', 'Put activities() before it'],
    ];
    for (const [number, [item, named, advice]] of wrong.entries()) {
      const source = new Flow<unknown>(async function* () {
        yield { items: [item], origin: 'a.jsonl' };
      });
      const run = pipeline(source, toJetStream({ ...to(node), create, name: `wrong-${number}` }));
      const error = await run.catch(thrown => thrown);
      expect(error).toBeInstanceOf(DataError);
      expect(error.message).toContain(
        `toJetStream() reads activities, but got ${named} (in a.jsonl). ${advice}`,
      );
      expect(error.message).toContain(', or pass `id` for the ids of items');
    }
    expect(await idsIn(node)).toEqual([]);
  });

  it("fails if the caller's `id` or `payload` function returns the wrong type", async () => {
    await using node = await startNode();
    for (const [name, option, got] of [
      ['id', () => 5, 'a number'],
      ['id', () => undefined, 'undefined'],
      ['id', async () => 'x', 'a promise'],
      ['id', () => '', 'an empty one'],
      ['payload', () => 5, 'a number'],
      ['payload', async () => 'x', 'a promise'],
      ['payload', () => '', 'none'],
    ] as const) {
      const options: object = { ...to(node), create, name: 'wrong', [name]: option };
      const run = pipeline(
        numberedSource({ total: 1 }),
        toJetStream(options as ToJetStreamOptions<Activity>),
      );
      const error = await run.catch(thrown => thrown);
      expect(error).toBeInstanceOf(DataError);
      expect(error.message).toMatch(
        new RegExp(
          `^The option \`${name}\` of toJetStream\\(\\) must return .*, but returned ${got}`,
        ),
      );
    }
    expect(await idsIn(node)).toEqual([]);
  });

  it('publishes items that are not posts with the results of the `id` and `payload` functions', async () => {
    await using node = await startNode();
    const items = Array.from({ length: 20 }, (_, n) => ({ key: `é ${n}`, n }));
    await pipeline(
      new Flow(async function* () {
        yield { items };
      }),
      toJetStream<(typeof items)[number]>({ ...to(node), create, id: ({ key }) => key }),
    );
    const read = await pipeline(
      fromJetStream({
        ...to(node),
        until: 'caught up',
        item: bytes => JSON.parse(bytes.toString()) as (typeof items)[number],
      }),
      collect(),
    );
    expect(read.toSorted((a, b) => a.n - b.n)).toEqual(items);
  });

  it('stops reading its source while 16 MiB wait for acknowledgements, whatever `maxInFlight` is', async () => {
    await using node = await startNode();
    const text = 'x'.repeat(1 << 19);
    let delivered = 0;
    const source = new Flow(async function* () {
      for (; delivered < 64; delivered++) {
        // The first item was published, so the stream exists.
        if (delivered === 1) {
          while ((await idsIn(node)).length === 0) await wait(20);
          node.pause();
        }
        const json = `{"created_at":"Wed Jan 31 23:59:00 +0000 2024","id":${delivered},"text":"${text}"}`;
        yield { items: [new Activity(Buffer.from(json))] };
      }
    });
    const run = pipeline(source, toJetStream({ ...to(node), create, maxInFlight: 10_000 }));
    while (delivered < 30) await wait(20);
    await wait(500);
    expect(delivered).toBeLessThan(36);
    node.resume();
    expect(await run).toMatchObject({ posts: 64 });
  });

  it('publishes more than 16 MiB of posts when gzip makes their messages small', async () => {
    await using node = await startNode();
    const text = 'x'.repeat(1 << 19);
    const source = new Flow(async function* () {
      for (let id = 0; id < 64; id++) {
        const json = `{"created_at":"Wed Jan 31 23:59:00 +0000 2024","id":${id},"text":"${text}"}`;
        yield { items: [new Activity(Buffer.from(json))] };
      }
    });
    const sink = toJetStream({ ...to(node), create, batch: { posts: 1, compression: 'gzip' } });
    const signal = AbortSignal.timeout(60_000);
    expect(await pipeline(source, sink, { signal })).toMatchObject({ posts: 64 });
  });

  it('drops posts that the source delivers twice', async () => {
    await using node = await startNode();
    const twice = new Flow(async function* () {
      yield { items: [...numberedPosts(0, 100), ...numberedPosts(50, 150)] };
    });
    await pipeline(twice, toJetStream({ ...to(node), create }));
    expect(await idsIn(node)).toEqual(numberedIds(150));
  });
});
