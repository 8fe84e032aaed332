import { MillraceError } from '../errors.js';
import type { JetStreamFailure } from './jet-stream-error.js';

/** What an error of the NATS client says. */
export interface Failure {
  /** `undefined` for an error that is not of the client. */
  readonly failure: Extract<JetStreamFailure, 'outage' | 'full' | 'refused' | 'stream'> | undefined;
  readonly text: string;
  /** Whether the same request may succeed later. */
  readonly mayPass: boolean;
}

/** Error codes of the servers, from errors.json of nats-server. */
const CODES = {
  /** Storage of the account or server is exhausted. */
  full: new Set([10023, 10028, 10047, 10077, 10002]),
  /** No leader, no quorum, not ready yet, or the disk failed. */
  outage: new Set([10004, 10005, 10008, 10009, 10035, 10039, 10076, 10118]),
  stream: new Set([10059, 10060]),
};

/** An answer of a server that does not lead and only has what it last knew. */
export class StaleAnswer extends Error {
  override readonly name = 'StaleAnswer';
}

/** Errors of the client while a server is out of reach, by their names. */
const OUTAGES = new Set([
  ...['TimeoutError', 'NoResponders', 'RequestError', 'ConnectionError'],
  ...['ClosedConnectionError', 'DrainingConnectionError', 'JetStreamNotEnabled'],
  ...['JetStreamError', 'JetStreamStatusError', 'ConsumerNotFoundError', 'ProtocolError'],
  // Of a login that came too late; others are refusals.
  'AuthorizationError',
]);
const REFUSED_LOGINS = new Set(['AuthorizationError', 'UserAuthenticationExpiredError']);

/** A connection that needs other TLS settings. */
const TLS = /\btls\b|\bssl\b|certificate|handshake|altnames/i;

/** Classifies an error by its name and code, so that nothing is imported before it is needed. */
export function failureOf(error: unknown): Failure {
  if (!(error instanceof Error) || error instanceof MillraceError)
    return { failure: undefined, text: String(error), mayPass: false };
  const text = messageOf(error);
  const chain = [...causesOf(error)];
  if (chain.some(isRefusal)) return { failure: 'refused', text, mayPass: false };
  const { code, status } = error as { readonly code?: unknown; readonly status?: unknown };
  // A node that no longer leads says so without a code.
  if (code === undefined && status === 503) return { failure: 'outage', text, mayPass: true };
  if (typeof code === 'number') {
    if (CODES.full.has(code)) return { failure: 'full', text, mayPass: true };
    if (CODES.outage.has(code) || status === 503) return { failure: 'outage', text, mayPass: true };
    if (CODES.stream.has(code)) return { failure: 'stream', text, mayPass: false };
    if (error.name !== 'ConsumerNotFoundError' && error.name !== 'JetStreamStatusError')
      return { failure: 'refused', text, mayPass: false };
  }
  if (error instanceof StaleAnswer) return { failure: 'outage', text, mayPass: true };
  if (OUTAGES.has(error.name) || chain.some(isSystemError))
    return { failure: 'outage', text, mayPass: true };
  return { failure: undefined, text, mayPass: false };
}

function isRefusal(error: Error): boolean {
  const { name, message } = error;
  return isRefusedLogin(error) || name === 'PermissionViolationError' || TLS.test(message);
}

/**
 * Whether a server has refused the login. Its authentication timeout is not a refusal: a busy client, or a slow link, sent
 * the login too late.
 */
export function isRefusedLogin({ name, message }: Error): boolean {
  return REFUSED_LOGINS.has(name) && !/authentication timeout/i.test(message);
}

function* causesOf(error: Error): Generator<Error> {
  for (let next: unknown = error; next instanceof Error; next = next.cause) yield next;
}

function messageOf(error: Error): string {
  const [first = '', ...causes] = [...causesOf(error)].map(({ message }) => message);
  const more = causes.filter(message => message !== '' && message !== first);
  return more.length === 0 ? first : `${first} (${more.join('; ')})`;
}

function isSystemError(error: Error): boolean {
  return /^E[A-Z]+$/.test(String((error as NodeJS.ErrnoException).code));
}

/** The code of an error of the servers. */
export function codeOf(error: unknown): unknown {
  return error instanceof Error ? (error as { readonly code?: unknown }).code : undefined;
}

/** Whether the servers say that a stream does not exist. */
export function isMissing(error: unknown): boolean {
  return codeOf(error) === 10059;
}

/** Whether nobody has answered a message to a stream: there is no JetStream, or no such stream. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof Error && error.name === 'JetStreamNotEnabled';
}
