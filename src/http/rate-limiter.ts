import { abortable } from '../abortable.js';
import { MINUTE } from '../time.js';
import type { Rate } from './rate-limits.js';
import { realTime, type Timing } from './timing.js';

/**
 * How long after its start a request may reach the service. The service counts arrivals, and the client only
 * knows starts: a request counts as arrived when its response begins, or this much after its start,
 * whichever is first.
 */
const MAX_TRANSIT_MS = 250;

/** Permission to send one request. */
export interface Permit {
  /** To be called once the response has begun, or the connection has failed. */
  responded(): void;
}

type BeginWait = (waitMs: number) => () => void;

interface Counted {
  readonly kind: string | undefined;
  readonly at: number;
  /** The latest moment at which the service may have counted it, once known. */
  arrived: number | undefined;
}

/**
 * A strict sliding window: in any span of a rate's length, there are never more starts than the rate allows,
 * nor arrivals at the service, as long as requests arrive within `MAX_TRANSIT_MS`. First come, first served.
 *
 * Why it holds: a request starts only while fewer than `requests` earlier ones can be in one window with it.
 * So of any `requests + 1` arrivals, the last one started when another had arrived at least `perMs` before.
 */
export class RateLimiter {
  readonly #rates: Rate[] = [];
  /** The rate that a response of the service named. */
  #learned: Rate | undefined;
  readonly #timing: Timing;
  /** In order of time. */
  readonly #starts: Counted[] = [];
  #last: Promise<unknown> = Promise.resolve();
  /** When the wait of the first in the queue ends. */
  #opensAt = 0;

  constructor(rates: readonly Rate[], timing: Timing = realTime) {
    this.#timing = timing;
    this.add(rates);
  }

  /** Keeps to these rates too. */
  add(rates: readonly Rate[]): void {
    for (const rate of rates) {
      const known = this.#rates.some(
        ({ requests, perMs, kind }) =>
          requests === rate.requests && perMs === rate.perMs && kind === rate.kind,
      );
      if (!known) this.#rates.push(rate);
    }
  }

  /**
   * Waits until a request may start. An abort rejects with the signal's reason and uses no permit. `beginWait`
   * is called at the start of each wait, also while calls before it wait; its result is called at the end.
   */
  acquire(
    kind?: string,
    signal?: AbortSignal,
    beginWait: BeginWait = () => () => {},
  ): Promise<Permit> {
    const queuedMs = this.#opensAt - this.#timing.elapsed();
    const endQueued = queuedMs > 0 ? beginWait(queuedMs) : () => {};
    const entered = this.#last.then(() => {
      endQueued();
      return this.#admit(kind, signal, beginWait);
    });
    this.#last = entered.catch(() => {});
    return signal === undefined ? entered : abortable(entered, signal);
  }

  /** All rates that it keeps to. */
  get rates(): readonly Rate[] {
    return this.#learned === undefined ? this.#rates : [...this.#rates, this.#learned];
  }

  /** Keeps to a rate that the service named, in place of the one that it named before. */
  learn(rate: Rate): void {
    this.#learned = rate;
  }

  async #admit(
    kind: string | undefined,
    signal: AbortSignal | undefined,
    beginWait: BeginWait,
  ): Promise<Permit> {
    signal?.throwIfAborted();
    for (let wait = this.#waitFor(kind); wait > 0; wait = this.#waitFor(kind)) {
      const waitMs = Math.ceil(wait);
      this.#opensAt = this.#timing.elapsed() + waitMs;
      await this.#timing.sleep(waitMs, signal).finally(beginWait(waitMs));
    }
    const start: Counted = { kind, at: this.#timing.elapsed(), arrived: undefined };
    this.#starts.push(start);
    return {
      responded: () => {
        start.arrived ??= Math.min(this.#timing.elapsed(), start.at + MAX_TRANSIT_MS);
      },
    };
  }

  /** Milliseconds until the next check makes sense; 0 when a request may start now. */
  #waitFor(kind: string | undefined): number {
    const now = this.#timing.elapsed();
    this.#forget(now);
    const waits = this.rates
      .filter(rate => rate.kind === undefined || rate.kind === kind)
      .map(rate => {
        const old = this.#starts.findLastIndex(
          start => now >= start.at + MAX_TRANSIT_MS + rate.perMs,
        );
        const counted = this.#starts
          .slice(old + 1)
          .filter(
            start =>
              (rate.kind ?? start.kind) === start.kind && now < arrivedAt(start) + rate.perMs,
          );
        if (counted.length < rate.requests) return 0;
        return Math.min(...counted.map(start => nextCheckAt(start, rate, now))) - now;
      });
    return Math.max(0, ...waits);
  }

  #forget(now: number): void {
    // Another account object or the service may add a rate per minute later.
    const longest = Math.max(MINUTE, ...this.rates.map(rate => rate.perMs));
    const old = this.#starts.findIndex(start => now < start.at + MAX_TRANSIT_MS + longest);
    this.#starts.splice(0, old === -1 ? this.#starts.length : old);
  }
}

function arrivedAt(start: Counted): number {
  return start.arrived ?? start.at + MAX_TRANSIT_MS;
}

/** A request without a response may have arrived immediately, so the first check is early. */
function nextCheckAt(start: Counted, rate: Rate, now: number): number {
  if (start.arrived !== undefined) return start.arrived + rate.perMs;
  return now < start.at + rate.perMs
    ? start.at + rate.perMs
    : start.at + MAX_TRANSIT_MS + rate.perMs;
}
