import { setTimeout as wait } from 'node:timers/promises';
import type { ConsumerInfo } from '@nats-io/jetstream';
import { type Activity, collect, OptionError, type ProgressCounts, pipeline } from 'millrace';
import { type FromJetStreamOptions, fromJetStream } from 'millrace/jetstream';
import { describe, expect, it } from 'vitest';
import { identityOf } from '../../src/flow/flow.js';
import { Progress } from '../../src/flow/progress.js';
import { connecting } from './connecting.js';
import { manageStreams } from './manage-streams.js';
import { hasNatsServer, type NatsNode, startNode } from './nats-server.js';

const POST = (id: number) => JSON.stringify({ id_str: String(id), created_at: 'x' });

/** Creates a stream, and publishes messages to it in the same ways as other programs. */
async function fill(
  node: NatsNode,
  subjects: string[],
  messages: readonly (readonly [subject: string, payload: string])[],
  settings: object = {},
  copy?: { readonly name: string; readonly mirror: { readonly name: string } },
): Promise<void> {
  await manageStreams(node, async manager => {
    await manager.streams.add({ name: 'others', subjects, ...settings });
    if (copy !== undefined) await manager.streams.add(copy);
    for (const [subject, payload] of messages) await manager.jetstream().publish(subject, payload);
  });
}

async function purge(node: NatsNode): Promise<void> {
  await manageStreams(node, ({ streams }) => streams.purge('others'));
}

function consumersOf(node: NatsNode): Promise<readonly ConsumerInfo[]> {
  return manageStreams(node, ({ consumers }) => consumers.list('others').next());
}

type Options = Partial<FromJetStreamOptions<Activity>> & { readonly item?: undefined };

async function idsOf(node: NatsNode, options: Options): Promise<string[]> {
  const to = { connection: connecting(node.url), stream: 'others', until: 'caught up' } as const;
  const posts = await pipeline(fromJetStream({ ...to, ...options }), collect());
  return posts.map(({ id }) => id);
}

describe.skipIf(!hasNatsServer)('a stream that other programs publish', () => {
  const messages = [
    ['posts.en', POST(1)],
    ['posts.de.at', POST(2)],
    ['posts.en', POST(3)],
    ['other', POST(4)],
  ] as const;

  it.each<[string | string[], string[]]>([
    ['posts.>', ['1', '2', '3']],
    ['>', ['1', '2', '3', '4']],
    ['posts.en', ['1', '3']],
    ['posts.*', ['1', '3']],
    ['posts.*.at', ['2']],
    [
      ['posts.en', 'other'],
      ['1', '3', '4'],
    ],
  ])('is read with the subjects %j', async (subjects, ids) => {
    await using node = await startNode();
    await fill(node, ['posts.>', 'other'], messages);
    expect((await idsOf(node, { subjects })).toSorted()).toEqual(ids);
  });

  it('is read in shards by subject', async () => {
    await using node = await startNode();
    await fill(node, ['posts.>', 'other'], messages);
    const subjects = ['posts.en', 'posts.de.>', 'other'];
    const shards = [1, 2].map(index => idsOf(node, { subjects, shard: { index, of: 2 } }));
    expect(await Promise.all(shards)).toEqual([expect.arrayContaining(['1', '3', '4']), ['2']]);
    const error = await idsOf(node, { subjects: 'posts.>', shard: { index: 1, of: 2 } }).catch(
      thrown => thrown,
    );
    expect(error).toBeInstanceOf(OptionError);
    expect(error.message).toContain('`subjects` has 1: name one for each shard');
  });

  it('is read from a cursor, with the items that `item` returns', async () => {
    await using node = await startNode();
    const texts = ['a', 'b', 'c'].map(text => ['posts.x', text] as const);
    await fill(node, ['posts.>'], texts);
    const read = fromJetStream({
      ...{ connection: connecting(node.url), stream: 'others', subjects: 'posts.>', until: 3 },
      item: String,
    });
    const batches = [];
    for await (const batch of read.batches()) batches.push(batch);
    expect(batches.flatMap(({ items }) => items)).toEqual(['a', 'b', 'c']);
    const cursor = { ...batches[0]?.cursor, seq: 1 };
    const rest = fromJetStream({
      ...{ connection: connecting(node.url), stream: 'others', subjects: 'posts.>', until: 3 },
      ...{ item: String, resume: cursor },
    });
    expect(await pipeline(rest, collect())).toEqual(['b', 'c']);
  });

  it('is read through a mirror', async () => {
    await using node = await startNode();
    await fill(
      node,
      ['posts.>', 'other'],
      messages,
      {},
      { name: 'copy', mirror: { name: 'others' } },
    );
    expect(await idsOf(node, { stream: 'copy', subjects: 'posts.>', until: 4 })).toEqual([
      ...['1', '2', '3'],
    ]);
  });

  it('is identified in a checkpoint by its name and the subjects', () => {
    const one = { connection: connecting('nats://127.0.0.1:1'), stream: 'others' };
    const step = { step: 'fromJetStream', stream: 'others' };
    expect(identityOf(fromJetStream({ ...one, subjects: 'a' }))).toEqual([
      { ...step, subjects: ['a'] },
    ]);
    expect(identityOf(fromJetStream({ ...one, subject: 'a' }))).toEqual([
      { ...step, subject: 'a' },
    ]);
  });

  it('causes an error if it lacks a subject or deletes messages when they are read', async () => {
    await using node = await startNode();
    await fill(node, ['posts.>'], []);
    await expect(idsOf(node, { subjects: ['posts.en', 'frogs.>'] })).rejects.toMatchObject({
      failure: 'stream',
      message: expect.stringContaining('it has no frogs.>, its subjects are posts.>'),
    });
    await using queue = await startNode();
    await fill(queue, ['posts.>'], [], { retention: 'workqueue' });
    await expect(idsOf(queue, { subjects: 'posts.>' })).rejects.toMatchObject({
      failure: 'stream',
      message: expect.stringContaining('retention is workqueue, not limits'),
    });
  });

  it('is awaited with `waitForStream` until it exists', async () => {
    await using node = await startNode();
    const waits = new Set<string | undefined>();
    const progress = ({ wait: one }: ProgressCounts) => waits.add(one?.error?.message);
    const options = { stream: 'others', subjects: 'posts.>', until: 1 } as const;
    const reading = pipeline(
      fromJetStream({ connection: connecting(node.url), ...options, waitForStream: true }),
      collect(),
      { progress },
    );
    await wait(500);
    await fill(node, ['posts.>'], [['posts.en', POST(7)]]);
    expect((await reading).map(({ id }) => id)).toEqual(['7']);
    expect([...waits]).toContain('The stream others does not exist yet');
  });

  it('causes an error without `waitForStream` if it does not exist', async () => {
    await using node = await startNode();
    await expect(idsOf(node, { subjects: 'posts.>' })).rejects.toMatchObject({ failure: 'stream' });
    const end = new AbortController();
    const options = { stream: 'others', subjects: 'posts.>', waitForStream: true };
    const reading = pipeline(
      fromJetStream({ connection: connecting(node.url), ...options }),
      collect(),
      {
        signal: end.signal,
      },
    );
    setTimeout(() => end.abort(), 200);
    const began = performance.now();
    await expect(reading).rejects.toThrow();
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});

describe.skipIf(!hasNatsServer)('a reader of a stream', () => {
  it('reports how many messages it has not read yet, to the nats command as well', async () => {
    await using node = await startNode();
    const messages = Array.from({ length: 100 }, (_, id) => [`posts.${id % 2}`, POST(id)] as const);
    await fill(node, ['posts.>'], messages);
    const progress = new Progress();
    const { signal } = new AbortController();
    const to = { connection: connecting(node.url), stream: 'others', until: 100 } as const;
    const seen: (number | undefined)[] = [];
    let shown: readonly ConsumerInfo[] = [];
    for await (const _ of fromJetStream({ ...to, subjects: 'posts.0' }).batches({
      progress,
      signal,
    })) {
      if (seen.length === 0) shown = await consumersOf(node);
      seen.push(progress.counts().behind);
    }
    // The first request asks for 16 of 50 messages.
    expect(shown).toMatchObject([
      {
        config: { description: expect.stringMatching(/^millrace fromJetStream, process \d+ of ./) },
        num_pending: 34,
      },
    ]);
    expect(seen[0]).toBeGreaterThanOrEqual(34);
    expect(seen.at(-1)).toBe(0);
  });
});

describe.skipIf(!hasNatsServer)('a reader of a stream whose messages are all deleted', () => {
  it('reports that 0 messages are left to read', async () => {
    await using node = await startNode();
    const messages = Array.from({ length: 100 }, (_, id) => ['posts.0', POST(id)] as const);
    await fill(node, ['posts.>'], messages);
    const progress = new Progress();
    const { signal } = new AbortController();
    const to = {
      connection: connecting(node.url),
      stream: 'others',
      subjects: 'posts.0',
      until: 100,
    } as const;
    const flow = fromJetStream({ ...to, onGap: () => {} });
    const seen: (number | undefined)[] = [];
    for await (const _ of flow.batches({ progress, signal })) {
      if (seen.length === 0) await purge(node);
      seen.push(progress.counts().behind);
    }
    // The first request asks for 16 of 100 messages, which may arrive in several batches.
    expect(seen[0]).toBeGreaterThanOrEqual(84);
    expect(seen.at(-1)).toBe(0);
  });
});

describe('the option `subjects`', () => {
  const read = (subjects: string[]) => () =>
    fromJetStream({ connection: connecting('nats://127.0.0.1:1'), stream: 'others', subjects });

  it.each([
    [['posts.>', 'posts.en']],
    [['posts.*', 'posts.en']],
    [['a.*.c', 'a.b.*']],
    [['a', 'a']],
    [['>', 'a.b']],
  ])('causes an error if two of its subjects overlap: %j', subjects => {
    expect(read(subjects)).toThrow('must be subjects that have no message in common');
  });

  it.each([
    [['posts.*', 'posts.en.us']],
    [['posts.>', 'posts']],
    [['a.*.c', 'a.b.d']],
    [['a', 'b']],
  ])('is accepted if its subjects do not overlap: %j', subjects => {
    expect(read(subjects)).not.toThrow();
  });

  it('causes an error if `subject` is set as well, or if both are missing', () => {
    const one = { connection: connecting('nats://127.0.0.1:1'), stream: 'others' };
    expect(() => fromJetStream({ ...one, subject: 'a', subjects: 'a.>' })).toThrow('pass one');
    expect(() => fromJetStream(one)).toThrow('`subject` is missing');
  });
});
