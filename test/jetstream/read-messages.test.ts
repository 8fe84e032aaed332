import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { connect, headers, type NatsConnection } from '@nats-io/transport-node';
import { type Activity, type Cursor, IncompleteError } from 'millrace';
import { fromJetStream, type JetStreamGap, toJetStream } from 'millrace/jetstream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JetStreamConnection } from '../../src/jetstream/connection.js';
import { readMessages } from '../../src/jetstream/read-messages.js';
import { unchecked } from '../unchecked.js';
import { type Connecting, connecting } from './connecting.js';
import { hasNatsServer, type NatsNode, startNode } from './nats-server.js';
import { numberedId, numberedPosts, numberedSource } from './numbered-posts.js';

let node: NatsNode;
let connection: NatsConnection;
let manager: JetStreamManager;
let streams = 0;

beforeAll(async () => {
  if (!hasNatsServer) return;
  node = await startNode();
  connection = await connect({ servers: node.url });
  manager = await jetstreamManager(connection);
});
afterAll(async () => {
  await connection?.close();
  await node?.[Symbol.asyncDispose]();
});

async function newStream(): Promise<string> {
  const name = `stream-${++streams}`;
  await manager.streams.add({ name, subjects: [`${name}.0`, `${name}.1`] });
  return name;
}

/**
 * Stores messages in the form in which a publisher sends them. Publishers number their messages on
 * each subject. `position` is the number of a message, and `acknowledged` is a number below which
 * the servers had acknowledged all messages.
 */
async function store(
  stream: string,
  messages: readonly (readonly [post: number, position: number | string, acknowledged: number])[],
  { subject = `${stream}.0`, publisher = 'one' } = {},
): Promise<void> {
  for (const [post, position, acknowledged] of messages) {
    const of = headers();
    of.set('Millrace-Publisher', publisher);
    of.set('Millrace-Epoch', '1');
    of.set('Millrace-Subject-Position', `${position} ${acknowledged} 1`);
    const payload = numberedPosts(post, post + 1)[0]!.raw;
    await manager.jetstream().publish(subject, payload, { headers: of });
  }
}

async function readAll(stream: string, options: object = {}) {
  const ids: string[] = [];
  const cursors: Cursor[] = [];
  const gaps: JetStreamGap[] = [];
  const flow = fromJetStream({
    connection: connecting(node.url),
    stream,
    subject: stream,
    until: 'caught up',
    ...options,
    ...('onGap' in options && { onGap: (gap: JetStreamGap) => gaps.push(gap) }),
  });
  let error: unknown;
  try {
    for await (const { items, cursor } of flow.batches()) {
      ids.push(...(items as Activity[]).map(({ id }) => id));
      if (cursor !== undefined) cursors.push(JSON.parse(JSON.stringify(cursor)));
    }
  } catch (thrown) {
    error = thrown;
  }
  return { ids, gaps, error, cursors };
}

const idsOf = (...numbers: readonly number[]) => numbers.map(numberedId);
const LOST = {
  message: expect.stringMatching(/does not have .* acknowledged these messages and have lost them/),
};

describe.skipIf(!hasNatsServer)('messages that a server has lost or stored twice', () => {
  describe('on two subjects', () => {
    const missingOf = (stream: string) => [
      `${stream}.0: positions 2 to 3 of the publisher one`,
      `${stream}.1: position 1 of the publisher one`,
    ];
    const firstRead = async () => {
      const stream = await newStream();
      await store(stream, [
        [0, 0, 0],
        [1, 1, 1],
        [4, 4, 4],
      ]);
      await store(
        stream,
        [
          [10, 0, 0],
          [12, 2, 2],
        ],
        { subject: `${stream}.1` },
      );
      await store(stream, [[5, 5, 5]]);
      const { error, cursors } = await readAll(stream);
      return { stream, error: error as IncompleteError, cursors };
    };

    it('end the flow with an error that names their subject, publisher and positions', async () => {
      const { stream, error } = await firstRead();
      expect(error).toBeInstanceOf(IncompleteError);
      expect(error).toMatchObject(LOST);
      expect(error.missing).toEqual(missingOf(stream));
      expect(error.code).toBe('ERR_INCOMPLETE');
    });

    it('are skipped by a run that resumes from the cursor of the error', async () => {
      const { stream, error } = await firstRead();
      await store(stream, [[6, 6, 6]]);
      const second = await readAll(stream, { resume: error.cursor as Cursor });
      expect(second).toMatchObject({ error: undefined, ids: idsOf(6) });
    });

    it('are reported again to a run that resumes from an earlier cursor', async () => {
      const { stream, cursors } = await firstRead();
      const again = await readAll(stream, { resume: cursors.at(-1) });
      expect(again.error).toMatchObject({ missing: missingOf(stream) });
    });
  });

  it('are passed to onGap, and are delivered if they arrive later', async () => {
    const stream = await newStream();
    await store(stream, [
      [0, 0, 0],
      [3, 3, 3],
      [2, 2, 0],
      [2, 2, 0],
      [4, 4, 4],
    ]);
    const { ids, gaps, error } = await readAll(stream, { onGap: true });
    expect(error).toBeUndefined();
    expect(ids).toEqual(idsOf(0, 3, 2, 4));
    expect(gaps).toEqual([{ publisher: 'one', subject: `${stream}.0`, from: 1, to: 1 }]);
  });

  it('are skipped if they are repeats, even after resuming from a cursor', async () => {
    const stream = await newStream();
    await store(stream, [
      [0, 0, 0],
      [1, 1, 1],
      [0, 0, 0],
      [2, 2, 2],
    ]);
    const first = await readAll(stream);
    expect(first.ids).toEqual(idsOf(0, 1, 2));
    await store(stream, [
      [1, 1, 1],
      [2, 2, 2],
      [3, 3, 3],
    ]);
    const second = await readAll(stream, { resume: first.cursors.at(-1) });
    expect(second).toMatchObject({ error: undefined, ids: idsOf(3) });
  });

  it('are not reported as lost until a later message says that they were acknowledged', async () => {
    const stream = await newStream();
    await store(stream, [
      [0, 0, 0],
      [2, 2, 1],
    ]);
    const first = await readAll(stream);
    expect(first).toMatchObject({ error: undefined, ids: idsOf(0, 2) });
    await store(stream, [
      [1, 1, 1],
      [3, 3, 2],
    ]);
    const second = await readAll(stream, { resume: first.cursors.at(-1) });
    expect(second).toMatchObject({ error: undefined, ids: idsOf(1, 3) });
  });

  it('are reported even if the sequence of the message that proves the loss is after `until`', async () => {
    const stream = await newStream();
    await store(stream, [
      [0, 0, 0],
      [3, 3, 1],
      [2, 2, 1],
      [4, 4, 4],
    ]);
    const first = await readAll(stream, { until: 2 });
    expect(first.ids).toEqual(idsOf(0, 3));
    expect(first.error).toMatchObject({
      missing: [`${stream}.0: position 1 of the publisher one`],
    });
    const { cursor } = first.error as IncompleteError;
    const second = await readAll(stream, { resume: cursor as Cursor });
    expect(second).toMatchObject({ error: undefined, ids: idsOf(2, 4) });
  });

  it('are not reported if the stream has dropped them after `until`', async () => {
    const stream = await newStream();
    await store(stream, [
      [0, 0, 0],
      [2, 2, 1],
      [1, 1, 1],
      [3, 3, 3],
    ]);
    await manager.streams.deleteMessage(stream, 3);
    const { ids, gaps, error } = await readAll(stream, { until: 2, onGap: true });
    expect({ ids, gaps, error }).toEqual({ ids: idsOf(0, 2), gaps: [], error: undefined });
  });

  it('are not reported again by a reader that starts after the first message', async () => {
    const stream = await newStream();
    await store(stream, [
      [0, 0, 0],
      [1, 1, 1],
      [3, 3, 2],
      [2, 2, 2],
      [4, 4, 4],
    ]);
    await manager.streams.purge(stream, { seq: 4 });
    // Only the deleted sequences are reported, because the positions of their messages are not
    // known.
    expect(await readAll(stream, { onGap: true })).toMatchObject({
      error: undefined,
      ids: idsOf(2, 4),
      gaps: [{ subject: `${stream}.*`, from: 1, to: 3 }],
    });
  });

  it.each<[string, object]>([
    ['a sequence that is text', { seq: '1' }],
    ['no positions', { positions: undefined }],
    [
      'positions of another shape',
      { positions: { isWhole: true, followed: { 'one x.0': [1, 2] } } },
    ],
    ['epochs of another shape', { epochs: { 'one x.0': 'x' } }],
  ])('cause an OptionError if they were recorded in a damaged cursor: %s', async (_, damage) => {
    const stream = await newStream();
    await store(stream, [[0, 0, 0]]);
    const { cursors } = await readAll(stream);
    const { error } = await readAll(stream, { resume: { ...cursors[0], ...damage } });
    expect(error).toMatchObject({
      option: 'resume',
      message: expect.stringMatching(/damaged.* to start again$/),
    });
  });

  it('end the flow if a header is damaged', async () => {
    const stream = await newStream();
    await store(stream, [[0, 0.5, 0]]);
    expect((await readAll(stream)).error).toMatchObject({
      code: 'ERR_DATA',
      message: expect.stringContaining('Millrace-Subject-Position "0.5 0 1"'),
    });
  });

  it('are reported even if a message after `until` has a damaged header', async () => {
    const stream = await newStream();
    await store(stream, [
      [0, 0, 0],
      [3, 3, 1],
      [2, 'one', 1],
      [2, 2, 1],
      [4, 4, 4],
    ]);
    const { error } = await readAll(stream, { until: 2 });
    expect(error).toMatchObject({ missing: [`${stream}.0: position 1 of the publisher one`] });
    // The error names the missing message. It comes only after all earlier messages were read.
    expect((await readAll(stream, { until: 3 })).error).toMatchObject({
      message: expect.stringContaining(`sequence 3 of the subject ${stream}.0`),
    });
  });

  it('are reported at the end of a stream, to every shard as well', async () => {
    const stream = 'ended';
    const options = { connection: connecting(node.url), stream, subject: stream };
    await pipelineTo(options, 40);
    // Copies the stream without one message. This simulates a server that loses the message: later
    // messages get lower sequences, and there is no gap.
    const copy = await newStream();
    const { last_seq } = (await manager.streams.info(stream)).state;
    const last = new Map<string, number>();
    for (let seq = 1; seq <= last_seq; seq++) {
      const message = await manager.streams.getMessage(stream, { seq });
      if (message!.header.get('Millrace-Ids') !== '') last.set(message!.subject, seq);
    }
    for (let seq = 1; seq <= last_seq; seq++) {
      const message = await manager.streams.getMessage(stream, { seq });
      if ([...last.values()].includes(seq)) continue;
      const subject = message!.subject.replace(stream, copy);
      message!.header.delete('Nats-Expected-Stream');
      await manager.jetstream().publish(subject, message!.data, { headers: message!.header });
    }
    const shards = [1, 2].map(index => readAll(copy, { shard: { index, of: 2 }, onGap: true }));
    const [one, two] = await Promise.all(shards);
    expect([...one!.ids, ...two!.ids]).toHaveLength(38);
    expect([one!.gaps, two!.gaps]).toMatchObject([
      [{ subject: `${copy}.0`, publisher: stream }],
      [{ subject: `${copy}.1`, publisher: stream }],
    ]);
  });
});

async function pipelineTo(
  options: { connection: Connecting; stream: string; subject: string },
  total: number,
): Promise<void> {
  const create = { maxBytes: 1 << 20, shards: 2 };
  await toJetStream<Activity>({ ...options, create })(numberedSource({ total }));
}

it('fromJetStream requests messages above 4 MiB one at a time', async () => {
  const requested: number[] = [];
  const data = new Uint8Array(5 << 20);
  const consumer = {
    delete: async () => true,
    fetch: async ({ max_messages }: { readonly max_messages: number }) => {
      const seq = requested.push(max_messages);
      return {
        async *[Symbol.asyncIterator]() {
          yield { seq, data, info: { deliverySequence: seq, streamSequence: seq, pending: 1 } };
        },
        getPending: () => 0,
        stop: () => {},
      };
    },
  };
  const state = { first_seq: 1, last_seq: 3, num_deleted: 0 };
  const fake = unchecked<JetStreamConnection>({
    signal: new AbortController().signal,
    maxOutageMs: 60_000,
    repeat: (_: string, call: () => unknown) => call(),
    denial: () => undefined,
    streamInfo: async () => ({ created: 'then', state }),
    packages: { jetstream: { AckPolicy: {}, DeliverPolicy: {} } },
    manager: {
      streams: { getMessage: async () => ({ seq: 1 }) },
      consumers: { add: async () => ({}) },
    },
    client: { consumers: { getConsumerFromInfo: () => consumer } },
  });
  const stream = { name: 'posts', created: 'then' };
  const options = { stream, subject: 'posts.0', after: 0, until: 3 };
  const positions: number[] = [];
  for await (const { position } of readMessages(fake, options)) positions.push(position);
  expect(positions).toEqual([1, 2, 3]);
  expect(requested).toEqual([16, 1, 1]);
});
