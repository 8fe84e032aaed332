import { MINUTE, SECOND } from '../time.js';

/**
 * Heartbeats that come faster one after the other may have waited in a buffer, with events behind them: the service
 * sends them at least this far apart.
 */
const HEARTBEATS_APART_MS = SECOND;
/** An event that is further ahead of the clock has a wrong time. */
const AHEAD_MS = MINUTE;

/** An instant by the service's clock, in epoch milliseconds, and by one that never jumps. */
export interface Instant {
  readonly now: number;
  readonly elapsed: number;
}

/**
 * The time up to which a connection has delivered every event. It follows the times of the events: a slow reader or
 * network may be any time behind the clock. Only heartbeats show that nothing is on its way, as the service sends them
 * while it has nothing else to send. No I/O and no clock: the caller passes times.
 */
export class DeliveredTime {
  /** The last arrival, if it was a heartbeat. */
  #heartbeat: Instant | undefined;
  /** The delay of the last events. Heartbeats after them may have waited for as long. */
  #delayMs = 0;

  /**
   * Bytes have arrived, and the events in them were delivered. Returns the time up to which every event was delivered,
   * or `undefined` where the bytes do not tell.
   *
   * @param isHeartbeat whether they are nothing else
   */
  afterBytes(isHeartbeat: boolean, instant: Instant): number | undefined {
    const before = this.#heartbeat;
    this.#heartbeat = isHeartbeat ? instant : undefined;
    if (!isHeartbeat || before === undefined) return undefined;
    if (instant.elapsed - before.elapsed < HEARTBEATS_APART_MS) return undefined;
    // All that was sent before that heartbeat has arrived.
    return before.now - this.#delayMs;
  }

  /** Events were delivered. Returns the time of the newest, or `undefined` where none has a time that can be right. */
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
