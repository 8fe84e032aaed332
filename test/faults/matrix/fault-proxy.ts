import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { constants, createGunzip, createGzip } from 'node:zlib';
import { isItem } from './bare-client.js';

export interface Tampering {
  /** Changes only responses to requests whose path contains this string. */
  readonly path: string;
  /** The number of matching responses that are first forwarded unchanged. @default 0 */
  skip?: number;
  /** The number of responses to change after the skipped ones. @default 1 */
  times?: number;
  /**
   * Changes each record of the decompressed body of a stream or file, in which each record is a
   * line. `document` changes the body of any other response as a whole.
   */
  readonly lines?: ((line: string, index: number) => string) | undefined;
  readonly document?: ((text: string) => string) | undefined;
  /**
   * Sends the compressed bytes in pieces of these sizes. If the system allows it, each piece is a
   * separate packet.
   */
  readonly pieces?: (() => number) | undefined;
  /** The number of pieces that were sent, not counting the last piece of each chunk. */
  splits?: number;
}

export interface SeenResponse {
  readonly path: string;
  readonly status: number;
  /** The bytes of its body so far, if `keepsBodies` is set and the body was not changed. */
  readonly chunks: Buffer[];
}

/**
 * A proxy in front of the local service that can change responses. The addresses of data files in
 * responses lead through it, too.
 */
export class FaultProxy {
  readonly #server: Server;
  readonly #target: string;
  readonly #agent = new Agent({ keepAlive: true });
  /** The responses, in the order in which their heads were forwarded. */
  readonly seen: SeenResponse[] = [];
  keepsBodies = false;
  onResponse: (seen: SeenResponse) => void = () => {};
  /** The changes to make. The first one that matches a response is applied to it. */
  tamperings: Tampering[] = [];

  private constructor(target: string) {
    this.#target = target;
    this.#server = createServer((incoming, outgoing) => {
      this.#forward(incoming, outgoing).catch(() => outgoing.destroy());
    });
    this.#server.on('connection', socket => socket.setNoDelay(true));
  }

  static async open(target: string): Promise<FaultProxy> {
    const proxy = new FaultProxy(target);
    await new Promise<void>(resolve => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#agent.destroy();
    this.#server.closeAllConnections();
    await new Promise(resolve => this.#server.close(resolve));
  }

  async #forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const path = incoming.url ?? '/';
    const [, files, rest] = /^\/_files\/(\d+)(\/.*)$/.exec(path) ?? [];
    const target = files === undefined ? this.#target + path : `http://127.0.0.1:${files}${rest}`;
    const { host, ...headers } = incoming.headers;
    // OAuth signs the address too, so the request must have the address of the service itself.
    const isSigned = headers.authorization?.startsWith('OAuth ');
    const upstream = request(target, {
      method: incoming.method,
      headers: isSigned ? { ...headers, host } : headers,
      agent: this.#agent,
    });
    incoming.pipe(upstream);
    outgoing.on('close', () => upstream.destroy());
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      upstream.on('response', resolve).on('error', reject);
    });
    const tampering = this.#take(path, response);
    const seen = { path, status: response.statusCode ?? 502, chunks: [] as Buffer[] };
    this.seen.push(seen);
    this.onResponse(seen);
    const isListing = /\/results\.json|\/jobs/.test(path) && !/\/_files\//.test(path);
    const { 'content-length': __, 'transfer-encoding': ___, ...kept } = response.headers;
    if (tampering?.pieces !== undefined) {
      outgoing.writeHead(response.statusCode ?? 502, kept);
      for await (const chunk of response) await writePieces(outgoing, chunk as Buffer, tampering);
    } else if (tampering === undefined && !isListing) {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      outgoing.flushHeaders();
      for await (const chunk of response) {
        if (this.keepsBodies) seen.chunks.push(chunk as Buffer);
        outgoing.write(chunk);
      }
    } else {
      if (this.keepsBodies && tampering === undefined)
        response.on('data', (chunk: Buffer) => seen.chunks.push(chunk));
      await this.#rewrite(response, outgoing, kept, path, tampering);
    }
    outgoing.end();
  }

  #redirected(text: string): string {
    return text.replaceAll(
      /http:\/\/127\.0\.0\.1:(\d+)\/snapshots/g,
      `${this.url}/_files/$1/snapshots`,
    );
  }

  async #rewrite(
    response: IncomingMessage,
    outgoing: ServerResponse,
    { 'content-encoding': encoding, ...headers }: IncomingMessage['headers'],
    path: string,
    { lines, document }: Partial<Tampering> = {},
  ): Promise<void> {
    // Data files are gzip, although their responses have no content encoding.
    const isFile = encoding === undefined && path.includes('.json.gz');
    const isGzip = encoding === 'gzip' || isFile;
    outgoing.writeHead(response.statusCode ?? 502, {
      ...headers,
      ...(isGzip && !isFile ? { 'content-encoding': 'gzip' } : {}),
    });
    outgoing.flushHeaders();
    const inflated = isGzip
      ? response.pipe(createGunzip({ finishFlush: constants.Z_SYNC_FLUSH }))
      : response;
    const sink = isGzip ? createGzip() : undefined;
    sink?.on('data', chunk => outgoing.write(chunk));
    const send = async (text: string) => {
      if (sink === undefined) outgoing.write(text);
      else {
        sink.write(text);
        await new Promise<void>(resolve => sink.flush(constants.Z_SYNC_FLUSH, resolve));
      }
    };
    let index = 0;
    let rest = Buffer.alloc(0);
    for await (const chunk of inflated) {
      rest = Buffer.concat([rest, chunk as Buffer]);
      if (lines === undefined) continue;
      for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
        const line = rest.subarray(0, end + 1).toString();
        rest = rest.subarray(end + 1);
        await send(isItem(line) ? lines(line, index++) : line);
      }
    }
    const text = this.#redirected(rest.toString());
    await send(document?.(text) ?? text);
    if (sink !== undefined) {
      sink.end();
      await new Promise(resolve => sink.once('end', resolve));
    }
  }

  #take(path: string, { statusCode }: IncomingMessage): Tampering | undefined {
    if (statusCode !== 200) return undefined;
    const tampering = this.tamperings.find(one => path.includes(one.path) && (one.times ?? 1) > 0);
    if (tampering === undefined) return undefined;
    if ((tampering.skip ?? 0) > 0) {
      tampering.skip = (tampering.skip ?? 0) - 1;
      return undefined;
    }
    tampering.times = (tampering.times ?? 1) - 1;
    return tampering;
  }
}

async function writePieces(
  outgoing: ServerResponse,
  chunk: Buffer,
  tampering: Tampering,
): Promise<void> {
  for (let at = 0; at < chunk.length; ) {
    const next = at + Math.max(1, tampering.pieces?.() ?? chunk.length);
    if (next < chunk.length) tampering.splits = (tampering.splits ?? 0) + 1;
    outgoing.write(chunk.subarray(at, next));
    at = next;
    await setImmediate();
  }
}
