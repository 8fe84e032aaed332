import { ConnectionError, type ConnectionFailure } from '../errors.js';

/** Codes of a connection that could not be made. */
const REFUSED: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'the host does not exist',
  EAI_AGAIN: 'its name could not be looked up',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'it did not answer in time',
  UND_ERR_CONNECT_TIMEOUT: 'it did not answer in time',
};

/** The error of a broken connection, from undici's. `hasBegun`: the response had begun. */
export function brokenConnection(cause: Error, url: string, hasBegun: boolean): ConnectionError {
  const code = codeOf(cause);
  const details = { url, cause: withoutData(cause) };
  const refused = REFUSED[code];
  if (refused !== undefined && !hasBegun)
    return new ConnectionError(`No connection for ${url}: ${refused} (${code})`, {
      ...details,
      failure: 'refused',
    });
  const handshake = handshakeFailure(code);
  if (handshake !== undefined)
    return new ConnectionError(`No connection for ${url}: ${handshake}`, {
      ...details,
      failure: 'refused',
      retryable: false,
    });
  // A reset in the middle of a response may look like an orderly end: both can be retried.
  const failure: ConnectionFailure = hasBegun && code !== 'ECONNRESET' ? 'cut' : 'reset';
  const what = failure === 'cut' ? 'ended before its end' : 'was reset';
  return new ConnectionError(
    `${hasBegun ? 'The response of' : 'The connection to'} ${url} ${what} (${code})`,
    { ...details, failure },
  );
}

/** The error of a connection that sent nothing for `ms` milliseconds. */
export function stalledConnection(url: string, ms: number, hasBegun: boolean): ConnectionError {
  const what = hasBegun ? `sent nothing for ${ms} ms` : `did not begin to answer within ${ms} ms`;
  return new ConnectionError(`${url} ${what}`, { url, failure: 'stalled' });
}

/** A response that is complete as HTTP, while its content is not. */
export function cutResponse(url: string, what: string, cause?: unknown): ConnectionError {
  return new ConnectionError(`The response of ${url} is cut short: ${what}`, {
    url,
    failure: 'cut',
    cause,
  });
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

/** Why the TLS handshake failed; `undefined` for other codes. */
function handshakeFailure(code: string): string | undefined {
  if (/^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/.test(code))
    return `the server does not answer in TLS (${code}). If it speaks plain HTTP, use http:// instead, which is for servers of this machine only`;
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code))
    return `its certificate is not trusted (${code}). A private authority can be named in NODE_EXTRA_CA_CERTS`;
  if (/^ERR_(SSL|TLS)/.test(code)) return `the TLS handshake failed (${code})`;
  return undefined;
}

/** A parser's error holds a piece of the response, and a response may echo what it was sent. */
function withoutData(error: Error): Error {
  if (!('data' in error)) return error;
  return Object.assign(new Error(error.message), { code: codeOf(error) });
}
