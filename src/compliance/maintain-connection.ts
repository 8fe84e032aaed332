import {
  ConnectionError,
  DataError,
  HttpError,
  MillraceError,
  orDataError,
} from '../base/errors.js';
import { MINUTE, SECOND } from '../base/time.js';
import { backoffMs, jittered } from '../base/wait.js';
import { liveRecords } from '../flow/live-stream-records.js';
import type { Account } from '../http/account.js';
import { connectLive, isFinalStatus, type LiveConnection } from '../http/live-connection.js';
import { waitForRetry } from '../http/retry.js';
import type { DamagedRecord } from '../json/records.js';
import { type ComplianceEvent, parseComplianceEvent } from '../post/compliance-event.js';
import { parseConnectionMessage } from '../post/in-stream-message.js';

/** The callbacks of a connection. Times are in epoch milliseconds. */
export interface ConnectionListener {
  connected(at: number): void;
  /** Called when all events up to the time `until` have been delivered. */
  delivered(until: number): void;
  /**
   * Called for a record that is not a valid event. Before the callback rejects, it must abort the `signal`
   * that was passed to `maintainConnection`. Otherwise, `maintainConnection` might connect again.
   */
  damaged(record: DamagedRecord, error: DataError): Promise<void>;
  /** Delivers events. Resolves when more events can be accepted. */
  events(events: readonly ComplianceEvent[]): Promise<void>;
}

/**
 * The wait after a broken connection grows by this many milliseconds with each failure, up to
 * `BROKEN_MAX_MS`.
 */
const BROKEN_STEP_MS = SECOND / 4;
const BROKEN_MAX_MS = 16 * SECOND;
/**
 * The wait after the first error response of the service, in milliseconds. It doubles with each failure, up
 * to `ERROR_MAX_MS`.
 */
const ERROR_FIRST_MS = 5 * SECOND;
const ERROR_MAX_MS = 320 * SECOND;
/** The shortest wait after a 429 response without `Retry-After`, in milliseconds. */
const RATE_LIMITED_MS = MINUTE;

/**
 * Stays connected to an endless stream. Never resolves. Rejects with the signal's reason when the signal
 * fires, or with an error that a retry cannot change. If the first `retry.attempts` attempts to connect all
 * fail, rejects with the last error.
 */
export async function maintainConnection(
  account: Account,
  url: URL,
  signal: AbortSignal,
  listener: ConnectionListener,
): Promise<never> {
  const { timing, clock, retry } = account;
  const state: ConnectionState = { everConnected: false, failures: 0 };
  while (true) {
    const permit = await account.acquire('compliance', url, signal);
    let failure: MillraceError;
    try {
      const connection = await connectLive(account, url, permit, signal);
      state.everConnected = true;
      listener.connected(clock.now());
      failure = await readConnection(connection, account, listener, state);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof MillraceError) || isFinal(error, state)) throw error;
      failure = error;
    }
    const failures = ++state.failures;
    if (!state.everConnected && failures >= retry.attempts) throw failure;
    if (failure instanceof HttpError && (failure.retryAfterMs ?? 0) > retry.maxRetryAfterMs)
      throw failure;
    const waitMs = waitAfter(failure, failures, timing.random());
    await waitForRetry(account, { error: failure, attempts: failures, waitMs }, signal);
  }
}

interface ConnectionState {
  everConnected: boolean;
  /** The number of failures since the last record arrived. */
  failures: number;
}

async function readConnection(
  connection: LiveConnection,
  { timing, clock }: Account,
  listener: ConnectionListener,
  state: ConnectionState,
): Promise<ConnectionError> {
  const { url } = connection;
  const time = new DeliveredTime();
  const delivered = (until: number | undefined) => {
    if (until !== undefined) listener.delivered(until);
  };
  const onBytes = (isHeartbeat: boolean) =>
    delivered(time.afterBytes(isHeartbeat, { now: clock.now(), elapsed: timing.elapsed() }));
  let reason = 'without a reason';
  try {
    for await (const { items } of liveRecords(connection, {
      onBytes,
      onDamaged: listener.damaged,
    })) {
      state.failures = 0;
      const events: ComplianceEvent[] = [];
      for (const record of items) {
        const message = orDataError(
          () => parseConnectionMessage(record) ?? parseComplianceEvent(record),
        );
        if (message instanceof DataError)
          await listener.damaged({ raw: Buffer.from(record), origin: url }, message);
        else if ('raw' in message) events.push(message);
        else reason = `with the words: ${message.message}`;
      }
      if (events.length === 0) continue;
      await listener.events(events);
      delivered(time.afterEvents(events, clock.now()));
    }
  } finally {
    connection.close();
  }
  return new ConnectionError(`The compliance stream of ${url} ended ${reason}`, {
    failure: 'cut',
    url,
  });
}

/**
 * Whether an error is final, because a retry cannot help. If an earlier connection worked, a retry may help
 * after any connection error, and after invalid bytes, which were probably damaged in transit.
 */
function isFinal(error: MillraceError, { everConnected }: ConnectionState): boolean {
  if (error instanceof HttpError) return isFinalStatus(error);
  const mayPass = everConnected && (error.code === 'ERR_DATA' || error.code === 'ERR_CONNECTION');
  return !error.retryable && !mayPass;
}

function waitAfter(failure: MillraceError, failures: number, random: number): number {
  if (!(failure instanceof HttpError))
    return jittered(Math.min(BROKEN_MAX_MS, BROKEN_STEP_MS * failures), random);
  const backoff = backoffMs(failures, { firstMs: ERROR_FIRST_MS, maxMs: ERROR_MAX_MS, random });
  if (failure.status === 429) return failure.retryAfterMs ?? Math.max(RATE_LIMITED_MS, backoff);
  return Math.max(backoff, failure.retryAfterMs ?? 0);
}

/**
 * The minimum time between two heartbeats of the service, in milliseconds. Heartbeats that arrive closer
 * together may have been buffered, so they do not prove that all earlier events have arrived.
 */
const HEARTBEATS_APART_MS = SECOND;
/** An event whose time is more than this many milliseconds ahead of the clock has a wrong time. */
const AHEAD_MS = MINUTE;

/** An instant: `now` is its epoch milliseconds by the service's clock, `elapsed` a monotonic time in ms. */
interface Instant {
  readonly now: number;
  readonly elapsed: number;
}

/**
 * Computes the time up to which a connection has delivered every event. It uses the times of events instead
 * of the clock, because events may arrive late over a slow network. Only a heartbeat shows that no event is
 * in transit, because the service sends it when it has nothing else to send. Uses no I/O and no clock: the
 * caller passes times.
 */
export class DeliveredTime {
  /** When the last bytes arrived, if they were only heartbeats. Otherwise `undefined`. */
  #heartbeat: Instant | undefined;
  /** How late the last events arrived, in milliseconds. Later heartbeats may be equally late. */
  #delayMs = 0;

  /**
   * Call this after all events in the arrived bytes were delivered. Returns the time up to which every event
   * has been delivered, if these bytes and the previous bytes were only heartbeats, at least
   * `HEARTBEATS_APART_MS` apart. Otherwise returns `undefined`.
   *
   * @param isHeartbeat Whether the bytes contain only heartbeats.
   */
  afterBytes(isHeartbeat: boolean, instant: Instant): number | undefined {
    const before = this.#heartbeat;
    this.#heartbeat = isHeartbeat ? instant : undefined;
    if (!isHeartbeat || before === undefined) return undefined;
    if (instant.elapsed - before.elapsed < HEARTBEATS_APART_MS) return undefined;
    // The service had sent all earlier events when it sent the previous heartbeat. That heartbeat may have
    // taken as long to arrive as the last events, so `#delayMs` is subtracted from its time.
    return before.now - this.#delayMs;
  }

  /**
   * Call this after delivering events. Returns the time of the newest event, or `undefined` if no event has a
   * plausible time.
   */
  afterEvents(
    events: readonly { readonly at: Date | undefined }[],
    now: number,
  ): number | undefined {
    let newest: number | undefined;
    for (const { at } of events) {
      const time = at?.getTime();
      if (time !== undefined && time <= now + AHEAD_MS) newest = Math.max(time, newest ?? time);
    }
    if (newest === undefined) return undefined;
    this.#delayMs = Math.max(0, now - newest);
    return now - this.#delayMs;
  }
}
