import { setTimeout as wait } from 'node:timers/promises';
import { collect, pipeline } from 'millrace';
import { fromJetStream, toJetStream } from 'millrace/jetstream';
import { describe, expect, it } from 'vitest';
import { Child } from './children.js';
import { connecting } from './connecting.js';
import { hasNatsServer, type NatsNode, startNode } from './nats-server.js';
import { numberedPosts, numberedSource } from './numbered-posts.js';

const create = { maxBytes: 64 << 20, shards: 4, duplicateWindowMs: 1000 };
const to = (node: NatsNode) => ({
  connection: connecting(node.url),
  stream: 'posts',
  subject: 'posts',
});

async function textsIn(node: NatsNode): Promise<string[]> {
  const read = await pipeline(fromJetStream({ ...to(node), until: 'caught up' }), collect());
  return read.map(({ raw }) => raw.toString()).toSorted();
}

const textsTo = (total: number) =>
  numberedPosts(0, total)
    .map(({ raw }) => raw.toString())
    .toSorted();

describe.skipIf(!hasNatsServer)('batches of posts in a JetStream message', () => {
  it.each([undefined, 'gzip' as const])('keep their exact bytes: %s', async compression => {
    await using node = await startNode();
    const published = await pipeline(
      numberedSource({ total: 1000 }),
      toJetStream({ ...to(node), create, batch: { posts: 30, compression } }),
    );
    expect(published.posts).toBe(1000);
    expect(published.messages).toBeLessThan(100);
    expect(await textsIn(node)).toEqual(textsTo(1000));
  });

  it('are sent after `waitMs` if they are not full', async () => {
    await using node = await startNode();
    const stop = new AbortController();
    const run = pipeline(
      numberedSource({
        total: 100,
        size: 10,
        before: from => from > 0 && wait(60_000, undefined, stop),
      }),
      toJetStream({ ...to(node), create, batch: { posts: 1000, waitMs: 20 } }),
      { signal: stop.signal },
    ).catch(() => {});
    const seen: string[] = [];
    const read = async () => {
      for await (const post of fromJetStream(to(node))) if (seen.push(post.id) === 10) break;
    };
    while (seen.length === 0) await read().catch(() => wait(50));
    stop.abort();
    await run;
    expect(seen).toHaveLength(10);
  });

  it('are published exactly once despite kill -9, even if the next run batches the posts differently', async () => {
    await using node = await startNode();
    const options = { ...to(node), create, total: 3000, commitIntervalMs: 600_000, waitMs: 20 };
    const first = new Child('publish-child.ts', { ...options, batch: { posts: 7 }, holdAt: 2000 });
    await first.line('at 1500');
    await first.kill();
    await wait(1200);
    const batch = { posts: 20, compression: 'gzip' };
    const second = new Child('publish-child.ts', { ...options, batch, waitMs: 0 });
    expect(await second.line('done')).toContain('"posts":3000');
    expect(await textsIn(node)).toEqual(textsTo(3000));
  });
});
