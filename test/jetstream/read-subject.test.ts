import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import fc from 'fast-check';
import { type Cursor, DataError, pipeline } from 'millrace';
import { fromJetStream, toJetStream } from 'millrace/jetstream';
import { describe, expect, it } from 'vitest';
import { HEADERS, shownPosition } from '../../src/jetstream/message.js';
import { readAgain } from '../../src/jetstream/read-subject.js';
import { unchecked } from '../unchecked.js';
import { connecting } from './connecting.js';
import { hasNatsServer, startNode } from './nats-server.js';
import { numberedIds, numberedSource } from './numbered-posts.js';

describe.skipIf(!hasNatsServer)('the reader of a subject', () => {
  it('delivers no cursor after a message that it could not read', async () => {
    await using node = await startNode();
    const to = { connection: connecting(node.url), stream: 'posts', subject: 'posts' };
    const publish = (total: number, name: string) =>
      pipeline(
        numberedSource({ total }),
        toJetStream({ ...to, name, create: { maxBytes: 64 << 20, shards: 1 } }),
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
    expect(ids).toEqual(numberedIds(100));
    const last = (error as DataError & { cursor?: Cursor }).cursor;
    for (const cursor of [...cursors, ...(last === undefined ? [] : [last])])
      expect(cursor.seq).toBeLessThan(seq);
    await manager.streams.deleteMessage('posts', seq);
    await connection.close();
    const again = await read(last);
    expect(again.error).toBeUndefined();
    const delivered = [...ids.slice(0, Number(last?.seq ?? 0)), ...again.ids];
    expect(delivered).toEqual([...numberedIds(100), ...numberedIds(100)]);
  });
});

type Messages = Awaited<ReturnType<typeof readAgain>>;

function replica(positions: readonly number[], publisher = 'one'): Messages {
  return unchecked<Messages>(
    positions.map(position => {
      const headers = new Map<string, string>([
        [HEADERS.publisher, publisher],
        [HEADERS.subjectPosition, shownPosition({ position, acknowledged: 0, series: 1 })],
      ]);
      return {
        subject: 'posts.0',
        seq: position,
        headers: { get: (name: string) => headers.get(name) ?? '' },
      };
    }),
  );
}

describe('messages that one replica has lost', () => {
  it('are read exactly once if another replica has them', async () => {
    const positions = fc.uniqueArray(fc.nat(30));
    await fc.assert(
      fc.asyncProperty(
        fc.array(positions, { minLength: 1, maxLength: 3 }),
        fc.nat(20),
        fc.nat(8),
        async (replicas, from, more) => {
          const lost = [{ publisher: 'one', subject: 'posts.0', from, to: from + more }];
          let reads = 0;
          const found = await readAgain(lost, replicas.length, async function* () {
            yield { messages: replica([from, from + 1], 'another') };
            yield { messages: replica(replicas[reads++ % replicas.length] ?? []) };
          });
          const expected = new Set(replicas.flat().filter(p => p >= from && p <= from + more));
          expect(found.map(({ seq }) => seq).toSorted()).toEqual([...expected].toSorted());
          // The reader stops once it has all messages.
          if (expected.size === more + 1) expect(reads).toBeLessThanOrEqual(replicas.length);
        },
      ),
    );
  });

  it('are read even if they are among messages with damaged headers', async () => {
    const lost = [{ publisher: 'one', subject: 'posts.0', from: 5, to: 5 }];
    const damaged = { subject: 'posts.0', seq: 4, headers: { get: () => 'one' } };
    const found = await readAgain(lost, 1, async function* () {
      yield { messages: [unchecked<Messages[number]>(damaged), ...replica([5])] };
    });
    expect(found.map(({ seq }) => seq)).toEqual([5]);
  });
});
