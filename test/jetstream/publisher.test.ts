import { setTimeout as wait } from 'node:timers/promises';
import fc from 'fast-check';
import { collect, Flow, pipeline } from 'millrace';
import { fromJetStream, toJetStream } from 'millrace/jetstream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bySuite } from '../suite.js';
import { connecting } from './connecting.js';
import { HeldAcks } from './held-acks.js';
import { manageStreams } from './manage-streams.js';
import { hasNatsServer, type NatsNode, startNode } from './nats-server.js';
import { numberedId, numberedPosts, numberedSource } from './numbered-posts.js';

const TOTAL = 400;

const run = fc.record({
  stopAt: fc.nat(TOTAL),
  /** Whether the server is killed at `stopAt`. */
  kills: fc.boolean(),
  commitIntervalMs: fc.constantFrom(0, 600_000),
  maxInFlight: fc.integer({ min: 1, max: 300 }),
  batch: fc.option(
    fc.record({
      posts: fc.integer({ min: 1, max: 40 }),
      compression: fc.constantFrom(undefined, 'gzip' as const),
    }),
    { nil: undefined },
  ),
});

let node: NatsNode;
let streams = 0;

describe.skipIf(!hasNatsServer)(
  'toJetStream, stopped at any post and run again with any options,',
  () => {
    beforeAll(async () => {
      node = await startNode();
    });
    afterAll(() => node[Symbol.asyncDispose]());

    it('publishes each post exactly once', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(run, { maxLength: 4 }),
          fc.integer({ min: 1, max: 60 }),
          async (runs, size) => {
            const subject = `posts-${++streams}`;
            const to = { connection: connecting(node.url), stream: subject, subject };
            const create = { maxBytes: 4 << 20, shards: 3, duplicateWindowMs: 1000 };
            for (const { stopAt, kills, ...options } of runs) {
              const stop = new AbortController();
              const before = async (from: number) => {
                if (from < stopAt) return;
                if (kills) await node.kill();
                stop.abort(new Error('stopped'));
              };
              const sink = toJetStream({ ...to, create, ...options });
              await pipeline(numberedSource({ total: TOTAL, size, before }), sink, {
                signal: stop.signal,
              }).catch(error => expect(error).toMatchObject({ message: 'stopped' }));
              await node.start();
            }
            const { posts } = await pipeline(
              numberedSource({ total: TOTAL, size }),
              toJetStream({ ...to, create }),
            );
            expect(posts).toBe(TOTAL);
            const read = await pipeline(fromJetStream({ ...to, until: 'caught up' }), collect());
            expect(read.map(({ id }) => id).toSorted()).toEqual(
              Array.from({ length: TOTAL }, (_, number) => numberedId(number)),
            );
          },
        ),
        { numRuns: bySuite(3, 100) },
      );
    });

    it('counts the bytes of all messages, even if they were not acknowledged when the commit began', async () => {
      const subject = `posts-${++streams}`;
      const to = { connection: connecting(node.url), stream: subject, subject };
      const sink = toJetStream({ ...to, create: { maxBytes: 4 << 20 }, commitIntervalMs: 0 });
      const stop = new AbortController();
      const source = (end: () => unknown) =>
        numberedSource({ total: 100, size: 50, before: from => from === 50 && end() });
      const stopped = pipeline(
        source(async () => {
          await committed(subject, 50);
          stop.abort(new Error('stopped'));
        }),
        sink,
        { signal: stop.signal },
      );
      await expect(stopped).rejects.toThrow('stopped');
      const posts = numberedPosts(0, 100);
      const bytes = posts.reduce((sum, { raw }) => sum + raw.length, 0);
      const result = await pipeline(
        source(() => {}),
        sink,
      );
      expect(result).toEqual({ posts: 100, messages: 100, bytes });
    });

    it('recognizes the message that was acknowledged while a commit waited for the previous one', async () => {
      const subject = `posts-${++streams}`;
      const to = { connection: connecting(node.url), stream: subject, subject };
      const create = { maxBytes: 4 << 20, shards: 1, duplicateWindowMs: 1000 };
      const options = { ...to, create, commitIntervalMs: 0 };
      const stop = new AbortController();
      {
        await using acks = await HeldAcks.start(node.port, subject, 1);
        const running = pipeline(
          twoPosts(async () => {
            // The cursor after the first post is committed only after the acknowledgement of that
            // post has arrived.
            await acks.laterPassed;
            acks.release();
            await committed(subject, 1);
            // After this, nothing that the publisher sends reaches the server, as if the publisher
            // were killed.
            await acks[Symbol.asyncDispose]();
            stop.abort(new Error('killed'));
          }),
          toJetStream({ ...options, connection: connecting(acks.url) }),
          { signal: stop.signal },
        );
        await expect(running).rejects.toThrow('killed');
      }
      // After this wait, the servers have forgotten the id of the second message, so they would not
      // drop a duplicate.
      await wait(1500);
      await pipeline(
        twoPosts(() => {}),
        toJetStream(options),
      );
      const read = await pipeline(fromJetStream({ ...to, until: 'caught up' }), collect());
      expect(read.map(({ id }) => id)).toEqual([numberedId(0), numberedId(1)]);
    });
  },
);

/**
 * Delivers two posts. The cursor after the second post is delivered only after `sent` has resolved.
 */
function twoPosts(sent: () => unknown) {
  return new Flow(
    async function* ({ resume }) {
      if (resume === undefined) yield { items: numberedPosts(0, 1), cursor: { at: 1 } };
      yield { items: numberedPosts(1, 2) };
      await sent();
      yield { items: [], cursor: { at: 2 } };
    },
    undefined,
    [{ step: 'two posts' }],
  );
}

async function committed(subject: string, at: number): Promise<void> {
  await manageStreams(node, async ({ streams }) => {
    while (true) {
      const entry = await streams.getMessage('KV_millrace', {
        last_by_subj: `$KV.millrace.${subject}`,
      });
      if (entry?.json<{ cursor: { at: number } | null }>().cursor?.at === at) return;
      await wait(5);
    }
  });
}
