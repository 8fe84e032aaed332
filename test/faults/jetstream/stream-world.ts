import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import {
  connect,
  type MsgHdrs,
  type NatsConnection,
  headers as natsHeaders,
} from '@nats-io/transport-node';
// These imports are always the correct library, even if the tested library has a planted mistake.
import { Activity, Flow, pipeline } from '../../../src/index.js';
import { type ToJetStreamOptions, toJetStream } from '../../../src/jetstream/index.js';
import { samplePosts } from '../../../src/service/index.js';
import { type Connecting, connecting } from '../../jetstream/connecting.js';
import { type NatsNode, startNode } from '../../jetstream/nats-server.js';
import { type Expected, expectedPosts } from '../matrix/bare-client.js';

export interface StoredMessage {
  readonly seq: number;
  readonly subject: string;
  readonly headers: MsgHdrs | undefined;
  readonly data: Uint8Array;
  readonly posts: readonly string[];
}

export interface OneMessage {
  readonly subject: string;
  readonly payload: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

/** A stream that several readers share. Readers do not change the stream. */
export interface FilledStream {
  readonly name: string;
  readonly messages: readonly StoredMessage[];
}

/**
 * The content of a stream. `single`: one post per message. `batches`: several posts per message, as
 * gzip. `large`: 40 MiB in posts of 256 KiB.
 */
export type Filling = 'single' | 'batches' | 'large';

export const SUBJECTS = 4;
export const POSTS_PER_BATCH = 5;
const POSTS = 600;
const LARGE_POSTS = 160;
const LARGE_BYTES = 256 << 10;
/**
 * With this configuration, the server disconnects a client that does not answer a ping within 1.5
 * s.
 */
const SHORT_PINGS = 'ping_interval: "500ms"\nping_max: 2';
const ADMIN = { user: 'admin', pass: 'oracle' };
const LOGIN = { user: 'client', pass: 'good' };
const logins = (password: string) =>
  `authorization { users: [
  { user: ${ADMIN.user}, password: ${ADMIN.pass} }
  { user: ${LOGIN.user}, password: ${password} }
] }`;

export type ServerSetup = 'default' | 'short pings' | 'logins';

export const BATCH = { posts: POSTS_PER_BATCH, waitMs: 0, compression: 'gzip' } as const;

export class StreamWorld {
  readonly records: readonly string[];
  readonly node: NatsNode;
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;
  readonly login: Partial<typeof LOGIN>;
  readonly #filled = new Map<Filling, Promise<FilledStream>>();
  #count = 0;

  private constructor(
    node: NatsNode,
    connection: NatsConnection,
    manager: JetStreamManager,
    login: Partial<typeof LOGIN>,
  ) {
    this.login = login;
    this.node = node;
    this.connection = connection;
    this.manager = manager;
    this.records = samplePosts(Date.UTC(2024, 0, 1, 12), { postsPerMinute: POSTS }).map(({ raw }) =>
      raw.toString(),
    );
  }

  static async open(setup: ServerSetup): Promise<StreamWorld> {
    const hasLogins = setup === 'logins';
    const configs = { default: '', 'short pings': SHORT_PINGS, logins: logins(LOGIN.pass) };
    const node = await startNode({ config: configs[setup] });
    const connection = await connect({ servers: node.url, ...(hasLogins && ADMIN) });
    const manager = await jetstreamManager(connection);
    return new StreamWorld(node, connection, manager, hasLogins ? LOGIN : {});
  }

  async setLogin(isAccepted: boolean): Promise<void> {
    const file = path.join(this.node.store, 'node.conf');
    const [good, bad] = [logins(LOGIN.pass), logins('another')];
    const config = (await readFile(file, 'utf8')).replace(good, bad);
    await writeFile(file, isAccepted ? config.replace(bad, good) : config);
    process.kill(this.node.pid as number, 'SIGHUP');
    while ((await this.#accepts()) !== isAccepted) await sleep(20);
  }

  async #accepts(): Promise<boolean> {
    try {
      const probe = { servers: this.node.url, ...LOGIN, reconnect: false };
      await (await connect(probe)).close();
      return true;
    } catch {
      return false;
    }
  }

  newName(): string {
    return `trial-${++this.#count}`;
  }

  filled(filling: Filling): Promise<FilledStream> {
    const make = async () => {
      const records =
        filling === 'large' ? this.records.slice(0, LARGE_POSTS).map(enlarge) : this.records;
      await this.publish(filling, records, filling === 'batches' ? { batch: BATCH } : {});
      return { name: filling, messages: await this.stored(filling) };
    };
    const filled = this.#filled.get(filling) ?? make();
    this.#filled.set(filling, filled);
    return filled;
  }

  async publish(
    stream: string,
    records: readonly string[],
    options: Partial<ToJetStreamOptions<Activity>> = {},
  ): Promise<void> {
    const items = records.map(record => new Activity(Buffer.from(record)));
    const source = new Flow<Activity>(async function* () {
      yield { items, cursor: { at: items.length } };
    });
    await pipeline(source, toJetStream({ ...this.target(stream), ...options }));
  }

  connecting(url = this.node.url): Connecting {
    return connecting(url, this.login);
  }

  target(stream: string) {
    const create = { maxBytes: 256 << 20, shards: SUBJECTS };
    return { connection: this.connecting(), stream, subject: stream, create };
  }

  /** @param damaged The sequence of a message to skip, because it cannot be parsed. */
  async stored(stream: string, damaged?: number): Promise<StoredMessage[]> {
    const { state } = await this.manager.streams.info(stream);
    const messages: StoredMessage[] = [];
    if (state.messages === 0) return messages;
    const consumer = await this.manager.jetstream().consumers.get(stream);
    for await (const { seq, subject, headers, data } of await consumer.consume()) {
      if (seq !== damaged)
        messages.push({ seq, subject, headers, data, posts: postsIn(headers, data) });
      if (seq === state.last_seq) break;
    }
    return messages;
  }

  async send({
    subject,
    payload,
    headers,
  }: OneMessage): Promise<{ seq: number; duplicate: boolean }> {
    const all = natsHeaders();
    for (const [name, value] of Object.entries(headers)) all.set(name, value);
    return this.manager.jetstream().publish(subject, payload, { headers: all });
  }

  /** Removes a stream, if it exists. After a failed trial, it may not exist. */
  async remove(stream: string): Promise<void> {
    const streams = await this.manager.streams.names().next();
    if (streams.includes(stream)) await this.manager.streams.delete(stream);
  }

  async close(): Promise<void> {
    await this.connection.close();
    await this.node[Symbol.asyncDispose]();
  }
}

export function postsOfMessages(messages: readonly StoredMessage[]): Expected {
  return expectedPosts(messages.flatMap(({ posts }) => posts));
}

function postsIn(headers: MsgHdrs | undefined, data: Uint8Array): readonly string[] {
  if (data.length === 0) return [];
  const isGzip = headers?.get('Millrace-Encoding') === 'gzip';
  // Generated posts contain no line feeds.
  return Buffer.from(isGzip ? gunzipSync(data) : data)
    .toString()
    .split('\n');
}

function enlarge(record: string): string {
  const padding = randomBytes((LARGE_BYTES * 3) / 4).toString('base64');
  return `${record.slice(0, -1)},"padding":"${padding}"}`;
}
