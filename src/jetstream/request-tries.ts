import { ConnectionError } from '../base/errors.js';
import { backoffMs } from '../base/wait.js';
import type { Cursor } from '../flow/flow.js';
import type { Progress } from '../flow/progress.js';
import { realTime } from '../http/timing.js';
import { clientFailure, isMissing, JetStreamError } from './jet-stream-errors.js';

const FIRST_WAIT_MS = 50;
const MAX_WAIT_MS = 1_000;
/**
 * Progress shows a failing request only after this time, in milliseconds. If it showed shorter waits, the
 * display would flicker.
 */
export const SHOWN_AFTER_MS = 1_000;

/**
 * How long the servers of a cluster may report that a stream does not exist before the request fails, in
 * milliseconds. A server that has just started may not know the stream yet.
 */
const MISSING_MS = 10_000;
/**
 * For how long one server may report that a stream does not exist before another server is tried, in
 * milliseconds. The first server may be cut off from the servers that have the stream.
 */
const MISSING_AT_ONE_MS = 2_000;
/**
 * The wait before a request is repeated after a server reported that the stream does not exist, in
 * milliseconds.
 */
const MISSING_WAIT_MS = 200;
/**
 * For how long one server may fail before another server is tried, in milliseconds. The servers elect a new
 * leader in less time.
 */
const OTHER_SERVER_MS = 10_000;

export interface ConnectionRun {
  readonly call: string;
  readonly signal: AbortSignal;
  readonly progress: Progress | undefined;
  cursor(): Cursor | undefined;
}

export interface Servers {
  readonly run: ConnectionRun;
  readonly maxOutageMs: number;
  readonly addresses: string;
  /** Whether there are several servers. The response of one of them may be out of date. */
  readonly isCluster: boolean;
  /**
   * Returns the cause of a failed try. If the connection is closed, returns the reason, because the client's
   * error only says that it is closed.
   */
  causeOf(error: unknown): unknown;
  /**
   * Connects to another server, if the failures began more than `afterMs` milliseconds ago and no other
   * server was tried in that time. Does nothing if the caller opened the connection.
   */
  changeServer(since: number, afterMs: number): void;
}

export interface RepeatOptions {
  /**
   * Returns whether the caller handles this error. If so, `repeat` rejects with the error at once, instead of
   * sending the request again.
   */
  readonly isAnswer?: ((error: unknown) => boolean) | undefined;
  /** When the first try began, as a time of `performance.now()`. @default now */
  readonly since?: number | undefined;
}

/**
 * Sends a request until it succeeds, for up to `maxOutageMs`.
 *
 * @param what What the request does, such as `publish to posts`, for error messages.
 */
export async function repeat<T>(
  servers: Servers,
  what: string,
  send: () => Promise<T>,
  { isAnswer, since = performance.now() }: RepeatOptions = {},
): Promise<T> {
  const { signal } = servers.run;
  let failures: Failures | undefined;
  try {
    while (true) {
      signal.throwIfAborted();
      try {
        return await send();
      } catch (error) {
        signal.throwIfAborted();
        if (isAnswer?.(error) === true) throw error;
        failures ??= new Failures(servers, what, since);
        await failures.add(error);
      }
    }
  } finally {
    failures?.end();
  }
}

/**
 * The failed tries of one request. After 1 s, progress shows them as one wait for the servers. The wait ends
 * when the request succeeds or is given up.
 */
class Failures {
  readonly #servers: Servers;
  readonly #what: string;
  readonly #since: number;
  #count = 0;
  /** Since when the servers have reported that the stream does not exist. */
  #missingSince: number | undefined;
  #endWait: () => void = () => {};

  constructor(servers: Servers, what: string, since: number) {
    this.#servers = servers;
    this.#what = what;
    this.#since = since;
  }

  /**
   * Waits before the next try.
   *
   * @throws the error from `typedError`, if no later try can succeed, or if the request has failed for
   *   `maxOutageMs`.
   */
  async add(error: unknown): Promise<void> {
    const { run, maxOutageMs } = this.#servers;
    if (this.#mayAppear(error)) return await realTime.sleep(MISSING_WAIT_MS, run.signal);
    const typed = typedError(this.#servers, this.#what, error);
    if (!(typed instanceof JetStreamError) || !typed.retryable) throw typed;
    const passedMs = performance.now() - this.#since;
    if (passedMs > maxOutageMs) throw typed;
    if (typed.failure === 'outage') this.#servers.changeServer(this.#since, OTHER_SERVER_MS);
    this.#count++;
    if (passedMs >= SHOWN_AFTER_MS) {
      this.#endWait();
      this.#endWait = showWait(run, typed, maxOutageMs - passedMs, this.#count);
    }
    const limits = { firstMs: FIRST_WAIT_MS, maxMs: MAX_WAIT_MS, random: Math.random() };
    await realTime.sleep(backoffMs(this.#count, limits), run.signal);
  }

  /** Whether the stream may exist although a server of the cluster has just reported that it does not. */
  #mayAppear(error: unknown): boolean {
    if (!this.#servers.isCluster || !isMissing(this.#servers.causeOf(error))) {
      this.#missingSince = undefined;
      return false;
    }
    const now = performance.now();
    this.#missingSince ??= now;
    this.#servers.changeServer(this.#missingSince, MISSING_AT_ONE_MS);
    return now - this.#missingSince <= MISSING_MS;
  }

  end(): void {
    this.#endWait();
  }
}

/** Shows in progress that a run is waiting for the servers. Returns a function that ends the display. */
export function showWait(
  { progress }: ConnectionRun,
  error: JetStreamError,
  waitMs: number,
  retry: number,
): () => void {
  const until = new Date(Date.now() + waitMs);
  return progress?.onWait({ reason: 'servers', until, waitMs, error, retry }) ?? (() => {});
}

/**
 * Converts an error of the NATS client to a `JetStreamError`, which is retryable if the same request may
 * succeed later. Returns any other error unchanged.
 */
export function typedError(servers: Servers, what: string, thrown: unknown): unknown {
  const { run, maxOutageMs, addresses } = servers;
  const error = servers.causeOf(thrown);
  const { failure, text, mayPass } = clientFailure(error);
  if (failure === undefined) return error;
  const cause = new ConnectionError(`${addresses}: ${text}`, {
    failure: 'refused',
    url: addresses,
    retryable: mayPass,
  });
  const repeated = `It is tried again for ${maxOutageMs / 1000} s (maxOutageMs).`;
  const advice = {
    outage: `${repeated} When the servers are back, run the same again: it continues from the last cursor`,
    full: `${repeated} Give the stream a larger \`max_bytes\`, or its servers more disk, and run the same again: it continues from the last cursor`,
    refused:
      'Check the TLS options and the login of `connection`, and that the login permits the stream, its subjects and the bucket of publishers',
    stream: 'Pass `create` to `toJetStream` to create the stream',
  }[failure];
  return new JetStreamError(`${run.call}: cannot ${what} at ${addresses}: ${text}. ${advice}`, {
    failure,
    cause,
    retryable: mayPass,
    cursor: run.cursor(),
  });
}
