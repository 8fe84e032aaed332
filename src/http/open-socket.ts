import { once } from 'node:events';
import { type IncomingMessage, maxHeaderSize, request } from 'node:http';
import { isIP, connect as netConnect, type Socket } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import { LinkedAbort, onceAborted } from '../base/abortable.js';
import { refusedTunnel, unusableProxy } from './connection-errors.js';
import { type HttpProxy, portOf } from './http-proxy.js';

/** The delay of TCP keep-alive probes, in milliseconds. Undici uses the same delay for its own sockets. */
const KEEP_ALIVE_MS = 60_000;
const PLAIN = { highWaterMark: 64 * 1024 };
const TLS = { highWaterMark: 16 * 1024, ALPNProtocols: ['http/1.1'] };

export interface OpenSocketOptions {
  readonly proxy?: HttpProxy | undefined;
  /** The time limit for connecting, opening the tunnel and the TLS handshake together, in milliseconds. */
  readonly timeoutMs: number;
  /**
   * If this fires while the socket is being opened, the socket is closed immediately. Undici's connector
   * would keep it until the timeout.
   */
  readonly signal: AbortSignal;
}

/**
 * Opens a socket to the origin of a URL, with TLS for https. If there is a proxy, opens a tunnel through it
 * (CONNECT), even for http, as undici's `ProxyAgent` does by default. Http and https then work in the same
 * way, and the proxy learns nothing about a request except the host and port.
 *
 * @throws ProxyFailure, or an error with a system error code, such as `ETIMEDOUT` after `timeoutMs`.
 */
export async function openSocket(
  target: URL,
  { proxy, timeoutMs, signal }: OpenSocketOptions,
): Promise<Socket> {
  const until = new LinkedAbort(signal);
  until.abortAfter(timeoutMs, () => failure('ETIMEDOUT', `Not within ${timeoutMs} ms`));
  try {
    const socket = await (proxy === undefined
      ? connect(target, until.signal)
      : openTunnel(target, proxy, until.signal));
    return target.protocol === 'https:' ? await secure(socket, target, until.signal) : socket;
  } finally {
    until.unlink();
  }
}

function connect(url: URL, signal: AbortSignal): Promise<Socket> {
  const socket = netConnect({ ...PLAIN, host: hostOf(url), port: portOf(url) });
  socket.setKeepAlive(true, KEEP_ALIVE_MS).setNoDelay(true);
  return opened(socket, 'connect', signal);
}

async function secure(socket: Socket, url: URL, signal: AbortSignal): Promise<Socket> {
  const host = hostOf(url);
  // SNI must contain a host name, never an IP address (RFC 6066 section 3).
  const servername = isIP(host) === 0 ? host : '';
  return opened(tlsConnect({ ...TLS, socket, host, servername }), 'secureConnect', signal);
}

async function openTunnel(target: URL, proxy: HttpProxy, signal: AbortSignal): Promise<Socket> {
  try {
    const plain = await connect(proxy.url, signal);
    const socket = proxy.url.protocol === 'https:' ? await secure(plain, proxy.url, signal) : plain;
    return await askForTunnel(socket, target, proxy, signal);
  } catch (error) {
    throw unusableProxy(proxy, error as Error);
  }
}

async function askForTunnel(
  socket: Socket,
  target: URL,
  proxy: HttpProxy,
  signal: AbortSignal,
): Promise<Socket> {
  const authority = `${target.hostname}:${portOf(target)}`;
  const headers = {
    host: authority,
    ...(proxy.authorization && { 'proxy-authorization': proxy.authorization.reveal() }),
  };
  const createConnection = () => socket;
  const asked = request({ method: 'CONNECT', path: authority, headers, createConnection }).end();
  try {
    // Node emits `connect` for a response with any status, even if the proxy refuses.
    const answer = await once(asked, 'connect', { signal });
    let [{ statusCode = 0, headers }, , head] = answer as [IncomingMessage, Socket, Buffer];
    if (head.length > 0) socket.unshift(head);
    // After a `100 Continue`, the final response is still to come, but Node no longer reads from the socket.
    while (statusCode >= 100 && statusCode < 200)
      ({ statusCode = 0, headers } = await readHead(socket, signal));
    if (statusCode < 200 || statusCode > 299) throw refusedTunnel(proxy, statusCode, headers);
    return socket;
  } catch (error) {
    asked.on('error', () => {});
    socket.destroy();
    throw signal.aborted ? signal.reason : error;
  }
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

/**
 * Reads the head of a response from the proxy: its status, and the headers that explain a refusal. Does not
 * read beyond the head.
 */
async function readHead(
  socket: Socket,
  signal: AbortSignal,
): Promise<Pick<IncomingMessage, 'statusCode' | 'headers'>> {
  const unlink = onceAborted(signal, () => socket.destroy(signal.reason));
  try {
    let bytes = Buffer.alloc(0);
    for await (const block of socket.iterator({ destroyOnReturn: false })) {
      bytes = Buffer.concat([bytes, block]);
      const end = bytes.indexOf('\r\n\r\n');
      if (end === -1 && bytes.length <= maxHeaderSize) continue;
      if (end + 4 < bytes.length) socket.unshift(bytes.subarray(end + 4));
      const [first = '', ...rest] = bytes.toString('latin1', 0, Math.max(0, end)).split('\r\n');
      const status = /^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(first)?.[1];
      if (status === undefined) throw failure('HPE_INVALID_CONSTANT', 'The answer is not HTTP');
      const name = 'proxy-authenticate';
      const schemes = rest.filter(line => line.toLowerCase().startsWith(`${name}:`));
      const headers = { [name]: schemes.map(line => line.slice(name.length + 1)).join(',') };
      return { statusCode: Number(status), headers };
    }
    throw failure('ECONNRESET', 'The socket was closed');
  } finally {
    unlink();
  }
}

/** Resolves to the socket once it is open. If an error or an abort comes first, closes the socket. */
async function opened<S extends Socket>(
  socket: S,
  event: 'connect' | 'secureConnect',
  signal: AbortSignal,
): Promise<S> {
  // An error that occurs before undici has added its listeners must not end the process. Undici then finds a
  // destroyed socket.
  socket.on('error', () => {});
  try {
    await once(socket, event, { signal });
    return socket;
  } catch (error) {
    socket.destroy();
    throw signal.aborted ? signal.reason : error;
  }
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}
