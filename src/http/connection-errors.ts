import { type IncomingHttpHeaders, STATUS_CODES } from 'node:http';
import { ConnectionError, type ConnectionFailure } from '../base/errors.js';
import type { HttpProxy } from './http-proxy.js';

const REFUSED: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'the host does not exist',
  EAI_AGAIN: 'its name could not be looked up',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'it did not answer in time',
};

export class ProxyFailure extends Error {
  readonly retryable: boolean;

  constructor(message: string, options: { readonly retryable: boolean; readonly cause?: Error }) {
    super(message, options);
    this.retryable = options.retryable;
  }
}

/** The connection that an error is about: its target and its proxy. */
export interface Way {
  /** The URL of the target, without secrets. */
  readonly url: string;
  readonly proxy?: HttpProxy | undefined;
}

/**
 * Converts an error of undici or of a socket to a `ConnectionError`. `hasBegun` is true if the response had
 * already started.
 */
export function brokenConnection(cause: Error, way: Way, hasBegun: boolean): ConnectionError {
  const code = codeOf(cause);
  const details = { ...shown(way), cause: withoutData(cause) };
  const none = `No connection for ${described(way)}`;
  if (cause instanceof ProxyFailure)
    return new ConnectionError(`No connection for ${way.url}: ${cause.message}`, {
      ...details,
      cause: cause.cause,
      failure: 'refused',
      retryable: cause.retryable,
    });
  const refused = REFUSED[code];
  if (refused !== undefined && !hasBegun)
    return new ConnectionError(`${none}: ${refused} (${code})`, { ...details, failure: 'refused' });
  const handshake = handshakeFailure(code);
  if (handshake !== undefined)
    return new ConnectionError(`${none}: ${handshake}`, {
      ...details,
      failure: 'refused',
      retryable: false,
    });
  // A reset in the middle of a response may also appear as a normal end (`cut`), so both are retryable.
  const failure: ConnectionFailure = hasBegun && code !== 'ECONNRESET' ? 'cut' : 'reset';
  const what = failure === 'cut' ? 'ended before its end' : 'was reset';
  return new ConnectionError(
    `${hasBegun ? 'The response of' : 'The connection to'} ${described(way)} ${what} (${code})`,
    { ...details, failure },
  );
}

export function stalledConnection(way: Way, ms: number, hasBegun: boolean): ConnectionError {
  const what = hasBegun ? `sent nothing for ${ms} ms` : `did not begin to answer within ${ms} ms`;
  return new ConnectionError(`${described(way)} ${what}`, { ...shown(way), failure: 'stalled' });
}

/** Creates the error for a response that is complete as HTTP but has truncated content. */
export function cutResponse(url: string, what: string, cause?: unknown): ConnectionError {
  return new ConnectionError(`The response of ${url} is cut short: ${what}`, {
    url,
    failure: 'cut',
    cause,
  });
}

export function unusableProxy(proxy: HttpProxy, cause: Error): ProxyFailure {
  if (cause instanceof ProxyFailure) return cause;
  const code = codeOf(cause);
  const { url, variable } = proxy;
  const handshake = /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/.test(code)
    ? `it does not answer in TLS (${code}). If it speaks plain HTTP, write http:// in ${variable}`
    : handshakeFailure(code);
  const reset = `it closed the connection without an answer to CONNECT (${code})`;
  const refused = REFUSED[code];
  const what =
    handshake ??
    (refused === undefined ? undefined : `${refused} (${code})`) ??
    (code.startsWith('HPE_') ? `it does not answer as an HTTP proxy (${code})` : reset);
  return new ProxyFailure(`the proxy ${url.origin} of ${variable} cannot be used: ${what}`, {
    retryable: handshake === undefined,
    cause: withoutData(cause),
  });
}

export function refusedTunnel(
  { url, variable, authorization }: HttpProxy,
  status: number,
  headers: IncomingHttpHeaders,
): ProxyFailure {
  const answered = `the proxy ${url.origin} of ${variable} answered CONNECT with ${status} ${STATUS_CODES[status] ?? ''}`;
  return new ProxyFailure(`${answered.trim()}${hint()}`, {
    retryable: status >= 500 || status === 408 || status === 429,
  });

  function hint(): string {
    if (status === 403) return '. Its rules do not allow this host';
    if (status !== 407) return '';
    const schemes = String(headers['proxy-authenticate'] ?? '').match(
      /\b(?:Digest|Negotiate|NTLM|Bearer)\b/gi,
    );
    if (schemes !== null && !/\bBasic\b/i.test(String(headers['proxy-authenticate'])))
      return `. It takes ${[...new Set(schemes)].join(' or ')} logins, and only Basic is supported`;
    return authorization === undefined
      ? `. It needs a login: set ${variable} to ${url.protocol}//USER:PASSWORD@${url.host}, with special characters as %XX`
      : `. Check the user and password in ${variable}; special characters are written as %XX`;
  }
}

function described({ url, proxy }: Way): string {
  return proxy === undefined ? url : `${url} (through the proxy ${proxy.url.origin})`;
}

function shown({ url, proxy }: Way): { readonly url: string; readonly proxy: string | undefined } {
  return { url, proxy: proxy?.url.origin };
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

function handshakeFailure(code: string): string | undefined {
  if (/^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/.test(code))
    return `the server does not answer in TLS (${code}). If it speaks plain HTTP, use http:// instead, which is for servers of this machine only`;
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code))
    return `its certificate is not trusted (${code}). A private authority can be named in NODE_EXTRA_CA_CERTS`;
  if (/^ERR_(SSL|TLS)/.test(code)) return `the TLS handshake failed (${code})`;
  return undefined;
}

/**
 * Removes the part of the response that an error of the HTTP parser contains. The response may echo secrets
 * of the request.
 */
function withoutData(error: Error): Error {
  if (!('data' in error)) return error;
  return Object.assign(new Error(error.message), { code: codeOf(error) });
}
