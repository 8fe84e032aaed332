import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream';

export type Tunnel = (socket: Duplex, request: IncomingMessage) => unknown;

/**
 * A real proxy. All of its tunnels lead to one port of this machine, whatever host a client asks
 * for.
 */
export class ProxyServer {
  readonly asked: { readonly target: string; readonly authorization: string | undefined }[] = [];
  readonly sockets = new Set<Duplex>();
  /** What to do with the next tunnels, in order. When the list is empty, `otherwise` is used. */
  readonly script: Tunnel[] = [];
  otherwise: Tunnel;
  /** The credentials that the proxy requires, as `user:password`. */
  login: string | undefined;
  readonly #server: Server;
  readonly #isTls: boolean;

  constructor(port: number, tls?: { readonly key: string; readonly cert: string }) {
    this.#isTls = tls !== undefined;
    this.#server = tls === undefined ? createServer() : createTlsServer(tls);
    this.#server.on('request', (_request, response) => {
      response.statusCode = 405;
      response.end('tunnels only');
    });
    this.#server.on('connect', (request, socket) => this.#answer(request, socket));
    this.#server.on('connection', (socket: Socket) => this.#keep(socket));
    this.#server.on('tlsClientError', () => {});
    this.otherwise = tunnelTo(port, upstream => this.#keep(upstream));
  }

  async start(): Promise<this> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.#server.closeAllConnections();
    await new Promise(resolve => this.#server.close(resolve));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `${this.#isTls ? 'https' : 'http'}://127.0.0.1:${this.port}`;
  }

  /** Waits until no connection is open. Returns how long this took, in milliseconds. */
  async closed(): Promise<number> {
    const start = performance.now();
    while (this.sockets.size > 0) await new Promise(resolve => setTimeout(resolve, 1));
    return performance.now() - start;
  }

  #keep(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.sockets.delete(socket));
  }

  #answer(request: IncomingMessage, socket: Duplex): void {
    socket.on('error', () => {});
    const { 'proxy-authorization': authorization } = request.headers;
    this.asked.push({ target: request.url ?? '', authorization });
    const expected = `Basic ${Buffer.from(this.login ?? '').toString('base64')}`;
    const isAllowed = this.login === undefined || authorization === expected;
    const tunnel = isAllowed ? (this.script.shift() ?? this.otherwise) : UNAUTHORIZED;
    tunnel(socket, request);
  }
}

const ESTABLISHED = 'HTTP/1.1 200 Connection Established\r\n\r\n';

function tunnelTo(port: number, onUpstream: (socket: Socket) => void): Tunnel {
  return socket => {
    const upstream = connect(port, '127.0.0.1', () => {
      socket.write(ESTABLISHED);
      pipeline(socket, upstream, () => {});
      pipeline(upstream, socket, () => {});
    });
    onUpstream(upstream);
  };
}

/**
 * Refuses CONNECT with a status. The response repeats the headers of the request, including the
 * credentials, as some proxies do.
 */
export function refuse(code: number, ...headers: readonly string[]): Tunnel {
  return (socket, request) => {
    const echo = JSON.stringify(request.headers);
    const head = [`HTTP/1.1 ${code} Told ${echo}`, `Content-Length: ${echo.length}`, ...headers];
    socket.end(`${head.join('\r\n')}\r\n\r\n${echo}`);
  };
}

export const stalledProxy: Tunnel = socket => untilClosed(socket);

export const closingProxy: Tunnel = socket => socket.destroy();

export const babblingProxy: Tunnel = socket => socket.end('SSH-2.0-OpenSSH\r\n');

export const deafTunnel: Tunnel = socket => untilClosed(socket).write(ESTABLISHED);

export const closingTunnel: Tunnel = socket => {
  socket.write(ESTABLISHED);
  socket.once('data', () => socket.destroy());
};

const UNAUTHORIZED = refuse(407, 'Proxy-Authenticate: Basic realm="proxy"');

/**
 * Ends the socket when the client ends it. Otherwise, sockets of an HTTP server would stay half
 * open.
 */
function untilClosed(socket: Duplex): Duplex {
  return socket.resume().on('end', () => socket.end());
}
