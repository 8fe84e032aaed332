import { readFile } from 'node:fs/promises';
import path from 'node:path';
import * as zlib from 'node:zlib';
import { jetstreamManager } from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import { connect, headers } from '@nats-io/transport-node';
import { collect, DataError, files, pipeline } from 'millrace';
import { fromJetStream, type JetStreamGap, toJetStream } from 'millrace/jetstream';
import { describe, expect, it, vi } from 'vitest';
import { temporaryFolder } from '../temporary-folder.js';
import { connecting } from './connecting.js';
import { manageStreams } from './manage-streams.js';
import { hasNatsServer, startNode } from './nats-server.js';
import { numberedId, numberedPosts, numberedSource } from './numbered-posts.js';

const post = () => numberedPosts(900, 901)[0]!.raw;

const MESSAGES: readonly (readonly [what: string, Uint8Array, Record<string, string>])[] = [
  ['that is not JSON', Buffer.from('garbage'), {}],
  ['that is truncated', post().subarray(0, -1), {}],
  ['without an id', Buffer.from('{"text":"no id"}'), {}],
  ['with two posts', Buffer.from('{"id_str":"1","text":"a"}\n{"id_str":"2","text":"b"}'), {}],
  ['that is truncated after a bracket', Buffer.from('{"id_str":"1","id":1,"user":{"id":3}'), {}],
  [
    'with damaged gzip',
    zlib.gzipSync(post()).subarray(0, -9),
    { 'Millrace-Lengths': `${post().length}`, 'Millrace-Encoding': 'gzip' },
  ],
  ['with the wrong lengths in its header', post(), { 'Millrace-Lengths': '1,2' }],
  ['with an epoch that is text', post(), { 'Millrace-Publisher': 'x', 'Millrace-Epoch': 'one' }],
  ['with a position that is text', post(), { 'Millrace-Subject-Position': 'one' }],
];

describe.skipIf(!hasNatsServer)('a JetStream message', () => {
  it.each(MESSAGES)(
    '%s ends its reader with an error until the message is deleted',
    async (_, payload, fields) => {
      await using node = await startNode();
      const to = { connection: connecting(node.url), stream: 'posts', subject: 'posts' };
      const publish = (total: number, name: string) => {
        const create = { maxBytes: 64 << 20, shards: 2 };
        return pipeline(numberedSource({ total }), toJetStream({ ...to, create, name }));
      };
      await publish(100, 'before');
      const connection = await connect({ servers: node.url });
      const manager = await jetstreamManager(connection);
      const all = headers();
      for (const [name, value] of Object.entries(fields)) all.set(name, value);
      const { seq } = await manager.jetstream().publish('posts.1', payload, { headers: all });
      await publish(200, 'behind');
      const folder = await temporaryFolder();
      const file = path.join(folder, 'out.jsonl');
      const gaps: JetStreamGap[] = [];
      const read = () =>
        pipeline(
          fromJetStream({ ...to, until: 'caught up', onGap: gap => gaps.push(gap) }),
          files({ path: file, checkpoint: path.join(folder, 'checkpoint.json') }),
        );
      const seen: string[] = [];
      const deliver = async () => {
        for await (const { id } of fromJetStream({ ...to, until: 'caught up' })) seen.push(id);
      };
      const delivered = await deliver().catch(thrown => thrown);
      expect(delivered).toBeInstanceOf(DataError);
      expect(seen).toHaveLength(100);
      const error = await read().catch(thrown => thrown);
      expect(error).toBeInstanceOf(DataError);
      expect(error.message).toContain(
        `(in sequence ${seq} of the subject posts.1 of the stream posts). Delete the message (\`nats stream rmm posts ${seq}\`)`,
      );
      expect(error.position.origin).toContain(`sequence ${seq}`);
      await manager.streams.deleteMessage('posts', seq);
      await connection.close();
      await read();
      const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
      const expected = [...numberedPosts(0, 100), ...numberedPosts(0, 200)].map(({ id }) => id);
      expect(lines.map(line => /"id":(\d+)/.exec(line)?.[1]).toSorted()).toEqual(
        expected.toSorted(),
      );
      expect(gaps).toEqual([{ subject: 'posts.*', from: seq, to: seq }]);
    },
  );

  it.skipIf('zstdDecompress' in zlib)(
    'of zstd ends its reader with advice to use a newer Node, if Node has no zstd',
    async () => {
      const fields = { 'Millrace-Lengths': '20', 'Millrace-Encoding': 'zstd' };
      const { message, position } = await errorOf(fields);
      expect(position).toEqual({ origin: 'sequence 1 of the subject posts.0 of the stream posts' });
      expect(message).toMatch(/Node reads from version 22.15 on.* Run the same with a newer Node/);
      expect(message).not.toContain('rmm');
    },
  );

  it('for which the `item` function throws ends its reader without advice to delete the message', async () => {
    const item = () => {
      throw new DataError('No temperature');
    };
    const { message } = await errorOf({}, item);
    expect(message).toBe(
      'No temperature (in sequence 1 of the subject posts.0 of the stream posts)',
    );
  });

  it("that its own publisher cannot read fails the publisher until the message and the publisher's entry are deleted", async () => {
    await using node = await startNode();
    const to = { connection: connecting(node.url), stream: 'posts', subject: 'posts', name: 'one' };
    const create = { maxBytes: 64 << 20, shards: 2 };
    const run = (before?: (from: number) => void) =>
      pipeline(
        numberedSource({ total: 200, ...(before && { before }) }),
        toJetStream({ ...to, create, commitIntervalMs: 600_000 }),
      );
    const stopped = run(from => {
      if (from === 100) throw new Error('stopped');
    });
    await expect(stopped).rejects.toThrow('stopped');
    const connection = await connect({ servers: node.url });
    const manager = await jetstreamManager(connection);
    const all = headers();
    all.set('Millrace-Publisher', 'one');
    all.set('Millrace-Epoch', 'one');
    const { seq } = await manager.jetstream().publish('posts.1', post(), { headers: all });
    const error = await run().catch(thrown => thrown);
    expect(error).toBeInstanceOf(DataError);
    expect(error.message).toContain(`(in sequence ${seq} of the subject posts.1`);
    expect(error.message).toMatch(
      / Delete the message .*rmm posts \d+.* and the entry of the publisher one to/,
    );
    await manager.streams.deleteMessage('posts', seq);
    const bucket = await new Kvm(connection).open('millrace');
    await bucket.delete('one');
    await connection.close();
    expect(await run()).toMatchObject({ posts: 200 });
  });

  it('at the position where a publisher expected its own message is named in the error', async () => {
    await using node = await startNode();
    const to = { connection: connecting(node.url), stream: 'posts', subject: 'posts' };
    const create = { maxBytes: 64 << 20, shards: 1 };
    const run = (total: number, before: (from: number) => Promise<void>) =>
      pipeline(
        numberedSource({ total, before }),
        toJetStream({ ...to, create, name: 'one', commitIntervalMs: 0 }),
      );
    const connection = await connect({ servers: node.url });
    const manager = await jetstreamManager(connection);
    let seq = 0;
    const insert = async (from: number) => {
      if (from !== 100) return;
      await vi.waitFor(async () => {
        const { state } = await manager.streams.info('posts');
        expect(state.last_seq).toBeGreaterThan(1);
        // Sequence 1 only starts the publisher's epoch, so the first post is in sequence 2.
        const first = await manager.streams.getMessage('posts', { seq: 2 });
        const firstId = first?.header.get('Nats-Msg-Id') ?? '';
        const msgID = firstId.replace(/[^.]*$/, numberedId(150));
        const all = headers();
        all.set('Millrace-Publisher', 'one');
        all.set('Millrace-Epoch', 'one');
        ({ seq } = await manager.jetstream().publish('posts.0', post(), { msgID, headers: all }));
      }, 60_000);
    };
    const error = await run(200, insert).catch(thrown => thrown);
    expect(error).toBeInstanceOf(DataError);
    expect(error.message).toContain(`(in sequence ${seq} of the subject posts.0`);
    await manager.streams.deleteMessage('posts', seq);
    const bucket = await new Kvm(connection).open('millrace');
    await bucket.delete('one');
    await connection.close();
    expect(await run(200, async () => {})).toMatchObject({ posts: 200 });
  });

  it('with damaged headers ends its reader with advice to delete the message, even with `item`', async () => {
    const { message } = await errorOf({ 'Millrace-Lengths': '1,2' }, String);
    expect(message).toContain('rmm posts 1');
  });
});

async function errorOf(
  fields: Record<string, string>,
  item?: (payload: Buffer) => unknown,
): Promise<DataError> {
  await using node = await startNode();
  const all = headers();
  for (const [name, value] of Object.entries(fields)) all.set(name, value);
  await manageStreams(node, async manager => {
    await manager.streams.add({ name: 'posts', subjects: ['posts.0'] });
    await manager.jetstream().publish('posts.0', post(), { headers: all });
  });
  const to = { connection: connecting(node.url), stream: 'posts', subject: 'posts' };
  const read = pipeline(fromJetStream({ ...to, until: 'caught up', item }), collect());
  const error = await read.catch(thrown => thrown);
  expect(error).toBeInstanceOf(DataError);
  return error;
}
