import { ConnectionError, type ConnectionFailure } from '../errors.js';

/** Codes of a connection that was never made. */
const REFUSED: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'its name could not be looked up',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'it did not answer in time',
  UND_ERR_CONNECT_TIMEOUT: 'it did not answer in time',
};

/** What undici says of a broken connection, in our words. `answering`: the answer had begun. */
export function brokenConnection(cause: Error, url: string, answering: boolean): ConnectionError {
  const code = codeOf(cause);
  const details = { url, cause: withoutData(cause) };
  const refused = REFUSED[code];
  if (refused !== undefined && !answering)
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
  // A reset in the middle of an answer may look like an orderly end: both are worth another try.
  const failure: ConnectionFailure = answering && code !== 'ECONNRESET' ? 'cut' : 'reset';
  const what = failure === 'cut' ? 'ended before its end' : 'was reset';
  return new ConnectionError(
    `${answering ? 'The answer of' : 'The connection to'} ${url} ${what} (${code})`,
    { ...details, failure },
  );
}

/** Nothing came for `ms` milliseconds. */
export function stalledConnection(url: string, ms: number, answering: boolean): ConnectionError {
  const what = answering ? `sent nothing for ${ms} ms` : `did not begin to answer within ${ms} ms`;
  return new ConnectionError(`${url} ${what}`, { url, failure: 'stalled' });
}

/** An answer that ended in good order as HTTP goes, but not as its content does. */
export function cutResponse(url: string, what: string, cause?: unknown): ConnectionError {
  return new ConnectionError(`The answer of ${url} is cut short: ${what}`, {
    url,
    failure: 'cut',
    cause,
  });
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

/** Why TLS was not agreed upon; `undefined` for what has nothing to do with it. */
function handshakeFailure(code: string): string | undefined {
  if (/^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/.test(code))
    return `the server does not answer in TLS (${code}). If it speaks plain HTTP, use http:// instead, which is for servers of this machine only`;
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code))
    return `its certificate is not trusted (${code}). A private authority can be named in NODE_EXTRA_CA_CERTS`;
  if (/^ERR_(SSL|TLS)/.test(code)) return `the TLS handshake failed (${code})`;
  return undefined;
}

/** A parser's error holds a piece of the answer, and an answer may echo what it was sent. */
function withoutData(error: Error): Error {
  if (!('data' in error)) return error;
  return Object.assign(new Error(error.message), { code: codeOf(error) });
}
