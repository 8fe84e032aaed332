import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { inspect } from 'node:util';
import { type ConnectionOptions, connect, type NatsConnection } from '@nats-io/transport-node';
import { type Activity, collect, OptionError, pipeline, tap } from 'millrace';
import {
  type FromJetStreamOptions,
  fromJetStream,
  JetStreamError,
  toJetStream,
} from 'millrace/jetstream';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';
import { connecting } from './connecting.js';
import { hasNatsServer, type NatsNode, startNode } from './nats-server.js';
import { numberedId, numberedIds, numberedSource } from './numbered-posts.js';

const stream = { stream: 'posts', subject: 'posts' };
const create = { maxBytes: 64 << 20, shards: 2 };

type Options = Pick<FromJetStreamOptions, 'connection' | 'domain' | 'apiPrefix' | 'maxOutageMs'>;

async function roundTrip(options: Options): Promise<number> {
  const to = { ...options, ...stream };
  await pipeline(numberedSource({ total: 20 }), toJetStream({ ...to, create }));
  return (await pipeline(fromJetStream({ ...to, until: 'caught up' }), collect())).length;
}

function watchersOf(connection: NatsConnection): number {
  const { protocol } = unchecked<{ readonly protocol: { readonly listeners: unknown[] } }>(
    connection,
  );
  return protocol.listeners.length;
}

class TestProxy {
  connections = 0;
  readonly #port: number;
  readonly #server: net.Server;
  readonly #sockets = new Set<net.Socket>();

  /**
   * @param isSlow Returns whether to delay what the client sends on a connection. Its argument is
   * the connection's number, starting at 1.
   */
  static async to(
    port: number,
    { isSlow = () => false }: { isSlow?: (number: number) => boolean } = {},
  ): Promise<TestProxy> {
    const server = net.createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new TestProxy(server, (server.address() as net.AddressInfo).port);
    server.on('connection', client => {
      const late = isSlow(++proxy.connections) ? 2_000 : 0;
      const upstream = net.connect(port, '127.0.0.1');
      upstream.pipe(client);
      client.on('data', bytes => setTimeout(() => upstream.write(bytes), late));
      for (const [socket, peer] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        proxy.#sockets.add(socket);
        socket.on('error', () => {});
        socket.on('close', () => {
          proxy.#sockets.delete(socket);
          peer.destroy();
        });
      }
    });
    return proxy;
  }

  private constructor(server: net.Server, port: number) {
    this.#server = server;
    this.#port = port;
  }

  get url(): string {
    return `nats://127.0.0.1:${this.#port}`;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async down(ms: number): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.cut();
    await closed;
    await wait(ms);
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.cut();
  }
}

/**
 * Reads the stream, breaks the connection, and then reads the posts that are published after the
 * break.
 */
async function readAcross(
  node: NatsNode,
  servers: string | string[],
  login: ConnectionOptions,
  fault: () => unknown,
): Promise<void> {
  const before = 20;
  const read = new Set<string>();
  const end = new AbortController();
  // Without `ignoreAuthErrorAbort`, the client gives up after two refusals, even if they come from
  // different servers.
  const connection = connecting(servers, { ...login, ignoreAuthErrorAbort: true });
  const reading = pipeline(
    fromJetStream({ connection, ...stream, maxOutageMs: 60_000 }),
    tap(async ({ id }) => {
      if (id === numberedId(before - 1) && !read.has(id)) {
        await fault();
        const total = 2 * before;
        const to = { connection: connecting(node.url, login), ...stream, name: 'more' };
        await pipeline(numberedSource({ total }), toJetStream(to));
      }
      read.add(id);
      if (id === numberedId(2 * before - 1)) end.abort();
    }),
    collect(),
    { signal: end.signal },
  );
  await reading.catch(error => {
    if (!end.signal.aborted) throw error;
  });
  expect(read.size).toBe(2 * before);
}

describe.skipIf(!hasNatsServer)('a NATS connection', () => {
  it.each<[string, string, ConnectionOptions, ConnectionOptions]>([
    [
      'a user and password',
      'authorization { user: me, password: s3cret }',
      { user: 'me', pass: 's3cret' },
      { user: 'me', pass: 'wr0ng' },
    ],
    ['a token', 'authorization { token: s3cret }', { token: 's3cret' }, { token: 'wr0ng' }],
  ])(
    'logs in with %s, and fails if the server rejects the login',
    async (_, config, right, wrong) => {
      await using node = await startNode({ config });
      expect(await roundTrip({ connection: connecting(node.url, right) })).toBe(20);
      for (const options of [wrong, { ...wrong, waitOnFirstConnect: false }]) {
        const connection = connecting(node.url, options);
        const error = await roundTrip({ connection }).catch(thrown => thrown);
        expect(error).toBeInstanceOf(JetStreamError);
        expect(error).toMatchObject({ failure: 'refused', retryable: false });
        expect(error.message).toContain('could not be opened');
        expect(inspect(error, { depth: 9 })).not.toContain('wr0ng');
      }
    },
  );

  it('passed by the caller is shared by several runs, which leave it open and remove their listeners', async () => {
    await using node = await startNode();
    const connection = await connect({ servers: node.url });
    try {
      const before = watchersOf(connection);
      expect(await roundTrip({ connection })).toBe(20);
      const both = ['one', 'two'].map(name => {
        const to = { connection, stream: name, subject: name };
        return pipeline(numberedSource({ total: 200 }), toJetStream({ ...to, create }));
      });
      expect(await Promise.all(both)).toMatchObject([{ posts: 200 }, { posts: 200 }]);
      expect(connection.isClosed()).toBe(false);
      expect(watchersOf(connection)).toBe(before);
    } finally {
      await connection.close();
    }
  });

  it('passed by the caller delivers each post exactly once even if it reconnects in the middle of a run', async () => {
    await using node = await startNode();
    await using proxy = await TestProxy.to(node.port);
    const connection = await connecting(proxy.url)();
    try {
      const before = async (from: number) => {
        if (from % 100 === 50) proxy.cut();
        await wait(2);
      };
      const to = { connection, ...stream };
      const source = numberedSource({ total: 500, size: 10, before });
      const published = await pipeline(source, toJetStream({ ...to, create }));
      expect(published.posts).toBe(500);
      expect(proxy.connections).toBeGreaterThan(1);
      const read = await pipeline(fromJetStream({ ...to, until: 'caught up' }), collect());
      expect(read.map(({ id }) => id).toSorted()).toEqual(numberedIds(500));
      expect(connection.isClosed()).toBe(false);
    } finally {
      await connection.close();
    }
  });

  it('passed by the caller ends a run immediately, with the cursor of the run, when the caller closes it', async () => {
    await using node = await startNode();
    expect(await roundTrip({ connection: connecting(node.url) })).toBe(20);
    const connection = await connect({ servers: node.url });
    const close = tap(({ id }: Activity) => {
      if (id === numberedId(19)) void connection.close();
    });
    const run = pipeline(fromJetStream({ connection, ...stream }), close, collect());
    const error = await run.catch(thrown => thrown);
    expect(error).toBeInstanceOf(JetStreamError);
    expect(error).toMatchObject({
      failure: 'outage',
      retryable: false,
      cursor: { seq: expect.any(Number) },
    });
    expect(error.message).toContain('its `connection` was closed');
    await expect(roundTrip({ connection })).rejects.toMatchObject({
      failure: 'outage',
      retryable: false,
      message: expect.stringContaining('its `connection` is closed'),
    });
  });

  it('opened by a function is closed at the end of its run, even after an error', async () => {
    await using node = await startNode();
    const open: NatsConnection[] = [];
    const connection = async () => {
      const one = await connecting(node.url)();
      open.push(one);
      return one;
    };
    expect(await roundTrip({ connection })).toBe(20);
    expect(open.map(one => one.isClosed())).toEqual([true, true]);
    const broken = fromJetStream({ connection, stream: 'none', subject: 'none' });
    await expect(pipeline(broken, collect())).rejects.toMatchObject({ failure: 'stream' });
    const stop = new AbortController();
    const stopping = tap(() => stop.abort(new Error('stopped')));
    const stopped = pipeline(fromJetStream({ connection, ...stream }), stopping, collect(), {
      signal: stop.signal,
    });
    await expect(stopped).rejects.toThrow('stopped');
    expect(open.map(one => one.isClosed())).toEqual([true, true, true, true]);
  });

  it('that opens only after the run was aborted is closed', async () => {
    await using node = await startNode();
    const stop = new AbortController();
    let resolve: (connection: NatsConnection) => void = () => {};
    const late = new Promise<NatsConnection>(resolved => {
      resolve = resolved;
    });
    const flow = fromJetStream({ connection: () => late, ...stream });
    const run = pipeline(flow, collect(), { signal: stop.signal });
    stop.abort(new Error('stopped'));
    await expect(run).rejects.toThrow('stopped');
    const connection = await connect({ servers: node.url });
    resolve(connection);
    await connection.closed();
    expect(connection.isClosed()).toBe(true);
  });

  it.each([undefined, {}, 'nats://me:s3cret@a'])(
    'causes an OptionError if its function returns %j',
    async value => {
      const flow = fromJetStream({ connection: unchecked(() => value), ...stream });
      const error = await pipeline(flow, collect()).catch(thrown => thrown);
      expect(error).toBeInstanceOf(OptionError);
      expect(error).toMatchObject({ option: 'connection' });
      expect(inspect(error, { depth: 9 })).not.toContain('s3cret');
    },
  );

  it('ends the run with the error of its function', async () => {
    const own = new Error('no such secret');
    const failing = () => Promise.reject(own);
    await expect(roundTrip({ connection: failing })).rejects.toBe(own);
    const credentials = () => readFile('/none/user.creds').then(() => connecting('a')());
    await expect(roundTrip({ connection: credentials })).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('reaches the streams of another account through the prefix of its imported API', async () => {
    const config = `accounts {
  owner {
    jetstream: enabled
    users: [{ user: owner, password: s3cret }]
    exports: [{ service: "$JS.API.>", response_type: stream }, { service: "posts.*" }, { service: "$KV.>" }]
  }
  guest {
    users: [{ user: guest, password: s3cret }]
    imports: [
      { service: { account: owner, subject: "$JS.API.>" }, to: "JS.owner.API.>" }
      { service: { account: owner, subject: "posts.*" } }
      { service: { account: owner, subject: "$KV.>" }, to: "JS.owner.API.$KV.>" }
    ]
  }
}`;
    await using node = await startNode({ config });
    const as = (user: string) => connecting(node.url, { user, pass: 's3cret' });
    expect(await roundTrip({ connection: as('guest'), apiPrefix: 'JS.owner.API' })).toBe(20);
    expect(await roundTrip({ connection: as('owner') })).toBe(20);
    const without = roundTrip({ connection: as('guest'), maxOutageMs: 500 });
    await expect(without).rejects.toBeInstanceOf(JetStreamError);
  });

  it("reaches the streams of a domain through the domain's name or API prefix", async () => {
    await using node = await startNode({ jetstream: 'domain: hub' });
    const connection = connecting(node.url);
    expect(await roundTrip({ connection, domain: 'hub' })).toBe(20);
    expect(await roundTrip({ connection, apiPrefix: '$JS.hub.API' })).toBe(20);
    const unknown = roundTrip({ connection, domain: 'other', maxOutageMs: 500 });
    const other = await unknown.catch(thrown => thrown);
    expect(other).toMatchObject({ failure: 'outage' });
  });

  it('accepts only servers with a TLS certificate of the given authority', async () => {
    const folder = await temporaryFolder();
    const [cert, key] = [path.join(folder, 'cert.pem'), path.join(folder, 'key.pem')];
    execFileSync(
      'openssl',
      [
        ...[
          'req',
          '-x509',
          '-newkey',
          'rsa:2048',
          '-nodes',
          '-days',
          '2',
          '-subj',
          '/CN=localhost',
        ],
        ...['-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert],
      ],
      { stdio: 'ignore' },
    );
    await using node = await startNode({
      config: `tls { cert_file: ${JSON.stringify(cert)}, key_file: ${JSON.stringify(key)} }`,
    });
    const by = (caFile?: string) =>
      connecting(node.url, { tls: caFile ? { caFile } : {}, waitOnFirstConnect: false });
    expect(await roundTrip({ connection: by(cert) })).toBe(20);
    const error = await roundTrip({ connection: by() }).catch(thrown => thrown);
    expect(error).toMatchObject({ failure: 'refused' });
  });

  it('fails immediately if it requires TLS and the server has none', async () => {
    await using node = await startNode();
    const connection = connecting(node.url, { tls: {}, waitOnFirstConnect: false });
    const error = await roundTrip({ connection }).catch(thrown => thrown);
    expect(error).toMatchObject({ failure: 'refused' });
  });

  it.each(['a reader', 'a publisher'])(
    // Found by `npm run faults -- jetstream`, 401 in the middle.
    'of %s ends immediately if its login is rejected in the middle of a run',
    async which => {
      const login = (password: string) => `authorization { user: one, password: ${password} }`;
      await using node = await startNode({ config: login('before') });
      const connection = connecting(node.url, { user: 'one', pass: 'before' });
      const to = { connection, maxOutageMs: 20_000, ...stream };
      await roundTrip(to);
      const file = path.join(node.store, 'node.conf');
      const config = await readFile(file, 'utf8');
      const change = async () => {
        await writeFile(file, config.replace(login('before'), login('behind')));
        process.kill(node.pid as number, 'SIGHUP');
      };
      const source = numberedSource({
        total: 1_000_000,
        size: 10,
        before: async from => {
          if (from === 50) await change();
          await wait(5);
        },
      });
      const run =
        which === 'a reader'
          ? pipeline(
              fromJetStream(to),
              tap(({ id }) => (id === numberedId(19) ? change() : undefined)),
              collect(),
            )
          : pipeline(source, toJetStream({ ...to, name: 'other' }));
      const error = await run.catch(thrown => thrown);
      expect(error).toBeInstanceOf(JetStreamError);
      expect(error).toMatchObject({ failure: 'refused', retryable: false });
    },
  );

  it('continues after its login timed out twice, as on a slow link', async () => {
    const config = 'authorization { user: one, password: right, timeout: 1 }';
    await using node = await startNode({ config });
    await using proxy = await TestProxy.to(node.port, {
      isSlow: number => [2, 3].includes(number),
    });
    const right = { user: 'one', pass: 'right' };
    await roundTrip({ connection: connecting(node.url, right) });
    await readAcross(node, proxy.url, right, () => proxy.cut());
    expect(proxy.connections).toBeGreaterThanOrEqual(4);
  });

  it('continues with a restarted server while another server of its list rejects the login', async () => {
    const config = (password: string) => `authorization { user: one, password: ${password} }`;
    await using node = await startNode({ config: config('right') });
    await using other = await startNode({ config: config('old') });
    await using proxy = await TestProxy.to(node.port);
    const right = { user: 'one', pass: 'right' };
    await roundTrip({ connection: connecting(node.url, right) });
    await readAcross(node, [proxy.url, other.url], right, () => proxy.down(4_000));
    expect(proxy.connections).toBeGreaterThanOrEqual(2);
  });

  it('fails if its server does not exist or does not answer', async () => {
    const silent = net.createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as net.AddressInfo;
    for (const servers of ['nats://127.0.0.1:1', `nats://127.0.0.1:${port}`])
      for (const [waits, message] of [
        [true, 'is not open yet. Check its servers'],
        [false, 'waitOnFirstConnect: true'],
      ] as const) {
        const connection = connecting(servers, { waitOnFirstConnect: waits, timeout: 200 });
        const flow = fromJetStream({ connection, ...stream, maxOutageMs: 1_000 });
        const error = await pipeline(flow, collect()).catch(thrown => thrown);
        expect(error).toBeInstanceOf(JetStreamError);
        expect(error).toMatchObject({ failure: 'outage', retryable: true });
        expect(error.message).toContain(message);
      }
    silent.close();
  });

  it('fails with advice if the stream does not exist', async () => {
    await using node = await startNode();
    const flow = fromJetStream({ connection: connecting(node.url), ...stream });
    await expect(pipeline(flow, collect())).rejects.toMatchObject({
      failure: 'stream',
      message: expect.stringContaining('`create`'),
    });
  });

  it('fails with an error that names the differing settings of the stream', async () => {
    await using node = await startNode();
    await roundTrip({ connection: connecting(node.url) });
    const other = { ...create, maxAgeMs: 60_000, discard: 'old' as const };
    const run = pipeline(
      numberedSource({ total: 1 }),
      toJetStream({ connection: connecting(node.url), ...stream, create: other }),
    );
    await expect(run).rejects.toMatchObject({
      failure: 'stream',
      message: expect.stringMatching(/discard is new, not old; max_age is 0, not 60000000000/),
    });
  });

  it('fails if a single server is asked for 3 replicas', async () => {
    await using node = await startNode();
    const run = pipeline(
      numberedSource({ total: 1 }),
      toJetStream({
        connection: connecting(node.url),
        ...stream,
        create: { ...create, replicas: 3 },
      }),
    );
    await expect(run).rejects.toMatchObject({
      failure: 'refused',
      message: expect.stringContaining('replicas > 1 not supported'),
    });
  });
});
