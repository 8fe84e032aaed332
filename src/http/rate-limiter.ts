import { abortable } from '../abortable.js';
import { MINUTE } from '../time.js';
import type { Rate } from './rate-limits.js';
import { realTime, type Timing } from './timing.js';

/**
 * How long after its start a request may reach the service, in milliseconds. The service counts
 * arrivals and we only know starts, so a start is taken to arrive when its response begins, or this
 * much later, whichever comes first.
 */
const JITTER = 250;

/** A request that was let through. */
export interface Permit {
  /** To be called once the response has begun, or the connection has failed. */
  responded(): void;
}

interface Counted {
  readonly kind: string | undefined;
  readonly at: number;
  /** The latest moment at which the service may have counted it, once known. */
  arrived: number | undefined;
}

/**
 * A strict sliding window: never more starts than a rate allows in any span of its length, nor
 * arrivals at the service as far as `JITTER` covers the way there. First come, first served.
 *
 * Why it holds: a start is let through only while fewer than `requests` earlier ones may still lie
 * in a window with it. Of any `requests + 1` arrivals the latest start was thus let through when one
 * of the others had arrived at least `per` before.
 */
export class RateLimiter {
  readonly #rates: Rate[] = [];
  /** What the service told. */
  #told: Rate | undefined;
  readonly #timing: Timing;
  /** In their order. */
  readonly #starts: Counted[] = [];
  #last: Promise<unknown> = Promise.resolve();

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

  /** Waits for its turn. An abort rejects at once with the signal's reason and takes no turn. */
  acquire(kind?: string, signal?: AbortSignal): Promise<Permit> {
    const entered = this.#last.then(() => this.#admit(kind, signal));
    this.#last = entered.catch(() => {});
    return signal === undefined ? entered : abortable(entered, signal);
  }

  /** All that are kept. */
  get rates(): readonly Rate[] {
    return this.#told === undefined ? this.#rates : [...this.#rates, this.#told];
  }

  /** Keeps to a rate that the service tells of, in place of what it told before. */
  learn(rate: Rate): void {
    this.#told = rate;
  }

  async #admit(kind: string | undefined, signal: AbortSignal | undefined): Promise<Permit> {
    signal?.throwIfAborted();
    for (let wait = this.#waitFor(kind); wait > 0; wait = this.#waitFor(kind))
      await this.#timing.sleep(Math.ceil(wait), signal);
    const start: Counted = { kind, at: this.#timing.elapsed(), arrived: undefined };
    this.#starts.push(start);
    return {
      responded: () => {
        start.arrived ??= Math.min(this.#timing.elapsed(), start.at + JITTER);
      },
    };
  }

  /** Milliseconds until it is worth looking again; 0 when there is room now. */
  #waitFor(kind: string | undefined): number {
    const now = this.#timing.elapsed();
    this.#forget(now);
    const waits = this.rates
      .filter(rate => rate.kind === undefined || rate.kind === kind)
      .map(rate => {
        const old = this.#starts.findLastIndex(start => now >= start.at + JITTER + rate.perMs);
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
    // A rate per minute may come later, with another account object or from the service.
    const longest = Math.max(MINUTE, ...this.rates.map(rate => rate.perMs));
    const old = this.#starts.findIndex(start => now < start.at + JITTER + longest);
    this.#starts.splice(0, old === -1 ? this.#starts.length : old);
  }
}

function arrivedAt(start: Counted): number {
  return start.arrived ?? start.at + JITTER;
}

/** An unanswered start may turn out to have arrived at once, so the first look is early. */
function nextCheckAt(start: Counted, rate: Rate, now: number): number {
  if (start.arrived !== undefined) return start.arrived + rate.perMs;
  return now < start.at + rate.perMs ? start.at + rate.perMs : start.at + JITTER + rate.perMs;
}
