import { redact, redactCause } from './secret.js';

export interface MillraceErrorOptions {
  readonly cause?: unknown;
  /** Whether the same call may succeed later. */
  readonly retryable?: boolean;
}

/**
 * The base of every error that Millrace throws, except aborts, which reject with `signal.reason`. Match on
 * `code`, which is stable; the message is for people and never holds a secret.
 */
export abstract class MillraceError extends Error {
  abstract readonly code: string;
  readonly retryable: boolean;
  /**
   * The cursor to resume from: pass it to the source as `resume`. Set if the error ended a flow that had
   * already delivered a cursor. Items after that cursor may have been delivered, too.
   */
  declare readonly cursor?: unknown;

  constructor(message: string, { cause, retryable = false }: MillraceErrorOptions = {}) {
    super(
      printable(redact(message)),
      cause === undefined ? undefined : { cause: redactCause(cause) },
    );
    this.name = new.target.name;
    this.retryable = retryable;
  }
}

/**
 * Escapes characters that change the direction of text, and control characters except tabs and line feeds.
 * Parts of a message come from responses, files and file names. If such characters were printed, they could
 * reconfigure a terminal or forge a log line.
 */
function printable(message: string): string {
  return message.replace(
    /[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** An invalid option. Thrown before any I/O. */
export class OptionError extends MillraceError {
  readonly code = 'ERR_OPTION';
  readonly option: string;

  constructor(option: string, message: string, options?: MillraceErrorOptions) {
    super(message, options);
    this.option = option;
  }
}

export type HttpErrorDetails = MillraceErrorOptions &
  Pick<HttpError, 'status' | 'method' | 'url' | 'body'> &
  Partial<Pick<HttpError, 'retryAfterMs'>>;

/** An HTTP response whose status is not a success. */
export class HttpError extends MillraceError {
  readonly code: 'ERR_HTTP' | 'ERR_AUTHORIZATION' = 'ERR_HTTP';
  readonly status: number;
  readonly method: string;
  /** The URL of the request, without credentials or signatures. */
  readonly url: string;
  /** The service's own message, or the start of the body if it has no message. */
  readonly body: string;
  readonly retryAfterMs: number | undefined;

  constructor(message: string, details: HttpErrorDetails) {
    super(message, details);
    this.status = details.status;
    this.method = details.method;
    this.url = details.url;
    this.body = redact(details.body);
    this.retryAfterMs = details.retryAfterMs;
  }
}

/**
 * Why a signed request was refused:
 * - `application`: the application id is not approved for engagement totals;
 * - `consumer-key`: the service does not know the application;
 * - `signature`: error 3040, bad signature;
 * - `clock`: the timestamp is too far from the service's time; see `clockSkewMs`;
 * - `nonce`: the nonce was used before;
 * - `callback`: the address is not registered for the application;
 * - `verifier`: the verifier is wrong, or the user has not decided yet;
 * - `token`: the token is unknown, used up, expired or revoked;
 * - `forbidden`: the user has not granted access to the posts of `authorId`, or the token no
 *   longer covers them;
 * - `engagement-type`: the service does not know the requested type of engagement;
 * - `other`: any other reason, which the service's message gives.
 */
export type AuthorizationFailure =
  | 'application'
  | 'consumer-key'
  | 'signature'
  | 'clock'
  | 'nonce'
  | 'callback'
  | 'verifier'
  | 'token'
  | 'forbidden'
  | 'engagement-type'
  | 'other';

/** A signed request that the service refused. The message says what to check. */
export class AuthorizationError extends HttpError {
  override readonly code = 'ERR_AUTHORIZATION';
  readonly failure: AuthorizationFailure;
  /**
   * How far the service's clock is ahead of the clock of this machine, in milliseconds, accurate to 1 s.
   * Negative if the service's clock is behind. Absent if the response had no `Date` header.
   */
  readonly clockSkewMs: number | undefined;
  /** The author whose posts the user has not granted access to. */
  readonly authorId: string | undefined;

  constructor(
    message: string,
    details: HttpErrorDetails &
      Pick<AuthorizationError, 'failure'> &
      Partial<Pick<AuthorizationError, 'clockSkewMs' | 'authorId'>>,
  ) {
    super(message, details);
    this.failure = details.failure;
    this.clockSkewMs = details.clockSkewMs;
    this.authorId = details.authorId;
  }
}

/** A sign-in that failed: the user denied it, or did not answer in time. */
export class SignInError extends MillraceError {
  readonly code = 'ERR_SIGN_IN';
  readonly failure: 'denied' | 'timeout';

  constructor(message: string, details: MillraceErrorOptions & Pick<SignInError, 'failure'>) {
    super(message, details);
    this.failure = details.failure;
  }
}

/**
 * How a connection failed: not established, reset, silent for too long, or closed before the response
 * was complete.
 */
export type ConnectionFailure = 'refused' | 'reset' | 'stalled' | 'cut';

/** A connection that failed or broke. Retryable unless `retryable` says otherwise. */
export class ConnectionError extends MillraceError {
  readonly code = 'ERR_CONNECTION';
  readonly failure: ConnectionFailure;
  readonly url: string;
  /** The proxy that the connection used, without credentials: `http://proxy.example:3128`. */
  readonly proxy: string | undefined;

  constructor(
    message: string,
    details: MillraceErrorOptions &
      Pick<ConnectionError, 'failure' | 'url'> &
      Partial<Pick<ConnectionError, 'proxy'>>,
  ) {
    super(message, { retryable: true, ...details });
    this.failure = details.failure;
    this.url = details.url;
    this.proxy = details.proxy;
  }
}

/** The position of an error in the input. `line` counts from 1, `byteOffset` from 0. */
export interface DataPosition {
  /** The URL or the path of the file. */
  readonly origin?: string | undefined;
  readonly line?: number | undefined;
  readonly byteOffset?: number | undefined;
}

/** Invalid data: damaged gzip, invalid JSON, or a record that exceeds a limit. */
export class DataError extends MillraceError {
  readonly code = 'ERR_DATA';
  readonly position: DataPosition;

  constructor(
    message: string,
    {
      position = {},
      advice = '',
      ...options
    }: MillraceErrorOptions & {
      readonly position?: DataPosition;
      /** How to solve the problem. It is appended to the message. */
      readonly advice?: string;
    } = {},
  ) {
    super(`${message}${describePosition(position)}${advice === '' ? '' : `. ${advice}`}`, options);
    this.position = position;
  }
}

export function orDataError<T>(read: () => T): T | DataError {
  try {
    return read();
  } catch (error) {
    if (error instanceof DataError) return error;
    throw error;
  }
}

/** The run did not get all of the requested data. The message and `missing` list what is missing. */
export class IncompleteError extends MillraceError {
  readonly code = 'ERR_INCOMPLETE';
  /** Missing minutes, ranges or files, in the notation of the service. */
  readonly missing: readonly string[];
  /** The cursor for a new run; pass it as `resume`. */
  override readonly cursor: unknown;
  /** `'budget'` if nothing failed, but the run has used up its option `budget`. */
  readonly reason: 'budget' | undefined;

  constructor(
    message: string,
    details: MillraceErrorOptions &
      Pick<IncompleteError, 'missing'> &
      Partial<Pick<IncompleteError, 'cursor' | 'reason'>>,
  ) {
    super(message, details);
    this.missing = details.missing.map(redact);
    this.cursor = details.cursor;
    this.reason = details.reason;
  }
}

/**
 * Whether an error means that a run has used up its budget. Sinks then still commit the posts that were
 * delivered, because the service has charged for them.
 */
export function isBudgetSpent(error: unknown): boolean {
  return error instanceof IncompleteError && error.reason === 'budget';
}

/**
 * A historical job that will never deliver: it failed, was rejected, has expired, or is not the job that was
 * requested.
 */
export class JobError extends MillraceError {
  readonly code = 'ERR_JOB';
  readonly title: string | undefined;
  readonly uuid: string | undefined;
  /** The last known status of the job. */
  readonly status: string | undefined;

  constructor(
    message: string,
    details: MillraceErrorOptions & Partial<Pick<JobError, 'title' | 'uuid' | 'status'>>,
  ) {
    super(message, details);
    this.title = details.title && redact(details.title);
    this.uuid = details.uuid && redact(details.uuid);
    this.status = details.status && redact(details.status);
  }
}

/** The outcome for one of the rules in a request: whether the service created it, and if not, why. */
export interface RuleResult {
  readonly value: string;
  readonly created: boolean;
  /** The message of the service if the rule was not created. */
  readonly reason?: string | undefined;
}

/** The service refused one or more rules. If any rule in a request is invalid, the request creates none. */
export class RulesError extends MillraceError {
  readonly code = 'ERR_RULES';
  /** The outcome of each rule, in the order in which the rules were sent. */
  readonly results: readonly RuleResult[];

  constructor(message: string, details: MillraceErrorOptions & Pick<RulesError, 'results'>) {
    super(message, details);
    this.results = details.results.map(result =>
      result.reason === undefined ? result : { ...result, reason: redact(result.reason) },
    );
  }
}

/**
 * A file cannot be read or written, or is not the expected one. Examples: the disk is full, or a checkpoint
 * belongs to another flow.
 */
export class StorageError extends MillraceError {
  readonly code = 'ERR_STORAGE';
  readonly path: string;

  constructor(message: string, details: MillraceErrorOptions & { readonly path: string }) {
    super(message, details);
    this.path = details.path;
  }
}

function describePosition({ origin, line, byteOffset }: DataPosition): string {
  const parts = [
    origin === undefined ? '' : `in ${origin}`,
    line === undefined ? '' : `line ${line}`,
    byteOffset === undefined ? '' : `byte ${byteOffset}`,
  ].filter(part => part !== '');
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
}

export function isNodeError(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

export function withOrigin<T>(origin: string | undefined, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw errorWithOrigin(origin, error);
  }
}

/**
 * Adds the origin to a `DataError` that has none, because the code that reads items does not know their
 * origin. Returns any other error unchanged.
 */
export function errorWithOrigin(origin: string | undefined, error: unknown): unknown {
  if (!(error instanceof DataError) || origin === undefined || error.position.origin !== undefined)
    return error;
  return new DataError(error.message, { cause: error, position: { origin } });
}
