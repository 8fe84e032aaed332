import { OptionError } from '../base/errors.js';
import { DAY, HOUR, MINUTE, parseTimestamp, SECOND } from '../base/time.js';
import { MAX_TIMER_MS } from '../base/wait.js';

interface Alarm {
  readonly at: number;
  readonly ring: (at: number) => void;
}

export interface KeptClock {
  /** The time in epoch milliseconds. */
  readonly now: number;
  readonly frozen: boolean;
}

/**
 * The service's only clock. It runs with real time, shifted by any amount, or is frozen. Expiries, rate
 * limits and the age of posts depend on it. Delays of planted faults, such as a stalled body, use real time.
 */
export class Clock {
  #offset = 0;
  #frozenAt: number | undefined;
  readonly #alarms: Set<Alarm> = new Set();
  readonly #listeners = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;

  /** Returns the time in epoch milliseconds. */
  now(): number {
    return this.#frozenAt ?? Date.now() + this.#offset;
  }

  get frozen(): boolean {
    return this.#frozenAt !== undefined;
  }

  /**
   * Moves the clock to an instant, forwards or backwards. The instant is a `Date`, epoch milliseconds,
   * `YYYYMMDDHHMM` or an ISO 8601 time. Times without an offset are in UTC. A frozen clock stays frozen.
   *
   * @throws OptionError for anything else, and outside of the years 1 to 9999.
   */
  set(instant: number | string | Date): void {
    const ms = checkRange(instantOf(instant));
    if (this.#frozenAt !== undefined) this.#frozenAt = ms;
    this.#offset = ms - Date.now();
    this.#moved();
  }

  /**
   * Moves the clock by milliseconds or a duration such as `'31m'`. A negative duration moves it back.
   *
   * @throws OptionError if `by` is neither, or if the clock would leave the years 1 to 9999.
   */
  advance(by: number | string): void {
    this.set(this.now() + spanOf(by));
  }

  /**
   * @internal Returns the instant at which `change` would set the clock, without changing it.
   *
   * @throws OptionError for a change that is not valid.
   */
  target({ set, advance }: Readonly<Record<string, unknown>>): number {
    const instant = set === undefined ? this.now() : instantOf(set);
    return checkRange(instant + (advance === undefined ? 0 : spanOf(advance)));
  }

  /**
   * @internal Moves the clock with `set`, `advance` or both, like the methods of these names. `frozen` then
   * freezes the clock or lets it run. If any of these values is invalid, the clock does not change.
   *
   * @throws OptionError for a change that is not valid.
   */
  change({ set, advance, frozen, ...rest }: Readonly<Record<string, unknown>>): void {
    const [stray] = Object.keys(rest);
    if (stray !== undefined) throw new OptionError(stray, `The clock has no '${stray}'`);
    if (frozen !== undefined && typeof frozen !== 'boolean')
      throw new OptionError('frozen', "Expected 'frozen' to be true or false");
    const isMove = set !== undefined || advance !== undefined;
    const target = this.target({ set, advance });
    if (frozen === true) this.freeze();
    if (isMove) this.set(target);
    if (frozen === false) this.resume();
  }

  freeze(): void {
    this.#frozenAt = this.now();
    this.#arm();
  }

  /** Lets a frozen clock run again, starting from the instant at which it was frozen. */
  resume(): void {
    if (this.#frozenAt === undefined) return;
    this.#offset = this.#frozenAt - Date.now();
    this.#frozenAt = undefined;
    this.#arm();
  }

  /** Resets the clock to real time. */
  reset(): void {
    this.#frozenAt = undefined;
    this.#offset = 0;
    this.#moved();
  }

  /** @internal Returns the state of the clock for `replace`; `undefined` if it shows real time. */
  kept(): KeptClock | undefined {
    if (this.#offset === 0 && !this.frozen) return undefined;
    return { now: this.now(), frozen: this.frozen };
  }

  /** @internal Restores the state that `kept` returned. @throws OptionError */
  replace(kept?: KeptClock): void {
    if (kept === undefined) this.reset();
    else this.change({ set: kept.now, frozen: kept.frozen });
  }

  /**
   * Calls a listener after each move of the clock, forwards or backwards. Returns a function that removes the
   * listener.
   */
  onMove(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Calls `ring` with `instant` once the clock has reached that instant. If the clock jumps past several
   * instants, the functions are called in the order of their instants. This includes functions that an
   * earlier call schedules. Returns a function that cancels the call.
   */
  at(instant: number, ring: (at: number) => void): () => void {
    const alarm: Alarm = { at: instant, ring };
    this.#alarms.add(alarm);
    this.#arm();
    return () => {
      this.#alarms.delete(alarm);
      this.#arm();
    };
  }

  #moved(): void {
    for (const listener of [...this.#listeners]) listener();
    this.#ringDue();
  }

  #next(): Alarm | undefined {
    return [...this.#alarms].sort((a, b) => a.at - b.at)[0];
  }

  #ringDue(): void {
    let next = this.#next();
    while (next !== undefined && next.at <= this.now()) {
      this.#alarms.delete(next);
      next.ring(next.at);
      next = this.#next();
    }
    this.#arm();
  }

  #arm(): void {
    clearTimeout(this.#timer);
    const next = this.#next();
    if (next === undefined || this.frozen) return;
    const wait = Math.min(Math.max(next.at - this.now(), 0), MAX_TIMER_MS);
    this.#timer = setTimeout(() => this.#ringDue(), wait).unref();
  }
}

/**
 * Timestamps in requests and responses have four digits for the year, so the clock is limited to such years.
 */
const EARLIEST = Date.parse('0001-01-01T00:00:00.000Z');
const LATEST = Date.parse('9999-12-31T23:59:59.999Z');

function checkRange(ms: number): number {
  if (ms >= EARLIEST && ms <= LATEST) return ms;
  throw new OptionError('set', 'The clock goes from the year 1 to the year 9999');
}

function instantOf(value: unknown): number {
  const ms = typeof value === 'string' ? parseInstant(value) : Number(value);
  const isInstant = typeof value === 'string' || typeof value === 'number' || value instanceof Date;
  if (isInstant && Number.isFinite(ms)) return ms;
  throw new OptionError(
    'set',
    `Expected \`set\` to be epoch milliseconds, a Date, YYYYMMDDHHMM or an ISO 8601 time such as '2024-01-31T23:59:00Z', got ${shown(value)}`,
  );
}

/**
 * Parses `YYYYMMDDHHMM` or an ISO 8601 time, which is UTC unless it has another offset, to epoch
 * milliseconds. Returns NaN for anything else.
 */
export function parseInstant(text: string): number {
  const isWithoutOffset = /^\d{4}-\d{2}-\d{2}[T ][\d:.]+$/.test(text);
  return parseTimestamp(text) ?? Date.parse(isWithoutOffset ? `${text}Z` : text);
}

const UNITS: Record<string, number> = { ms: 1, s: SECOND, m: MINUTE, h: HOUR, d: DAY };

/**
 * Parses a duration: milliseconds, or a number with a unit, such as `30s`, `31m`, `2h` or `15d`.
 *
 * @throws OptionError
 */
function spanOf(value: unknown): number {
  const [, amount, unit = 'ms'] = /^(-?\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(String(value)) ?? [];
  const ms = typeof value === 'number' ? value : Number(amount) * (UNITS[unit] as number);
  if (Number.isFinite(ms)) return ms;
  throw new OptionError(
    'advance',
    `Expected \`advance\` to be milliseconds or a time such as '30s', '31m' or '15d', got ${shown(value)}`,
  );
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
