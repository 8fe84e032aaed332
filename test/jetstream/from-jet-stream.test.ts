import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { connect } from '@nats-io/transport-node';
import { type Cursor, collect, Flow, IncompleteError, pipeline } from 'millrace';
import { fromJetStream, JetStreamError, type JetStreamGap, toJetStream } from 'millrace/jetstream';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../temporary-folder.js';
import { Child } from './children.js';
import { connecting } from './connecting.js';
import { manageStreams } from './manage-streams.js';
import { hasNatsServer, type NatsNode, startNode } from './nats-server.js';
import { numberedId, numberedIds, numberedPosts, numberedSource } from './numbered-posts.js';

const create = { maxBytes: 64 << 20, shards: 4 };
const to = (node: NatsNode) => ({
  connection: connecting(node.url),
  stream: 'posts',
  subject: 'posts',
});
const publish = (node: NatsNode, total: number, options: object = {}) =>
  pipeline(numberedSource({ total }), toJetStream({ ...to(node), create, ...options }));

async function readAll(node: NatsNode, options: object = {}) {
  const ids: string[] = [];
  let last: Cursor | undefined;
  const flow = fromJetStream({ ...to(node), until: 'caught up', ...options });
  for await (const { items, cursor } of flow.batches()) {
    ids.push(...items.map(({ id }) => id));
    last = cursor;
  }
  return { ids, cursor: JSON.parse(JSON.stringify(last ?? null)) as Cursor };
}

describe.skipIf(!hasNatsServer)('fromJetStream', () => {
  it('delivers each post exactly once, even if its process is killed at any moment', async () => {
    await using node = await startNode();
    await publish(node, 20_000);
    const folder = await temporaryFolder();
    const options = {
      ...to(node),
      until: 'caught up',
      path: path.join(folder, 'out.jsonl'),
      checkpoint: path.join(folder, 'checkpoint.json'),
    };
    for (const aliveMs of [500, 300, 400]) {
      const reader = new Child('consume-child.ts', options);
      await wait(aliveMs);
      await reader.kill();
    }
    const last = new Child('consume-child.ts', options);
    expect(await last.line('done')).toBe('done 20000');
    // An open connection would keep the process alive, so the library has closed its connection.
    expect(await last.closed()).toBe(0);
    const lines = (await readFile(options.path, 'utf8')).trim().split('\n');
    expect(lines.map(line => /"id":(\d+)/.exec(line)?.[1]).toSorted()).toEqual(numberedIds(20_000));
  });

  it.each([2, 3, 4])('divides all posts among %i disjoint shards', async of => {
    await using node = await startNode();
    await publish(node, 1000);
    const parts = await Promise.all(
      Array.from({ length: of }, (_, index) => readAll(node, { shard: { index: index + 1, of } })),
    );
    for (const { ids } of parts) expect(ids.length).toBeGreaterThan(100);
    expect(parts.flatMap(({ ids }) => ids).toSorted()).toEqual(numberedIds(1000));
  });

  it('rejects more shards than the stream has subjects', async () => {
    await using node = await startNode();
    await publish(node, 10);
    await expect(readAll(node, { shard: { index: 1, of: 5 } })).rejects.toThrow(
      '`shard` is one of 5, and the stream posts has 4 subjects',
    );
  });

  it('continues from a cursor, even of a shard', async () => {
    await using node = await startNode();
    await publish(node, 500);
    const shard = { index: 1, of: 2 };
    const before = { all: await readAll(node), shard: await readAll(node, { shard }) };
    await publish(node, 900, { name: 'more' });
    const after = {
      all: await readAll(node, { resume: before.all.cursor }),
      shard: await readAll(node, { shard, resume: before.shard.cursor }),
    };
    expect(after.all.ids.toSorted()).toEqual(numberedIds(900));
    expect(after.shard.ids.length).toBeLessThan(800);
    expect(new Set([...after.shard.ids]).size).toBe(after.shard.ids.length);
  });

  it('ends at the sequence `until`, and waits if that sequence is not published yet', async () => {
    await using node = await startNode();
    await publish(node, 100);
    expect((await readAll(node, { until: 40 })).ids).toHaveLength(40);
    // Sequences 1 to 154 are 150 posts and four messages without posts, one for each subject.
    const later = readAll(node, { until: 154 });
    await publish(node, 200, { name: 'more' });
    expect((await later).ids).toHaveLength(150);
  });

  it('delivers posts published later, and closes on break', async () => {
    await using node = await startNode();
    await publish(node, 10);
    const seen: string[] = [];
    const more = wait(500).then(() => publish(node, 60, { name: 'more' }));
    for await (const post of fromJetStream(to(node))) {
      seen.push(post.id);
      if (seen.length === 70) break;
    }
    await more;
    expect(seen.toSorted()).toEqual([...numberedIds(10), ...numberedIds(60)].toSorted());
  });

  it('reads all messages through at most three consumers, even if messages are large', async () => {
    await using node = await startNode();
    const text = 'x'.repeat(16 << 10);
    const large = new Flow(async function* () {
      yield { items: Array.from({ length: 1500 }, (_, number) => ({ number, text })) };
    });
    const sink = toJetStream<{ number: number }>({
      ...to(node),
      create,
      id: ({ number }) => `${number}`,
    });
    await pipeline(large, sink);
    const connection = await connect({ servers: node.url });
    const created = connection.subscribe('$JS.EVENT.ADVISORY.CONSUMER.CREATED.posts.>');
    const item = (bytes: Buffer) => bytes.length;
    const flow = fromJetStream<number>({ ...to(node), until: 'caught up', item });
    expect(await pipeline(flow, collect())).toHaveLength(1500);
    await connection.flush();
    // On a busy machine, heartbeats may be missed, and the reader then creates further consumers.
    expect(created.getReceived()).toBeLessThanOrEqual(3);
    await connection.close();
  });

  it('ends on an abort while it waits for posts', async () => {
    await using node = await startNode();
    await publish(node, 10);
    const stop = new AbortController();
    setTimeout(() => stop.abort(new Error('enough')), 300);
    const run = pipeline(fromJetStream(to(node)), collect(), { signal: stop.signal });
    await expect(run).rejects.toThrow('enough');
  });

  it('reports a gap for messages that the stream dropped before the reader reached them', async () => {
    await using node = await startNode();
    await publish(node, 100);
    const { cursor } = await readAll(node, { until: 30 });
    await manageStreams(node, manager => manager.streams.purge('posts', { seq: 61 }));
    const error = await readAll(node, { resume: cursor }).catch(thrown => thrown);
    expect(error).toBeInstanceOf(IncompleteError);
    expect(error).toMatchObject({ missing: ['posts.*: sequences 31 to 60'] });
    expect((await readAll(node, { resume: error.cursor })).ids).toHaveLength(40);
    const gaps: unknown[] = [];
    const { ids } = await readAll(node, {
      resume: cursor,
      onGap: (gap: unknown) => gaps.push(gap),
    });
    expect(ids).toHaveLength(40);
    expect(gaps).toEqual([{ subject: 'posts.*', from: 31, to: 60 }]);
  });

  it('reports a gap for messages that were deleted from the middle of the stream', async () => {
    await using node = await startNode();
    await publish(node, 100);
    await manageStreams(node, async manager => {
      for (const seq of [50, 51, 70]) await manager.streams.deleteMessage('posts', seq);
    });
    const gaps: Pick<JetStreamGap, 'from' | 'to'>[] = [];
    const onGap = ({ from, to }: JetStreamGap) => gaps.push({ from, to });
    const { ids } = await readAll(node, { onGap });
    expect(ids).toHaveLength(97);
    expect(gaps).toEqual([
      { from: 50, to: 51 },
      { from: 70, to: 70 },
    ]);
    const error = await readAll(node).catch(thrown => thrown);
    expect(error).toMatchObject({ missing: ['posts.*: sequences 50 to 51'] });
  });

  // If the last message of a subject is deleted, nats-server 2.9.10 reports no last message for the
  // subject. In the past, the run then ended immediately, without posts and without an error.
  it('reads all posts if the last message of the stream was deleted', async () => {
    await using node = await startNode();
    await publish(node, 6000, { create: { ...create, shards: 1 } });
    await manageStreams(node, async manager => {
      const { state } = await manager.streams.info('posts');
      // The last two messages are the message with the posts, and the empty message that ends the
      // subject.
      for (const seq of [state.last_seq, state.last_seq - 1])
        await manager.streams.deleteMessage('posts', seq);
    });
    const gaps: JetStreamGap[] = [];
    const onGap = (gap: JetStreamGap) => gaps.push(gap);
    expect((await readAll(node, { onGap })).ids).toEqual(numberedIds(5999));
    const shard = { index: 1, of: 1 };
    expect((await readAll(node, { onGap, shard })).ids).toEqual(numberedIds(5999));
    expect((await readAll(node, { until: 5999 })).ids).toEqual(numberedIds(5999));
  });

  // A run that fails at a damaged message leaves a cursor before the message. In the past, if that
  // message was then deleted, the next run skipped the rest of the stream.
  it('continues from any cursor after a damaged last message is deleted', async () => {
    await using node = await startNode();
    await publish(node, 6000);
    const { cursor, ids } = await readAll(node, { until: 1485 });
    await manageStreams(node, async manager => {
      const damaged = await manager.jetstream().publish('posts.1', 'not a post');
      await expect(readAll(node, { resume: cursor })).rejects.toThrow(
        `rmm posts ${damaged.seq}\`) and run the same again with \`onGap\``,
      );
      await manager.streams.deleteMessage('posts', damaged.seq);
    });
    const rest = await readAll(node, { resume: cursor, onGap: () => {} });
    expect([...ids, ...rest.ids].toSorted()).toEqual(numberedIds(6000));
  });

  it('reports a gap for messages dropped before a reader without a cursor started', async () => {
    await using node = await startNode();
    await publish(node, 100);
    await manageStreams(node, manager => manager.streams.purge('posts', { seq: 61 }));
    const error = await readAll(node).catch(thrown => thrown);
    expect(error).toBeInstanceOf(IncompleteError);
    expect(error).toMatchObject({ missing: ['posts.*: sequences 1 to 60'] });
    expect((await readAll(node, { resume: error.cursor })).ids).toHaveLength(40);
    const gaps: JetStreamGap[] = [];
    const onGap = (gap: JetStreamGap) => gaps.push(gap);
    expect((await readAll(node, { onGap })).ids).toHaveLength(40);
    expect(gaps).toEqual([{ subject: 'posts.*', from: 1, to: 60 }]);
  });

  it('reports all messages purged from a stream as lost, but no sequence beyond the end of the stream or `until`', async () => {
    await using node = await startNode();
    await publish(node, 100);
    await manageStreams(node, manager => manager.streams.purge('posts'));
    // There were 100 posts, and one message without posts for each of the four subjects.
    await expect(readAll(node)).rejects.toMatchObject({
      missing: ['posts.*: sequences 1 to 104'],
    });
    await expect(readAll(node, { until: 40 })).rejects.toMatchObject({
      missing: ['posts.*: sequences 1 to 40'],
    });
  });

  it("reports a gap for messages that a stream with `discard: 'old'` dropped before a new reader", async () => {
    await using node = await startNode();
    await publish(node, 12_000, { create: { maxBytes: 1 << 20, shards: 4, discard: 'old' } });
    const error = await readAll(node).catch(thrown => thrown);
    expect(error).toBeInstanceOf(IncompleteError);
    expect(error.missing).toEqual([expect.stringMatching(/^posts\.\*: sequences 1 to \d+$/)]);
  });

  it('reports a gap for messages that were dropped while it read too slowly', async () => {
    await using node = await startNode();
    const small = { create: { maxBytes: 1 << 20, shards: 4, discard: 'old' } };
    await publish(node, 3000, small);
    const run = async () => {
      let count = 0;
      for await (const { items } of fromJetStream({ ...to(node), until: 7000 }).batches()) {
        count += items.length;
        if (count === items.length) await publish(node, 12_000, { ...small, name: 'more' });
      }
    };
    await expect(run()).rejects.toThrow(IncompleteError);
  });

  it('rejects a cursor of a stream that was deleted and recreated', async () => {
    await using node = await startNode();
    await publish(node, 100);
    const { cursor } = await readAll(node);
    await manageStreams(node, manager => manager.streams.delete('posts'));
    await publish(node, 200, { name: 'again' });
    const error = await readAll(node, { resume: cursor }).catch(thrown => thrown);
    expect(error).toBeInstanceOf(JetStreamError);
    expect(error).toMatchObject({
      failure: 'stream',
      message: expect.stringContaining('recreated'),
    });
    const publisher = publish(node, 100);
    await expect(publisher).rejects.toMatchObject({ failure: 'stream' });
  });

  it('continues after the server is killed and restarted', async () => {
    await using node = await startNode();
    await publish(node, 3000);
    const ids: string[] = [];
    let restarted: Promise<void> | undefined;
    for await (const { items } of fromJetStream({ ...to(node), until: 3000 }).batches()) {
      ids.push(...items.map(({ id }) => id));
      restarted ??= node
        .kill()
        .then(() => wait(1000))
        .then(() => node.start());
      await wait(10);
    }
    await restarted;
    expect(ids.toSorted()).toEqual(numberedIds(3000));
  });

  it('skips late messages of a publisher after another process has taken over its name', async () => {
    await using node = await startNode();
    await publish(node, 10, { name: 'one' });
    await manageStreams(node, async manager => {
      const late = async (epoch: number, id: string, posts = true) => {
        const { headers } = await import('@nats-io/transport-node');
        const of = headers();
        of.set('Millrace-Publisher', 'two');
        of.set('Millrace-Epoch', String(epoch));
        if (posts) of.set('Millrace-Ids', id);
        const payload = posts ? numberedPosts(Number(id), Number(id) + 1)[0]!.raw : '';
        await manager.jetstream().publish('posts.0', payload, { headers: of });
      };
      await late(1, '100');
      await late(2, '', false);
      await late(1, '101');
      await late(2, '101');
    });
    const { ids, cursor } = await readAll(node);
    expect(ids.slice(10)).toEqual([numberedId(100), numberedId(101)]);
    await manageStreams(node, async manager => {
      const { headers } = await import('@nats-io/transport-node');
      const of = headers();
      of.set('Millrace-Publisher', 'two');
      of.set('Millrace-Epoch', '1');
      await manager.jetstream().publish('posts.0', numberedPosts(5, 6)[0]!.raw, { headers: of });
    });
    // The cursor contains each publisher's epoch, so the message with an earlier epoch is skipped.
    expect((await readAll(node, { resume: cursor })).ids).toEqual([]);
  });
});
