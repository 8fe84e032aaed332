import { DAY, floorTo } from '../../time.js';
import type { Clock } from '../clock.js';
import type { Rate } from './service-limits.js';

/** The requests of one rate: a window that slides over the service's clock. */
export class RateWindow {
  readonly rate: Rate;
  readonly #clock: Clock;
  /** The times of the requests that still count, oldest first. */
  #times: number[] = [];

  constructor(rate: Rate, clock: Clock) {
    this.rate = rate;
    this.#clock = clock;
  }

  /** The number of requests that fit now; `Infinity` without a limit. */
  left(): number {
    this.#forget(this.#clock.now());
    return Math.max(0, this.rate.requests - this.#times.length);
  }

  /** Milliseconds until one more request fits; 0 if it fits now. */
  wait(): number {
    const { requests, perMs, byDay } = this.rate;
    if (requests === Number.POSITIVE_INFINITY) return 0;
    const now = this.#clock.now();
    this.#forget(now);
    if (this.#times.length < requests) return 0;
    if (byDay) return floorTo(DAY, now) + DAY - now;
    const freed = this.#times[this.#times.length - requests];
    return freed === undefined ? perMs : freed + perMs - now;
  }

  count(at = this.#clock.now()): void {
    if (this.rate.requests !== Number.POSITIVE_INFINITY) this.#times.push(at);
  }

  /** Drops times outside the window. A clock that was set back leaves times in the future. */
  #forget(now: number): void {
    const { perMs, byDay } = this.rate;
    const start = byDay ? floorTo(DAY, now) - 1 : now - perMs;
    this.#times = this.#times.filter(time => time > start && time <= now);
  }
}

export interface FullWindow {
  readonly window: RateWindow;
  readonly waitMs: number;
}

/** Counts the request in all windows, or returns the first full one, with the wait. */
export function admit(windows: readonly RateWindow[]): FullWindow | undefined {
  const full = fullOf(windows);
  if (full === undefined) for (const window of windows) window.count();
  return full;
}

/** The first full window, with the wait. */
export function fullOf(windows: readonly RateWindow[]): FullWindow | undefined {
  for (const window of windows) {
    const waitMs = window.wait();
    if (waitMs > 0) return { window, waitMs };
  }
  return undefined;
}
