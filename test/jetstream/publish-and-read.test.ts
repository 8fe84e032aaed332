import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Kvm } from '@nats-io/kv';
import { connect } from '@nats-io/transport-node';
import { Activity, type CommitMessage, collect, Flow, pipeline } from 'millrace';
import { fromJetStream, toJetStream } from 'millrace/jetstream';
import { describe, expect, it } from 'vitest';
import { connecting } from './connecting.js';
import { hasNatsServer, startNode } from './nats-server.js';

const MAX_BYTES = 64 << 20;

function posts(from: number, to: number): Activity[] {
  return Array.from(
    { length: to - from },
    (_, index) =>
      new Activity(
        Buffer.from(
          `{"created_at":"Wed Jan 31 23:59:00 +0000 2024","id":${10n ** 18n + BigInt(from + index)},"text":"é ${from + index}"}`,
        ),
      ),
  );
}

function source(total: number, size = 50): Flow<Activity> {
  return new Flow(
    async function* ({ resume }) {
      for (let at = Number(resume?.at ?? 0); at < total; at += size) {
        const to = Math.min(total, at + size);
        yield { items: posts(at, to), cursor: { at: to } };
      }
    },
    undefined,
    [{ step: 'numbers', total }],
  );
}

describe.skipIf(!hasNatsServer)('posts sent through a stream', () => {
  it('arrive exactly once, with their exact bytes', async () => {
    await using node = await startNode();
    const to = { connection: connecting(node.url), stream: 'posts', subject: 'posts' };
    const published = await pipeline(
      source(1000),
      toJetStream({ ...to, create: { maxBytes: MAX_BYTES } }),
    );
    expect(published).toMatchObject({ posts: 1000, messages: 1000 });
    const read = await pipeline(fromJetStream({ ...to, until: 'caught up' }), collect());
    expect(new Set(read.map(post => post.raw.toString()))).toEqual(
      new Set(posts(0, 1000).map(post => post.raw.toString())),
    );
    expect(read).toHaveLength(1000);
  });

  it('are all delivered even if the entry of their publisher is deleted and another publisher uses the same name', async () => {
    await using node = await startNode();
    const to = { connection: connecting(node.url), stream: 'posts', subject: 'posts' };
    const create = { maxBytes: MAX_BYTES };
    await pipeline(source(60, 10), toJetStream({ ...to, create, name: 'numbers' }));
    const connection = await connect({ servers: node.url });
    await (await new Kvm(connection).open('millrace')).delete('numbers');
    await connection.close();
    const others = new Flow(async function* () {
      yield { items: posts(60, 100), cursor: { at: 100 } };
    });
    await pipeline(others, toJetStream({ ...to, create, name: 'numbers' }));
    const read = await pipeline(fromJetStream({ ...to, until: 'caught up' }), collect());
    expect(new Set(read.map(({ id }) => id))).toEqual(new Set(posts(0, 100).map(({ id }) => id)));
  });

  it('cause each committed cursor to be published on the diagnostics channel millrace:commit', async () => {
    await using node = await startNode();
    const commits: CommitMessage[] = [];
    const listener = (message: unknown) => commits.push(message as CommitMessage);
    subscribe('millrace:commit', listener);
    try {
      const to = { connection: connecting(node.url), stream: 'posts', subject: 'posts' };
      const create = { maxBytes: MAX_BYTES };
      await pipeline(source(500), toJetStream({ ...to, create, commitIntervalMs: 0 }));
    } finally {
      unsubscribe('millrace:commit', listener);
    }
    expect(commits.length).toBeGreaterThan(0);
    expect(commits[0]).toEqual({ checkpoint: 'posts', durationMs: expect.any(Number) });
  });
});
