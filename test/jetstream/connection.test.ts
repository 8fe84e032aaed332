import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { inspect } from 'node:util';
import {
  connect,
  type NatsConnection,
  nkeyAuthenticator,
  nkeys,
  type Status,
} from '@nats-io/transport-node';
import { type Activity, collect, pipeline, tap } from 'millrace';
import {
  type FromJetStreamOptions,
  fromJetStream,
  JetStreamError,
  toJetStream,
} from 'millrace/jetstream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { refusedLogin } from '../../src/jetstream/connection.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';
import { hasNatsServer, type NatsNode, startNode } from './nats-server.js';
import { numberedId, numberedSource } from './numbered-posts.js';

const stream = { stream: 'posts', subject: 'posts' };
const create = { maxBytes: 64 << 20, shares: 2 };

type Login = Partial<FromJetStreamOptions<Activity>>;

/** Publishes and reads some posts; returns how many came. */
async function roundTrip(node: NatsNode, login: Login): Promise<number> {
  const to = { servers: node.url, ...login, ...stream } as FromJetStreamOptions<Activity> & {
    readonly item?: undefined;
  };
  await pipeline(
    numberedSource({ total: 20 }),
    toJetStream({ ...(to as object), ...stream, create }),
  );
  return (await pipeline(fromJetStream({ ...to, until: 'caught up' }), collect())).length;
}

/** A token of the decentralized logins of NATS, signed by `by`. */
function jwt(by: nkeys.KeyPair, subject: string, claims: object): string {
  const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const body = {
    jti: subject,
    iat: 1_700_000_000,
    iss: by.getPublicKey(),
    name: 'test',
    sub: subject,
  };
  const text = `${encoded({ typ: 'JWT', alg: 'ed25519-nkey' })}.${encoded({ ...body, nats: { version: 2, ...claims } })}`;
  return `${text}.${Buffer.from(by.sign(Buffer.from(text))).toString('base64url')}`;
}

/** Forwards connections to a server, and counts them. */
class TestProxy {
  connections = 0;
  readonly #port: number;
  readonly #server: net.Server;
  readonly #sockets = new Set<net.Socket>();

  /** @param isSlow Whether what the client sends on a connection arrives late, by its number from 1. */
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

  /** Ends all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Refuses connections for some time. */
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

/** Reads what the stream has, has the connection broken, and reads what is published behind that. */
async function readAcross(node: NatsNode, login: Login, fault: () => unknown): Promise<void> {
  const before = 20;
  const right = { servers: node.url, user: login.user, password: login.password };
  const read = new Set<string>();
  const end = new AbortController();
  const flow = fromJetStream({ ...(login as { servers: string }), ...stream, maxOutageMs: 60_000 });
  const reading = pipeline(
    flow,
    tap(async ({ id }) => {
      if (id === numberedId(before - 1) && !read.has(id)) {
        await fault();
        const total = 2 * before;
        const to = toJetStream({ ...(right as { servers: string }), ...stream, name: 'more' });
        await pipeline(numberedSource({ total }), to);
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

describe.skipIf(!hasNatsServer)('a connection', () => {
  it.each<[string, string, Login, Login]>([
    [
      'a user and password',
      'authorization { user: me, password: s3cret }',
      { user: 'me', password: 's3cret' },
      { user: 'me', password: 'wr0ng' },
    ],
    ['a token', 'authorization { token: s3cret }', { token: 's3cret' }, { token: 'wr0ng' }],
  ])('logs in with %s, and says that another is refused', async (_, config, right, wrong) => {
    await using node = await startNode({ config });
    expect(await roundTrip(node, right)).toBe(20);
    const error = await roundTrip(node, wrong).catch(thrown => thrown);
    expect(error).toBeInstanceOf(JetStreamError);
    expect(error).toMatchObject({ failure: 'refused', retryable: false });
    expect(inspect(error, { depth: 9 })).not.toContain('wr0ng');
  });

  it('takes the login from the address', async () => {
    await using node = await startNode({ config: 'authorization { user: me, password: s3cret }' });
    expect(await roundTrip(node, { servers: `nats://me:s3cret@127.0.0.1:${node.port}` })).toBe(20);
  });

  it('logs in with a credentials file', async () => {
    const [operator, system, account, user] = [
      nkeys.createOperator(),
      nkeys.createAccount(),
      nkeys.createAccount(),
      nkeys.createUser(),
    ];
    const limits = {
      subs: -1,
      data: -1,
      payload: -1,
      imports: -1,
      exports: -1,
      conn: -1,
      leaf: -1,
    };
    const storage = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
    const accountJwt = jwt(operator, account.getPublicKey(), {
      type: 'account',
      limits: { ...limits, wildcards: true, ...storage },
    });
    const userJwt = jwt(account, user.getPublicKey(), {
      type: 'user',
      subs: -1,
      data: -1,
      payload: -1,
    });
    await using node = await startNode({
      config: `operator: ${jwt(operator, operator.getPublicKey(), { type: 'operator' })}
resolver: MEMORY
system_account: ${system.getPublicKey()}
resolver_preload: {
  ${system.getPublicKey()}: ${jwt(operator, system.getPublicKey(), { type: 'account', limits })}
  ${account.getPublicKey()}: ${accountJwt}
}`,
    });
    const folder = await temporaryFolder();
    const credentials = path.join(folder, 'user.creds');
    const part = (name: string, text: string) =>
      `-----BEGIN ${name}-----\n${text}\n------END ${name}------\n\n`;
    const seed = new TextDecoder().decode(user.getSeed());
    await writeFile(credentials, part('NATS USER JWT', userJwt) + part('USER NKEY SEED', seed));
    expect(await roundTrip(node, { credentials })).toBe(20);
    const missing = roundTrip(node, { credentials: path.join(folder, 'none.creds') });
    await expect(missing).rejects.toMatchObject({ failure: 'refused' });
  });

  it('logs in with the seed of an NKey, or an authenticator', async () => {
    const [user, other] = [nkeys.createUser(), nkeys.createUser()];
    const seed = (of: nkeys.KeyPair) => new TextDecoder().decode(of.getSeed());
    await using node = await startNode({
      config: `authorization { users: [{ nkey: ${user.getPublicKey()} }] }`,
    });
    expect(await roundTrip(node, { nkey: seed(user) })).toBe(20);
    const authenticator = nkeyAuthenticator(user.getSeed());
    expect(await roundTrip(node, { authenticator })).toBe(20);
    const error = await roundTrip(node, { nkey: seed(other) }).catch(thrown => thrown);
    expect(error).toMatchObject({ failure: 'refused', retryable: false });
    expect(inspect(error, { depth: 9 })).not.toContain(seed(other));
  });

  it('of the caller is used, and stays open', async () => {
    await using node = await startNode();
    const connection = await connect({ servers: node.url });
    try {
      const login = { servers: undefined, connection };
      expect(await roundTrip(node, login)).toBe(20);
      expect(await roundTrip(node, login)).toBe(20);
      expect(connection.isClosed()).toBe(false);
    } finally {
      await connection.close();
    }
  });

  it('of the caller that is closed ends a run at once, with the cursor', async () => {
    await using node = await startNode();
    expect(await roundTrip(node, {})).toBe(20);
    const connection = await connect({ servers: node.url });
    const close = tap(({ id }: Activity) => {
      if (id === numberedId(19)) void connection.close();
    });
    const run = pipeline(fromJetStream({ connection, ...stream }), close, collect());
    const error = await run.catch(thrown => thrown);
    expect(error).toBeInstanceOf(JetStreamError);
    expect(error).toMatchObject({ failure: 'outage', cursor: { seq: expect.any(Number) } });
    expect(error.message).toContain('its `connection` was closed');
  });

  it('reaches the streams of another account, by the prefix of its imported API', async () => {
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
    const login = { user: 'guest', password: 's3cret' };
    expect(await roundTrip(node, { ...login, apiPrefix: 'JS.owner.API' })).toBe(20);
    expect(await roundTrip(node, { ...login, user: 'owner' })).toBe(20);
    const without = roundTrip(node, { ...login, maxOutageMs: 500 });
    await expect(without).rejects.toBeInstanceOf(JetStreamError);
  });

  it('reaches the streams of a domain, by its name or by the prefix of its API', async () => {
    await using node = await startNode({ jetstream: 'domain: hub' });
    expect(await roundTrip(node, { domain: 'hub' })).toBe(20);
    expect(await roundTrip(node, { apiPrefix: '$JS.hub.API' })).toBe(20);
    const maxOutageMs = 500;
    const other = await roundTrip(node, { domain: 'other', maxOutageMs }).catch(thrown => thrown);
    expect(other).toMatchObject({ failure: 'outage' });
  });

  it('uses TLS with the given authority, and refuses a server that it does not know', async () => {
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
    const servers = `tls://127.0.0.1:${node.port}`;
    expect(await roundTrip(node, { servers, tls: { ca: cert } })).toBe(20);
    const error = await roundTrip(node, { servers }).catch(thrown => thrown);
    expect(error).toMatchObject({ failure: 'refused' });
  });

  it('says at once that a server has no TLS', async () => {
    await using node = await startNode();
    const error = await roundTrip(node, { tls: true }).catch(thrown => thrown);
    expect(error).toMatchObject({ failure: 'refused' });
  });

  it.each(['a reader', 'a publisher'])(
    'of %s ends at once where a login is refused in the middle of a run (faults jetstream, 401 in the middle)',
    async which => {
      const login = (password: string) => `authorization { user: one, password: ${password} }`;
      await using node = await startNode({ config: login('before') });
      const to = {
        servers: node.url,
        user: 'one',
        password: 'before',
        maxOutageMs: 20_000,
        ...stream,
      };
      await roundTrip(node, { user: 'one', password: 'before' });
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

  it('goes on where its login came too late twice, as on a slow link: that is no refusal', async () => {
    const config = 'authorization { user: one, password: right, timeout: 1 }';
    await using node = await startNode({ config });
    await using proxy = await TestProxy.to(node.port, {
      isSlow: number => [2, 3].includes(number),
    });
    const right = { user: 'one', password: 'right' };
    await roundTrip(node, right);
    await readAcross(node, { servers: proxy.url, ...right }, () => proxy.cut());
    expect(proxy.connections).toBeGreaterThanOrEqual(4);
  });

  it('goes on with one server once it is back, while another one refuses the login', async () => {
    const config = (password: string) => `authorization { user: one, password: ${password} }`;
    await using node = await startNode({ config: config('right') });
    await using other = await startNode({ config: config('old') });
    await using proxy = await TestProxy.to(node.port);
    const right = { user: 'one', password: 'right' };
    await roundTrip(node, right);
    await readAcross(node, { servers: [proxy.url, other.url], ...right }, () => proxy.down(4_000));
    expect(proxy.connections).toBeGreaterThanOrEqual(2);
  });

  it('gives up on a server that is not there, and on one that never answers', async () => {
    const silent = net.createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as net.AddressInfo;
    for (const servers of ['nats://127.0.0.1:1', `nats://127.0.0.1:${port}`]) {
      const flow = fromJetStream({ servers, ...stream, maxOutageMs: 200 });
      const error = await pipeline(flow, collect()).catch(thrown => thrown);
      expect(error).toBeInstanceOf(JetStreamError);
      expect(error).toMatchObject({ failure: 'outage', retryable: true });
      expect(error.message).toContain(servers.slice('nats://'.length));
    }
    silent.close();
  });

  it('says that a stream does not exist, and how to make it', async () => {
    await using node = await startNode();
    const flow = fromJetStream({ servers: node.url, ...stream });
    await expect(pipeline(flow, collect())).rejects.toMatchObject({
      failure: 'stream',
      message: expect.stringContaining('`create`'),
    });
  });

  it('says in which settings a stream differs', async () => {
    await using node = await startNode();
    await roundTrip(node, {});
    const other = { ...create, maxAgeMs: 60_000, discard: 'old' as const };
    const run = pipeline(
      numberedSource({ total: 1 }),
      toJetStream({ servers: node.url, ...stream, create: other }),
    );
    await expect(run).rejects.toMatchObject({
      failure: 'stream',
      message: expect.stringMatching(/discard is new, not old; max_age is 0, not 60000000000/),
    });
  });

  it('says that one server cannot keep three replicas', async () => {
    await using node = await startNode();
    const run = pipeline(
      numberedSource({ total: 1 }),
      toJetStream({ servers: node.url, ...stream, create: { ...create, replicas: 3 } }),
    );
    await expect(run).rejects.toMatchObject({
      failure: 'refused',
      message: expect.stringContaining('replicas > 1 not supported'),
    });
  });
});

/** What the tries to connect end with, one each 100 ms. */
type Outcome = 'refused' | 'late' | 'down' | 'connected';

/** How many tries there were until a login counts as refused. */
async function triesUntilRefused(
  servers: number,
  outcomes: readonly Outcome[],
): Promise<number | undefined> {
  let tries = 0;
  async function* status(): AsyncGenerator<Status> {
    for (const outcome of outcomes) {
      tries++;
      vi.advanceTimersByTime(100);
      yield { type: 'reconnecting' };
      const error = new Error(
        outcome === 'late' ? 'Authentication Timeout' : 'Authorization Violation',
      );
      error.name = 'AuthorizationError';
      if (outcome === 'refused' || outcome === 'late') yield { type: 'error', error };
      if (outcome === 'connected') yield { type: 'reconnect', server: 'one' };
    }
  }
  const nats = { status, getServers: () => Array.from({ length: servers }) };
  const error = await refusedLogin(unchecked<NatsConnection>(nats));
  return error === undefined ? undefined : tries;
}

const tries = (count: number, ...outcomes: readonly Outcome[]) =>
  Array.from({ length: count }, () => outcomes).flat();

describe('a login in the middle of a run', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
  afterEach(() => void vi.useRealTimers());

  it('counts as refused once all servers have refused it for two seconds', async () => {
    expect(await triesUntilRefused(1, tries(100, 'refused'))).toBe(21);
    expect(await triesUntilRefused(30, tries(100, 'refused'))).toBe(60);
  });

  it.each<[string, Outcome[]]>([
    ['one server of several is down', tries(50, 'refused', 'refused', 'down')],
    ['it comes too late', tries(100, 'late')],
    ['one server accepts it', tries(10, ...tries(10, 'refused'), 'connected')],
  ])('does not count as refused where %s', async (_, outcomes) => {
    expect(await triesUntilRefused(2, outcomes)).toBeUndefined();
  });
});
