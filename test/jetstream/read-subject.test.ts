import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { type Cursor, DataError, pipeline } from 'millrace';
import { fromJetStream, toJetStream } from 'millrace/jetstream';
import { describe, expect, it } from 'vitest';
import { hasNatsServer, startNode } from './nats-server.js';
import { numberedId, numberedSource } from './numbered-posts.js';

const idsTo = (total: number) => Array.from({ length: total }, (_, number) => numberedId(number));

describe.skipIf(!hasNatsServer)('the reader of a subject', () => {
  it('gives no cursor that is behind a message it could not read, nor one of the messages that came with it', async () => {
    await using node = await startNode();
    const to = { servers: node.url, stream: 'posts', subject: 'posts' };
    const publish = (total: number, name: string) =>
      pipeline(
        numberedSource({ total }),
        toJetStream({ ...to, name, create: { maxBytes: 64 << 20, shares: 1 } }),
      );
    await publish(100, 'before');
    const connection = await connect({ servers: node.url });
    const manager = await jetstreamManager(connection);
    const { seq } = await manager.jetstream().publish('posts.0', 'not a post');
    await publish(100, 'behind');
    const read = async (resume?: Cursor) => {
      const ids: string[] = [];
      const cursors: Cursor[] = [];
      let error: unknown;
      const flow = fromJetStream({ ...to, until: 'caught up', onGap: () => {}, resume });
      try {
        for await (const { items, cursor } of flow.batches()) {
          ids.push(...items.map(({ id }) => id));
          if (cursor !== undefined) cursors.push(JSON.parse(JSON.stringify(cursor)));
        }
      } catch (thrown) {
        error = thrown;
      }
      return { ids, cursors, error };
    };
    const { ids, cursors, error } = await read();
    expect(error).toBeInstanceOf(DataError);
    expect(ids).toEqual(idsTo(100));
    const last = (error as DataError & { cursor?: Cursor }).cursor;
    for (const cursor of [...cursors, ...(last === undefined ? [] : [last])])
      expect(cursor.seq).toBeLessThan(seq);
    await manager.streams.deleteMessage('posts', seq);
    await connection.close();
    const again = await read(last);
    expect(again.error).toBeUndefined();
    const delivered = [...ids.slice(0, Number(last?.seq ?? 0)), ...again.ids];
    expect(delivered).toEqual([...idsTo(100), ...idsTo(100)]);
  });
});
