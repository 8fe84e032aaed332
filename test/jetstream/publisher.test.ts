import fc from 'fast-check';
import { collect, pipeline } from 'millrace';
import { fromJetStream, toJetStream } from 'millrace/jetstream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bySuite } from '../slow-suite.js';
import { hasNatsServer, type NatsNode, startNode } from './nats-server.js';
import { numberedId, numberedSource } from './numbered-posts.js';

const TOTAL = 400;

/** A run that ends before its source does. */
const run = fc.record({
  /** The post at which it is aborted. */
  stopAt: fc.nat(TOTAL),
  /** Whether the server is killed there, too. */
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

describe.skipIf(!hasNatsServer)('a publisher that stops at any post, with any options', () => {
  beforeAll(async () => {
    node = await startNode();
  });
  afterAll(() => node[Symbol.asyncDispose]());

  it('counts each post once in the end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(run, { maxLength: 4 }),
        fc.integer({ min: 1, max: 60 }),
        async (runs, size) => {
          const subject = `posts-${++streams}`;
          const to = { servers: node.url, stream: subject, subject };
          const create = { maxBytes: 4 << 20, shares: 3, duplicateWindowMs: 1000 };
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
      { numRuns: bySuite(12, 100) },
    );
  });
});
