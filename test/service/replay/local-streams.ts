import http from 'node:http';
import { constants, gunzipSync } from 'node:zlib';
import { formatTimestamp, MINUTE } from '../../../src/base/time.js';
import type { ArchivedPost } from '../../../src/service/archive/archive.js';
import {
  type Addresses,
  createService,
  type Service,
  type ServiceOptions,
} from '../../../src/service/index.js';
import { afterTests } from '../../after-tests.js';
import { AUTHORIZATION, NOW } from '../local-service.js';
import { MemoryArchive, originalPost } from '../memory-archive.js';

/** The start of the hour that these tests replay. The hour ends an hour and a half before `NOW`. */
export const START = Date.UTC(2024, 4, 15, 10, 0);
export const END = START + 60 * MINUTE;

export interface Seen {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  /** The compressed bytes. */
  readonly wire: Buffer;
  /** The decompressed text. If the data is cut, as much of the text as possible. */
  readonly text: string;
  /** The lines without heartbeats. The last line may be incomplete. */
  readonly messages: readonly string[];
  /** Whether the HTTP message was complete. */
  readonly complete: boolean;
  readonly error: string | undefined;
}

export interface Connection {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  text(): string;
  until(isEnough: (text: string) => boolean): Promise<string>;
  pause(): void;
  resume(): void;
  end(): Promise<Seen>;
  destroy(): void;
}

export interface Streams {
  readonly service: Service;
  readonly addresses: Addresses;
  readonly archive: MemoryArchive;
  readonly errors: unknown[];
  open(path: string, headers?: http.OutgoingHttpHeaders): Promise<Connection>;
  see(path: string, headers?: http.OutgoingHttpHeaders): Promise<Seen>;
  /** Returns the path of a replay. By default, it replays the whole hour. */
  replayPath(type?: string, from?: number, to?: number): string;
  addRules(...rules: readonly { value: string; tag?: string }[]): Promise<string[]>;
  /** Sends a request about rules. `at` is the part of the path after the label. */
  rules(method: string, at: string, body?: string | object): Promise<Reply>;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export const COMPLIANCE_PATH =
  '/accounts/local/publishers/twitter/streams/compliance/compliance.json';

const running: Service[] = [];

afterTests(async () => {
  for (const service of running.splice(0)) await service.stop();
});

export async function localStreams(
  posts: readonly ArchivedPost[] = [],
  options: ServiceOptions = {},
): Promise<Streams> {
  const archive = new MemoryArchive(posts);
  const errors: unknown[] = [];
  const service = createService({
    limits: 'relaxed',
    archive,
    onError: error => errors.push(error),
    ...options,
  });
  running.push(service);
  service.clock.freeze();
  service.clock.set(NOW);
  const addresses = await service.start();
  const open: Streams['open'] = (path, headers) => connect(addresses.baseUrl + path, headers);
  const rules: Streams['rules'] = async (method, at, body) => {
    const url = `${addresses.rulesUrl}/rules/rulestream-replay/accounts/local/publishers/twitter/replay${at}`;
    const response = await fetch(url, {
      method,
      headers: { authorization: AUTHORIZATION, 'content-type': 'application/json' },
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  return {
    service,
    addresses,
    archive,
    errors,
    open,
    see: async (path, headers) => (await open(path, headers)).end(),
    replayPath: (type = 'firehose', from = START, to = END) =>
      `/replay/${type}/accounts/local/publishers/twitter/replay.json` +
      `?fromDate=${formatTimestamp(from)}&toDate=${formatTimestamp(to)}`,
    async addRules(...wanted) {
      const { status, text } = await rules('POST', '.json', { rules: wanted });
      if (status !== 201) throw new Error(`${status} ${text}`);
      return [...text.matchAll(/"id":(\d+)/g)].map(match => match[1] as string);
    },
    rules,
  };
}

export function connect(url: string, headers: http.OutgoingHttpHeaders = {}): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const request = http.get(url, {
      agent: false,
      headers: { authorization: AUTHORIZATION, 'accept-encoding': 'gzip', ...headers },
    });
    request.on('error', reject);
    request.on('response', response => {
      request.off('error', reject).on('error', () => {}); // the response emits the same error
      const chunks: Buffer[] = [];
      let error: string | undefined;
      let wake = () => {};
      const read = () => textOf(Buffer.concat(chunks), response.headers);
      response.on('data', chunk => {
        chunks.push(chunk);
        wake();
      });
      response.on('error', (reason: NodeJS.ErrnoException) => {
        error = reason.code;
      });
      const closed = new Promise<void>(done => response.on('close', done));
      closed.then(() => wake());
      const status = response.statusCode as number;
      resolve({
        status,
        headers: response.headers,
        text: read,
        async until(isEnough) {
          for (;;) {
            const text = read();
            if (isEnough(text)) return text;
            if (response.closed) throw new Error(`The stream ended after ${text.slice(-200)}`);
            await new Promise<void>(done => {
              wake = done;
            });
          }
        },
        pause: () => void response.pause(),
        resume: () => void response.resume(),
        destroy: () => void response.destroy(),
        async end() {
          await closed;
          const text = read();
          return {
            status,
            headers: response.headers,
            wire: Buffer.concat(chunks),
            text,
            messages: text.split('\r\n').filter(message => message !== ''),
            complete: response.complete,
            error,
          };
        },
      });
    });
  });
}

function textOf(wire: Buffer, headers: http.IncomingHttpHeaders): string {
  return readable(wire, headers).toString();
}

/** Decompresses gzip data, which may be cut. */
function readable(wire: Buffer, headers: http.IncomingHttpHeaders): Buffer {
  if (headers['content-encoding'] !== 'gzip' || wire.length === 0) return wire;
  return gunzipSync(wire, { finishFlush: constants.Z_SYNC_FLUSH });
}

export function hourOfPosts(count = 60, text = (i: number) => `tea number ${i}`): ArchivedPost[] {
  return Array.from({ length: count }, (_, i) =>
    originalPost(START + i * MINUTE, String(1_790_000_000_000_000_000n + BigInt(i)), text(i)),
  );
}

export function idsIn(messages: readonly string[]): string[] {
  return messages.flatMap(message => /"id_str":"(\d+)"/.exec(message)?.[1] ?? []);
}

export function idOf(i: number): string {
  return String(1_790_000_000_000_000_000n + BigInt(i));
}

/**
 * Returns the ids of the hour's posts from the index `from` (inclusive) to the index `to`
 * (exclusive).
 */
export const range = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => idOf(from + i));
