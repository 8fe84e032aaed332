import {
  DataError,
  IncompleteError,
  MillraceError,
  type MillraceErrorOptions,
} from '../base/errors.js';
import type { Cursor } from '../flow/flow.js';

/**
 * How a publisher or reader of a stream failed:
 * - `packages`: the NATS client is not installed;
 * - `refused`: the servers refuse the login, a permission or a request;
 * - `outage`: the servers were unreachable or had no leader for longer than `maxOutageMs`;
 * - `full`: the stream or the disk of its servers had no space for longer than `maxOutageMs`;
 * - `stream`: the stream or the bucket of publishers does not exist, was deleted, or has settings other than
 *   those requested;
 * - `in-use`: another process publishes under this name;
 * - `taken-over`: another process has started to publish under this name, so this process stopped;
 * - `publisher`: the stored entry of this publisher belongs to another flow, is damaged, or is too large.
 */
export type JetStreamFailure =
  | 'packages'
  | 'refused'
  | 'outage'
  | 'full'
  | 'stream'
  | 'in-use'
  | 'taken-over'
  | 'publisher';

/** Thrown when a publisher or reader of a JetStream stream cannot continue. The message tells what to do. */
export class JetStreamError extends MillraceError {
  readonly code = 'ERR_JETSTREAM';
  readonly failure: JetStreamFailure;
  /**
   * The cursor from which the same script continues. For a publisher, this is the last committed cursor. For
   * a reader, this is the cursor after the last delivered posts.
   */
  override readonly cursor: Cursor | undefined;

  constructor(
    message: string,
    details: MillraceErrorOptions & {
      readonly failure: JetStreamFailure;
      readonly cursor?: Cursor | undefined;
    },
  ) {
    super(message, details);
    this.failure = details.failure;
    this.cursor = details.cursor;
  }
}

/**
 * A range of messages that `fromJetStream` could not deliver. Either the stream has dropped or deleted them,
 * or the servers have acknowledged messages of a publisher and then lost them.
 */
export interface JetStreamGap {
  /** The subject on which the posts may have been. */
  readonly subject: string;
  /**
   * The publisher whose messages are missing. If set, `from` and `to` are positions among its messages on the
   * subject. Otherwise, they are sequences of the stream.
   */
  readonly publisher?: string | undefined;
  /** The first missing sequence or position. */
  readonly from: number;
  /** The last missing sequence or position. */
  readonly to: number;
}

export function incomplete(
  stream: string,
  gaps: readonly JetStreamGap[],
  cursor: Cursor,
): IncompleteError {
  const missing = gaps.map(gap => `${gap.subject}: ${shownGap(gap)}`);
  const what = missing.join('; ');
  return new IncompleteError(
    gaps[0]?.publisher === undefined
      ? `The stream ${stream} no longer has ${what}: dropped or deleted before this reader reached it. Pass \`onGap\` to continue behind them, and give the stream a larger \`maxBytes\` or \`maxAgeMs\``
      : `The stream ${stream} does not have ${what}: its servers acknowledged these messages and have lost them. Pass \`onGap\` to continue without them, and read the posts from their source again`,
    { missing, cursor },
  );
}

function shownGap({ publisher, from, to }: JetStreamGap): string {
  const what = publisher === undefined ? 'sequence' : 'position';
  const range = from === to ? `${what} ${from}` : `${what}s ${from} to ${to}`;
  return publisher === undefined ? range : `${range} of the publisher ${publisher}`;
}

interface MessagePlace {
  readonly stream: string;
  readonly subject: string;
  readonly seq: number;
}

/**
 * Adds the place of a message, and advice, to an error about its bytes, headers or items. Returns any error
 * other than a `DataError` unchanged.
 */
export function errorOfMessage(
  { stream, subject, seq }: MessagePlace,
  error: unknown,
  advice = '',
): unknown {
  if (!(error instanceof DataError)) return error;
  const origin = `sequence ${seq} of the subject ${subject} of the stream ${stream}`;
  return new DataError(error.message, { cause: error, position: { origin }, advice });
}

export function errorOfOwnMessage(place: MessagePlace, error: unknown, key: string): unknown {
  const advice = `Delete the message (\`nats stream rmm ${place.stream} ${place.seq}\`), and the entry of the publisher ${key} to publish everything again`;
  return errorOfMessage(place, error, advice);
}

interface Failure {
  /** The kind of failure. `undefined` if the error does not come from the client. */
  readonly failure: Extract<JetStreamFailure, 'outage' | 'full' | 'refused' | 'stream'> | undefined;
  readonly text: string;
  /** Whether the same request may succeed later. */
  readonly mayPass: boolean;
}

/** Error codes of the servers, from errors.json of nats-server. */
const CODES = {
  /** The storage of the account or of the server is full. */
  full: new Set([10023, 10028, 10047, 10077, 10002]),
  /** There is no leader or no quorum, a server is not ready yet, or its disk has failed. */
  outage: new Set([10004, 10005, 10008, 10009, 10035, 10039, 10076, 10118]),
  stream: new Set([10059, 10060]),
};

/**
 * Thrown if an answer is missing, or if it may be outdated because the server that gave it is not the leader.
 */
export class StaleAnswer extends Error {
  override readonly name = 'StaleAnswer';
}

/**
 * Thrown if no stream has the subject of a message. It has the same name as the client's error for any other
 * request without an answer, so that both are handled alike.
 */
export class NotStored extends Error {
  override readonly name = 'JetStreamNotEnabled';
}

/**
 * The names of errors that `kindOf` classifies as an outage. It tests for refusals and for known error codes
 * first.
 */
const OUTAGES = new Set([
  'TimeoutError',
  'NoResponders',
  'RequestError',
  'ConnectionError',
  'ClosedConnectionError',
  'DrainingConnectionError',
  'JetStreamNotEnabled',
  'JetStreamError',
  'JetStreamStatusError',
  'ConsumerNotFoundError',
  'ProtocolError',
  // An authorization error is an outage only if the authentication has timed out. Otherwise, `kindOf`
  // has already classified it as a refusal.
  'AuthorizationError',
]);
const REFUSED_LOGINS = new Set(['AuthorizationError', 'UserAuthenticationExpiredError']);

const TLS = /\btls\b|\bssl\b|certificate|handshake|altnames/i;

/**
 * Classifies an error of the NATS client by its name and code. `instanceof` cannot be used, because the
 * client is not loaded before the first connection.
 */
export function clientFailure(error: unknown): Failure {
  if (!(error instanceof Error) || error instanceof MillraceError)
    return { failure: undefined, text: String(error), mayPass: false };
  const failure = kindOf(error);
  return { failure, text: messageOf(error), mayPass: failure === 'outage' || failure === 'full' };
}

function kindOf(error: Error): Failure['failure'] {
  const chain = [...causesOf(error)];
  if (chain.some(isRefusal)) return 'refused';
  const { code, status } = error as { readonly code?: unknown; readonly status?: unknown };
  // A server that is no longer the leader answers with status 503 and no code.
  if (code === undefined && status === 503) return 'outage';
  if (typeof code === 'number') {
    if (CODES.full.has(code)) return 'full';
    if (CODES.outage.has(code) || status === 503) return 'outage';
    if (CODES.stream.has(code)) return 'stream';
    if (error.name !== 'ConsumerNotFoundError' && error.name !== 'JetStreamStatusError')
      return 'refused';
  }
  const isOutage = error instanceof StaleAnswer || OUTAGES.has(error.name);
  return isOutage || chain.some(isSystemError) ? 'outage' : undefined;
}

function isRefusal(error: Error): boolean {
  const { name, message } = error;
  return isRefusedLogin(error) || name === 'PermissionViolationError' || TLS.test(message);
}

/**
 * Whether a server has refused the login. An authentication timeout is not a refusal: the login only arrived
 * too late, from a busy client or over a slow link.
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
  const { code, path } = error as NodeJS.ErrnoException;
  // An error with a path is about a file, such as the file that holds the login. It is not an
  // outage.
  return /^E[A-Z]+$/.test(String(code)) && path === undefined;
}

export function codeOf(error: unknown): unknown {
  return error instanceof Error ? (error as { readonly code?: unknown }).code : undefined;
}

/** Whether the servers report that a stream does not exist. */
export function isMissing(error: unknown): boolean {
  return codeOf(error) === 10059;
}
