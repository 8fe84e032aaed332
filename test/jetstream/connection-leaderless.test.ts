import { jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { describe, expect, it } from 'vitest';
import { pipeline } from '../../src/flow/pipeline.js';
import { fromJetStream } from '../../src/jetstream/from-jet-stream.js';
import { collect } from '../../src/sinks/collect.js';
import { connecting } from './connecting.js';
import { hasNatsServer, type NatsNode, startNode } from './nats-server.js';

const CREATED = '2024-01-01T00:00:00Z';
const NOT_FOUND = { error: { code: 404, err_code: 10059, description: 'stream not found' } };

// Concurrent tests must use the `expect` of their own context. The global `expect` belongs to the
// test that has started last.
describe.skipIf(!hasNatsServer).concurrent('a JetStream stream without a leader', () => {
  it('is queried again until its leader answers, because other servers answer with outdated state', async () => {
    // This node has no JetStream. The test itself answers the API requests.
    await using node = await startNode({ jetstream: 'enabled: false' });
    // Creates the answer of a node that is not the leader. It reports an outdated end of the
    // stream.
    const late = (leader?: string) =>
      streamInfo({ last_seq: 50 }, { name: 'test', ...(leader !== undefined && { leader }) });
    const answers = [late(), late(''), streamInfo()];
    const [server, asked] = await answering(node, n => answers[Math.min(n, 3) - 1]);
    const flow = fromJetStream({
      connection: connecting(node.url),
      stream: 'posts',
      subject: 'posts',
      until: 'caught up',
      maxOutageMs: 60_000,
    });
    expect(await pipeline(flow, collect())).toEqual([]);
    expect(asked()).toBe(3);
    await server.close();
  });

  // Found by `npm run faults -- jetstream`, all-kills, seeds 14 and 16.
  it('is queried again if one server of the cluster does not know it yet', async () => {
    const cluster = 'cluster { name: test, listen: "127.0.0.1:-1" }';
    await using node = await startNode({ jetstream: 'enabled: false', config: cluster });
    const [server, asked] = await answering(node, n => (n <= 3 ? NOT_FOUND : streamInfo()));
    const options = { connection: connecting(node.url), stream: 'posts', subject: 'posts' };
    const flow = fromJetStream({ ...options, until: 'caught up' });
    expect(await pipeline(flow, collect())).toEqual([]);
    expect(asked()).toBe(4);
    await server.close();
  });

  it.for([
    ['fails the reader if the leader confirms it', Number.POSITIVE_INFINITY],
    ['lets the reader continue once the leader has the messages', 5],
  ] as const)(
    'whose last sequence is lower than the cursor of a reader %s',
    async ([, knownAfter], { expect }) => {
      await using node = await startNode({ jetstream: 'enabled: false' });
      const [server, asked] = await answering(node, n =>
        streamInfo({ last_seq: n > knownAfter ? 50 : 40 }),
      );
      server.subscribe('$JS.API.STREAM.MSG.GET.posts', {
        callback(_error, message) {
          message.respond(JSON.stringify({ error: { code: 404, err_code: 10037 } }));
        },
      });
      await server.flush();
      const resume = {
        source: 'jetstream',
        stream: 'posts',
        created: CREATED,
        seq: 50,
        subject: 'posts.*',
        epochs: {},
        positions: { isWhole: true, followed: {} },
      };
      const stop = new AbortController();
      const flow = fromJetStream({
        connection: connecting(node.url),
        stream: 'posts',
        subject: 'posts',
        until: 60,
        resume,
        maxOutageMs: knownAfter === 5 ? 60_000 : 300,
      });
      const run = pipeline(flow, collect(), { signal: stop.signal });
      const ended = expect(run).rejects.toMatchObject(
        knownAfter === 5
          ? { message: 'enough' }
          : { failure: 'stream', message: expect.stringContaining('already read up to 50') },
      );
      if (knownAfter === 5) {
        await expect.poll(asked).toBeGreaterThan(6);
        stop.abort(new Error('enough'));
      }
      await ended;
      await server.close();
    },
  );
});

describe
  .skipIf(!hasNatsServer)
  .concurrent('a NATS server cut off from the servers with the stream', () => {
    // Found by `npm run faults -- jetstream`, partition, seeds 20 and 25.
    it('is left for another server of the list', async ({ expect }) => {
      await using alone = await startNode({ jetstream: 'enabled: false' });
      await using other = await startNode();
      await other.stop();
      const flow = fromJetStream({
        connection: connecting([alone.url, other.url]),
        stream: 'posts',
        subject: 'posts',
        until: 'caught up',
        maxOutageMs: 60_000,
      });
      const waits: unknown[] = [];
      const running = pipeline(flow, collect(), { progress: ({ wait }) => waits.push(wait) });
      await expect.poll(() => waits.length).toBeGreaterThan(0);
      await other.start();
      const server = await connect({ servers: other.url });
      const manager = await jetstreamManager(server);
      await manager.streams.add({ name: 'posts', subjects: ['posts.0'] });
      expect(await running).toEqual([]);
      await server.close();
    });

    // Found by `npm run faults -- jetstream`, partition, seed 408.
    it('is left for another server even if it answers that the stream does not exist', async ({
      expect,
    }) => {
      const cluster = (name: string) => `cluster { name: ${name}, listen: "127.0.0.1:-1" }`;
      const jetstream = 'enabled: false';
      await using alone = await startNode({ jetstream, config: cluster('alone') });
      await using other = await startNode({ jetstream, config: cluster('other') });
      await other.stop();
      let answer = () => {};
      const answers = new Promise<void>(resolve => {
        answer = resolve;
      });
      const [server, asked] = await answering(alone, () => NOT_FOUND, answers);
      const running = pipeline(
        fromJetStream({
          connection: connecting([alone.url, other.url]),
          stream: 'posts',
          subject: 'posts',
          until: 'caught up',
        }),
        collect(),
      );
      await expect.poll(asked).toBeGreaterThan(0);
      await other.start();
      const [otherServer] = await answering(other, () => streamInfo());
      answer();
      expect(await running).toEqual([]);
      await Promise.all([server.close(), otherServer.close()]);
    });
  });

/**
 * Answers JetStream API requests for a server without JetStream, and counts the requests.
 *
 * @param answer - Called with the position of the request, starting at 1.
 * @param begun - No request is answered before this promise resolves.
 */
async function answering(
  { url }: NatsNode,
  answer: (asked: number) => object | undefined,
  begun: Promise<unknown> = Promise.resolve(),
): Promise<readonly [server: NatsConnection, asked: () => number]> {
  const server = await connect({ servers: url });
  let asked = 0;
  server.subscribe('$JS.API.STREAM.INFO.posts', {
    callback(_error, message) {
      const text = JSON.stringify(answer(++asked));
      begun.then(() => message.respond(text));
    },
  });
  await server.flush();
  return [server, () => asked];
}

function streamInfo(state: object = {}, cluster: object = { name: 'test', leader: 'n1' }): object {
  return {
    config: { name: 'posts', subjects: ['posts.0'], retention: 'limits', num_replicas: 3 },
    created: CREATED,
    state: { messages: 0, first_seq: 1, last_seq: 0, num_deleted: 0, ...state },
    cluster,
  };
}
