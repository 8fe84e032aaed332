import { ConnectionError } from '../base/errors.js';
import { backoffMs } from '../base/wait.js';
import type { Cursor } from '../flow/flow.js';
import type { Progress } from '../flow/progress.js';
import { realTime } from '../http/timing.js';
import { failureOf, JetStreamError } from './jet-stream-errors.js';
import type { Access } from './servers.js';

const FIRST_WAIT_MS = 50;
const MAX_WAIT_MS = 1_000;
/** How long a request may fail until progress shows it: a shorter wait would only flicker. */
const SHOWN_AFTER_MS = 1_000;

/** What a connection is for. */
export interface ConnectionRun {
  /** The call, for messages. */
  readonly call: string;
  readonly signal: AbortSignal;
  readonly progress: Progress | undefined;
  /** The cursor of an error. */
  cursor(): Cursor | undefined;
}

/** A request to the servers that is made again while they are out of reach. */
export interface RepeatedRequest {
  readonly access: Access;
  readonly run: ConnectionRun;
  /** What it does, for messages: `publish to posts`. */
  readonly what: string;
  /** Called each time that no server answers, with the time at which the first try began. */
  readonly onOutage?: ((since: number) => void) | undefined;
  /** Why a try has failed, by its error. @default the error */
  readonly causeOf?: ((error: unknown) => unknown) | undefined;
}

/**
 * Makes a request until it succeeds, for up to `maxOutageMs`.
 *
 * @param isAnswer Whether an error is an answer that the caller handles.
 */
export async function repeat<T>(
  request: RepeatedRequest,
  send: () => Promise<T>,
  isAnswer: (error: unknown) => boolean = () => false,
): Promise<T> {
  const { signal } = request.run;
  const tries = new RequestTries(request, performance.now());
  try {
    while (true) {
      signal.throwIfAborted();
      try {
        return await send();
      } catch (error) {
        signal.throwIfAborted();
        if (isAnswer(error)) throw error;
        await tries.failed(error);
      }
    }
  } finally {
    tries.end();
  }
}

/**
 * The tries of one request. Once they have failed for a second, progress shows them as one wait for the servers, until
 * the request succeeds or is given up.
 */
export class RequestTries {
  readonly #request: RepeatedRequest;
  readonly #since: number;
  #failed = 0;
  #endWait: () => void = () => {};

  /** @param since When the first try began. */
  constructor(request: RepeatedRequest, since: number) {
    this.#request = request;
    this.#since = since;
  }

  /**
   * Waits before the next try.
   *
   * @throws The typed error, where the request cannot succeed later or `maxOutageMs` is over.
   */
  async failed(error: unknown): Promise<void> {
    const { access, run, onOutage } = this.#request;
    run.signal.throwIfAborted();
    const typed = typedError(this.#request, error);
    if (!(typed instanceof JetStreamError) || !typed.retryable) throw typed;
    const passedMs = performance.now() - this.#since;
    if (passedMs > access.maxOutageMs) throw typed;
    if (typed.failure === 'outage') onOutage?.(this.#since);
    this.#failed++;
    if (passedMs >= SHOWN_AFTER_MS) this.#show(typed, access.maxOutageMs - passedMs);
    const limits = { firstMs: FIRST_WAIT_MS, maxMs: MAX_WAIT_MS, random: Math.random() };
    await realTime.sleep(backoffMs(this.#failed, limits), run.signal);
  }

  /** The request has succeeded, or is given up. */
  end(): void {
    this.#endWait();
  }

  #show(error: JetStreamError, waitMs: number): void {
    this.#endWait();
    this.#endWait = showWait(this.#request.run, error, waitMs, this.#failed);
  }
}

/** Shows in progress that a run waits for the servers. Returns what ends that. */
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
 * The typed form of an error of the client; any other error unchanged. It is retryable where the same request may
 * succeed later: `outage` and `full`.
 */
export function typedError(
  { access, run, what, causeOf }: RepeatedRequest,
  thrown: unknown,
): unknown {
  const error = causeOf === undefined ? thrown : causeOf(thrown);
  const { failure, text, mayPass } = failureOf(error);
  if (failure === undefined) return error;
  const servers = access.addresses.join(', ');
  const cause = new ConnectionError(`${servers}: ${text}`, {
    failure: 'refused',
    url: servers,
    retryable: mayPass,
  });
  const advice = {
    outage: `It is tried again for ${access.maxOutageMs / 1000} s (maxOutageMs). When the servers are back, run the same again: it goes on from the last cursor`,
    full: `It is tried again for ${access.maxOutageMs / 1000} s (maxOutageMs). Give the stream a larger \`max_bytes\`, or its servers more disk, and run the same again: it goes on from the last cursor`,
    refused:
      'Check `tls`, the login, and that it permits the stream, its subjects and the bucket of publishers',
    stream: 'Pass `create` to `toJetStream` to make the stream',
  }[failure];
  return new JetStreamError(`${run.call}: cannot ${what} at ${servers}: ${text}. ${advice}`, {
    failure,
    cause,
    retryable: mayPass,
    cursor: run.cursor(),
  });
}
