import { setTimeout as wait } from 'node:timers/promises';
import { type Activity, collect, pipeline } from 'millrace';
import { fromJetStream, type ToJetStreamOptions, toJetStream } from 'millrace/jetstream';
import { describe, expect, it } from 'vitest';
import { blocksOf, pageNamed } from '../pages.js';
import { connecting } from './connecting.js';
import { hasNatsServer, type NatsNode, startNode } from './nats-server.js';
import { numberedSource } from './numbered-posts.js';

function pageConfig(): string {
  const [config] = blocksOf(pageNamed('src/jetstream/README.md'), 'text');
  if (config === undefined) throw new Error('The page has no permissions');
  return config.replaceAll(/\$\w+_PASSWORD/g, 's3cret');
}

const stream = { stream: 'posts', subject: 'posts' };
const as = (node: NatsNode, user: 'publisher' | 'reader') =>
  connecting(node.url, { user, pass: 's3cret' });

/** Publishes in two runs. The second run reads the state that the first run has stored. */
async function publishTwice(publisher: ToJetStreamOptions<Activity>): Promise<void> {
  const to = { ...publisher, create: { maxBytes: 64 << 20, shards: 2 } };
  const before = async (from: number) => {
    if (from < 300) return;
    // The run fails after some messages are acknowledged, but before their cursor is committed.
    await wait(200);
    throw new Error('cut');
  };
  const cut = pipeline(
    numberedSource({ total: 500, before }),
    toJetStream({ ...to, commitIntervalMs: 60_000 }),
  );
  const error = await cut.catch(thrown => thrown);
  if (error.message !== 'cut') throw error;
  await pipeline(numberedSource({ total: 500 }), toJetStream(to));
}

describe.skipIf(!hasNatsServer)('the NATS permissions in the README', () => {
  it('are sufficient for publishers and readers', async () => {
    await using node = await startNode({ config: pageConfig() });
    const publisher = { ...stream, connection: as(node, 'publisher') };
    await publishTwice(publisher);
    const reader = { ...stream, connection: as(node, 'reader') };
    for (const shard of [undefined, { index: 1, of: 2 }]) {
      const read = fromJetStream({ ...reader, shard, until: 'caught up' });
      expect((await pipeline(read, collect())).length).toBeGreaterThan(shard ? 100 : 499);
    }
  });

  it.each([
    ...['posts.*', '$JS.API.STREAM.INFO.posts', '$JS.API.STREAM.CREATE.posts'],
    ...['$JS.API.STREAM.MSG.GET.posts', '$JS.API.CONSUMER.CREATE.posts'],
    ...['$JS.API.CONSUMER.MSG.NEXT.posts.*', '$JS.API.INFO', '$JS.API.STREAM.INFO.KV_millrace'],
    ...['$JS.API.STREAM.CREATE.KV_millrace', '$JS.API.STREAM.MSG.GET.KV_millrace'],
    '$KV.millrace.>',
  ])(
    'are each necessary for a publisher, whose error names the missing one: %s',
    async permission => {
      const named = pageConfig().replace(`"${permission}"`, '');
      await using node = await startNode({ config: named });
      const publisher = { ...stream, connection: as(node, 'publisher') };
      const error = await publishTwice(publisher).catch(thrown => thrown);
      expect(error).toMatchObject({
        failure: 'refused',
        message: expect.stringContaining(permission.replace(/[*>]$/, '')),
      });
    },
  );

  it.each(['$JS.API.CONSUMER.MSG.NEXT.posts.*', '$JS.API.STREAM.INFO.posts'])(
    'end a reader that shares a connection with an error if one is missing: %s',
    async permission => {
      await using writable = await startNode({ config: pageConfig() });
      const publisher = toJetStream<Activity>({
        ...stream,
        connection: as(writable, 'publisher'),
        create: { maxBytes: 64 << 20, shards: 2 },
      });
      await pipeline(numberedSource({ total: 20 }), publisher);
      await writable.stop();
      const config = pageConfig().replaceAll(`"${permission}"`, '');
      await using node = await startNode({ config, store: writable.store });
      const connection = await as(node, 'reader')();
      const read = fromJetStream({ ...stream, connection, until: 'caught up' });
      const error = await pipeline(read, collect()).catch(thrown => thrown);
      expect(error).toMatchObject({
        failure: 'refused',
        message: expect.stringContaining(permission.replace(/[*>]$/, '')),
      });
      expect(connection.isClosed()).toBe(false);
      await connection.close();
    },
  );

  it('are the same for a JetStream domain on its own servers', async () => {
    await using node = await startNode({ config: pageConfig(), jetstream: 'domain: hub' });
    const to = { ...stream, domain: 'hub' };
    await publishTwice({ ...to, connection: as(node, 'publisher') });
    const connection = as(node, 'reader');
    const read = fromJetStream({ ...to, connection, until: 'caught up' });
    expect((await pipeline(read, collect())).length).toBe(500);
  });

  it('do not let a reader publish', async () => {
    await using node = await startNode({ config: pageConfig() });
    const reader = { ...stream, connection: as(node, 'reader') };
    const create = { maxBytes: 64 << 20, shards: 2 };
    const run = pipeline(numberedSource({ total: 5 }), toJetStream({ ...reader, create }));
    await expect(run).rejects.toMatchObject({ failure: 'refused' });
  });
});
