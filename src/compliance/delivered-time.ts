import { SECOND } from '../time.js';

/** The last arrivals may not be delivered yet; everything before them was. */
const BLOCKS_AHEAD = 4;
/**
 * With nothing to read for this time, the reader has all that was sent. Before that, a slow consumer or a blocked event
 * loop may have left older events on their way, in buffers of any size.
 */
const CAUGHT_UP_MS = 5 * SECOND;

/** An instant by the service's clock, in epoch milliseconds, and by one that never jumps. */
export interface Instant {
  readonly now: number;
  readonly elapsed: number;
}

/**
 * The time up to which a connection has delivered every event. It follows the times of the events, and the clock
 * while nothing comes. No I/O and no clock: the caller passes times.
 */
export class DeliveredTime {
  readonly #arrivals: (number | undefined)[] = [];
  #arrived: number;
  /** While a record comes in parts, only what came before its first part is delivered. */
  #begun: number;
  #busyAt: number;

  /** @param connected when the connection was established */
  constructor({ now, elapsed }: Instant) {
    this.#arrived = now;
    this.#begun = now;
    this.#busyAt = elapsed;
  }

  /**
   * Bytes have arrived. Returns the time up to which every event was delivered, where this shows it.
   *
   * @param hadEnd whether the bytes before them had the end of a record or a heartbeat
   */
  afterBytes(hadEnd: boolean, { now, elapsed }: Instant): number | undefined {
    if (hadEnd) this.#begun = this.#arrived;
    this.#arrived = now;
    this.#arrivals.push(elapsed - this.#busyAt < CAUGHT_UP_MS ? undefined : this.#begun);
    this.#busyAt = elapsed;
    return this.#arrivals.length > BLOCKS_AHEAD ? this.#arrivals.shift() : undefined;
  }

  /** Events were delivered. Returns the time up to which every event was, where they have times. */
  afterEvents(events: readonly { readonly at: Date | undefined }[], { now, elapsed }: Instant) {
    this.#busyAt = elapsed;
    let newest: number | undefined;
    for (const { at } of events)
      if (at !== undefined) newest = Math.max(at.getTime(), newest ?? at.getTime());
    // Not later than now, whatever time an event has.
    return newest === undefined ? undefined : Math.min(newest, now);
  }
}
