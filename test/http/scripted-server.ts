import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { gzipSync } from 'node:zlib';

export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** The parameters, from the query string or the body. */
  readonly params: Readonly<Record<string, unknown>>;
}

export type Reply = (response: ServerResponse, request: Received) => unknown;

export class ScriptedServer {
  readonly received: Received[] = [];
  readonly sockets = new Set<Socket>();
  /** The next replies, in order. When the list is empty, `otherwise` is used. */
  readonly script: Reply[] = [];
  otherwise: Reply = response => {
    response.statusCode = 500;
    response.end('nothing is left in the script');
  };
  /** The clock for the `Date` header. If there is none, responses have no `Date` header. */
  now: (() => number) | undefined;
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response));
    // Clients keep an idle connection for as long as the server says. With this value, connections
    // stay reusable for 5 minutes.
    this.#server.keepAliveTimeout = 300_000;
    this.#server.on('connection', socket => {
      this.sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => this.sockets.delete(socket));
    });
  }

  async start(): Promise<this> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise(resolve => this.#server.close(resolve));
    this.received.splice(0);
    this.script.splice(0);
  }

  /**
   * Resets all open connections and each new one. After `stop()`, another process could listen on
   * the port and answer.
   */
  resetConnections(): void {
    for (const socket of this.sockets) socket.resetAndDestroy();
    this.#server.on('connection', socket => socket.resetAndDestroy());
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /**
   * Waits until at most `left` connections are open. Returns how long this took, in milliseconds.
   */
  async closed(left = 0): Promise<number> {
    const start = performance.now();
    while (this.sockets.size > left) await new Promise(resolve => setTimeout(resolve, 1));
    return performance.now() - start;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.sendDate = false;
    if (this.now !== undefined) response.setHeader('date', new Date(this.now()).toUTCString());
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const { method = '', url = '', headers } = request;
    const query = Object.fromEntries(new URL(url, 'http://x').searchParams);
    const params = body.startsWith('{') ? JSON.parse(body) : query;
    const received = { method, url, headers, body, params };
    this.received.push(received);
    await (this.script.shift() ?? this.otherwise)(response, received);
  }
}

export function json(value: unknown, { gzip = false } = {}): Reply {
  return response => {
    const body = Buffer.from(JSON.stringify(value));
    if (gzip) response.setHeader('content-encoding', 'gzip');
    response.end(gzip ? gzipSync(body) : body);
  };
}

export function status(code: number, body = '', headers: Record<string, string> = {}): Reply {
  return response => {
    response.writeHead(code, headers);
    response.end(body);
  };
}

export const reset: Reply = response => response.socket?.resetAndDestroy();

export function cut(
  value: unknown,
  how: 'length' | 'chunked' | 'reset' | 'document',
  atByte?: number,
): Reply {
  return async response => {
    const whole = Buffer.from(JSON.stringify(value));
    const part = whole.subarray(0, atByte ?? Math.floor(whole.length / 2));
    if (how === 'document') return void response.end(part);
    if (how === 'length') response.setHeader('content-length', whole.length);
    response.flushHeaders();
    await new Promise(resolve => response.write(part, resolve));
    if (how === 'reset') response.socket?.resetAndDestroy();
    else response.socket?.end();
  };
}

export function stall(value: unknown): Reply {
  return response => {
    const whole = Buffer.from(JSON.stringify(value));
    response.write(whole.subarray(0, Math.floor(whole.length / 2)));
  };
}

export const silence: Reply = () => {};
