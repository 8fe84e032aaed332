import { jetstreamManager } from '@nats-io/jetstream';
import { type ConnectionOptions, connect, type NatsConnection } from '@nats-io/transport-node';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Acknowledgements } from '../../src/jetstream/acknowledgements.js';
import { JetStreamConnection } from '../../src/jetstream/connection.js';
import type { Headers } from '../../src/jetstream/message.js';
import { loadPackages } from '../../src/jetstream/packages.js';
import { unchecked } from '../unchecked.js';
import { connecting } from './connecting.js';
import { HeldAcks } from './held-acks.js';
import { hasNatsServer, type NatsNode, startNode } from './nats-server.js';

const POST = Buffer.from('{"id_str":"1"}');

/** A connection to a server that has the stream `posts`. */
class Publishing {
  readonly nats: NatsConnection;
  readonly acknowledgements: Acknowledgements;

  private constructor(nats: NatsConnection, acknowledgements: Acknowledgements) {
    this.nats = nats;
    this.acknowledgements = acknowledgements;
  }

  static async to(node: NatsNode, options: ConnectionOptions = {}): Promise<Publishing> {
    const nats = await connect({ servers: node.url, ...options });
    return new Publishing(nats, new Acknowledgements(nats, await loadPackages('toJetStream')));
  }

  publish(subject: string, headers: Headers = []) {
    return this.acknowledgements.publish(subject, POST, headers);
  }

  get subscriptions(): number {
    const { protocol } = unchecked<{
      readonly protocol: { readonly subscriptions: { readonly subs: Map<number, unknown> } };
    }>(this.nats);
    return protocol.subscriptions.subs.size;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.acknowledgements.close();
    await this.nats.close();
  }
}

async function nodeWithStream(config?: string): Promise<NatsNode> {
  const node = await startNode({ config });
  const nats = await connect({ servers: node.url });
  await (await jetstreamManager(nats)).streams.add({ name: 'posts', subjects: ['posts.>'] });
  await nats.close();
  return node;
}

afterEach(() => {
  vi.useRealTimers();
});

describe.skipIf(!hasNatsServer)('Acknowledgements', () => {
  it('resolve to the sequence at which the stream has stored the message', async () => {
    await using node = await nodeWithStream();
    await using publishing = await Publishing.to(node);
    const acks = await Promise.all([
      publishing.publish('posts.0', [['Nats-Msg-Id', 'a']]),
      publishing.publish('posts.1', [['Nats-Msg-Id', 'b']]),
      publishing.publish('posts.0', [['Nats-Msg-Id', 'a']]),
    ]);
    expect(acks).toMatchObject([
      { stream: 'posts', seq: 1, duplicate: false },
      { stream: 'posts', seq: 2, duplicate: false },
      { stream: 'posts', seq: 1, duplicate: true },
    ]);
  });

  it('store the headers and the payload unchanged', async () => {
    await using node = await nodeWithStream();
    await using publishing = await Publishing.to(node);
    const headers: Headers = [
      ['Millrace-Tags', '["caf\u00e9","\u96ea"]'],
      ['Millrace-Epoch', '3'],
    ];
    const { seq } = await publishing.publish('posts.0', headers);
    const { streams } = await jetstreamManager(publishing.nats);
    const stored = await streams.getMessage('posts', { seq });
    expect(headers.map(([name]) => [name, stored?.header.get(name)])).toEqual(headers);
    expect(Buffer.from(stored?.data ?? [])).toEqual(POST);
  });

  it('reject with the code of the server if it refuses the message', async () => {
    await using node = await nodeWithStream();
    await using publishing = await Publishing.to(node);
    const refused = publishing.publish('posts.0', [['Nats-Expected-Stream', 'others']]);
    await expect(refused).rejects.toMatchObject({ name: 'JetStreamApiError', code: 10060 });
  });

  it('reject if no stream has the subject', async () => {
    await using node = await nodeWithStream();
    await using publishing = await Publishing.to(node);
    await expect(publishing.publish('others.0')).rejects.toMatchObject({
      name: 'JetStreamNotEnabled',
    });
  });

  it.each(['', 'yes', '{"stream":7}', '{"error":"no"}'])(
    'reject an answer that is not an acknowledgement as one to ask for again: %j',
    async answer => {
      await using node = await nodeWithStream();
      await using publishing = await Publishing.to(node);
      publishing.nats.subscribe('broken', {
        callback: (_, message) => void message.respond(answer),
      });
      await expect(publishing.publish('broken')).rejects.toMatchObject({ name: 'StaleAnswer' });
    },
  );

  it('reject a header with a line end, which could add other headers', async () => {
    await using node = await nodeWithStream();
    await using publishing = await Publishing.to(node);
    const refused = publishing.publish('posts.0', [['Millrace-Ids', '1\r\nNats-Msg-Id: 2']]);
    await expect(refused).rejects.toThrow('The header Millrace-Ids has a line end');
  });

  it('reject each message that is not acknowledged for five seconds', async () => {
    await using node = await nodeWithStream();
    await using publishing = await Publishing.to(node);
    // A subscriber that does not answer.
    publishing.nats.subscribe('silent', { callback: () => {} });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const settled: string[] = [];
    const note = (name: string) => (error: Error) => settled.push(`${name} ${error.name}`);
    publishing.publish('silent').catch(note('first'));
    await vi.advanceTimersByTimeAsync(3_000);
    publishing.publish('silent').catch(note('second'));
    await vi.advanceTimersByTimeAsync(1_999);
    expect(settled).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(settled).toEqual(['first TimeoutError']);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(settled).toEqual(['first TimeoutError', 'second TimeoutError']);
  });

  it('receive answers only below the inbox prefix of the connection', async () => {
    const config = `authorization { users: [
      { user: admin, password: s3cret },
      { user: publisher, password: s3cret, permissions: {
        publish: ["posts.>"], subscribe: ["_MINE.>"] } }
    ] }
    no_auth_user: admin`;
    await using node = await nodeWithStream(config);
    const login = { user: 'publisher', pass: 's3cret', inboxPrefix: '_MINE' };
    await using publishing = await Publishing.to(node, login);
    await expect(publishing.publish('posts.0')).resolves.toMatchObject({ seq: 1 });
  });

  it('reject if the login may not receive answers', async () => {
    const config = `authorization { users: [
      { user: admin, password: s3cret },
      { user: publisher, password: s3cret, permissions: { publish: ["posts.>"], subscribe: ["no"] } }
    ] }
    no_auth_user: admin`;
    await using node = await nodeWithStream(config);
    await using publishing = await Publishing.to(node, { user: 'publisher', pass: 's3cret' });
    await expect(publishing.publish('posts.0')).rejects.toMatchObject({
      name: 'PermissionViolationError',
    });
  });

  it('reject only the messages of one subject if the login may not publish to it', async () => {
    await using node = await nodeWithStream();
    await using publishing = await Publishing.to(node);
    publishing.nats.subscribe('silent', { callback: () => {} });
    const silent = publishing.publish('silent');
    const stored = publishing.publish('posts.0');
    publishing.acknowledgements.reject(new Error('denied'), 'silent');
    await expect(silent).rejects.toThrow('denied');
    await expect(stored).resolves.toMatchObject({ seq: 1 });
  });

  it('end the subscription on a connection that stays open, and reject later messages', async () => {
    await using node = await nodeWithStream();
    await using publishing = await Publishing.to(node);
    const before = publishing.subscriptions;
    await publishing.publish('posts.0');
    expect(publishing.subscriptions).toBe(before + 1);
    publishing.nats.subscribe('silent', { callback: () => {}, max: 1 });
    const waiting = publishing.publish('silent');
    publishing.acknowledgements.close();
    await expect(waiting).rejects.toThrow('the run has ended');
    await expect(publishing.publish('posts.0')).rejects.toThrow('the run has ended');
    await publishing.nats.flush();
    expect(publishing.subscriptions).toBe(before);
  });

  // The client rejects its own requests only after their time limit.
  it('reject at once if the connection was lost', async () => {
    await using node = await nodeWithStream();
    await using acks = await HeldAcks.start(node.port, 'posts', 1);
    const connection = await JetStreamConnection.open(
      {
        connection: connecting(acks.url),
        maxOutageMs: 60_000,
        domain: undefined,
        apiPrefix: undefined,
      },
      {
        call: 'toJetStream',
        signal: new AbortController().signal,
        progress: undefined,
        cursor: () => undefined,
      },
    );
    const held = connection.publish('posts.0', POST, []);
    const rejected = expect(held).rejects.toMatchObject({ name: 'StaleAnswer' });
    await connection.publish('posts.0', POST, []);
    acks.cut();
    await rejected;
    await expect(connection.publish('posts.0', POST, [])).resolves.toMatchObject({ seq: 3 });
    await connection.close();
  });
});
