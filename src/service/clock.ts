const MAX_TIMEOUT_MS = 2 ** 31 - 1;

interface Alarm {
  readonly at: number;
  readonly ring: (at: number) => void;
}

/**
 * The service's only source of time. It runs with real time, shifted by any amount, or is frozen.
 * Expiries, rate windows and the age of posts follow it; real waiting (a stalled body) does not.
 */
export class Clock {
  #offset = 0;
  #frozenAt: number | undefined;
  readonly #alarms: Set<Alarm> = new Set();
  readonly #listeners = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;

  /** Epoch milliseconds. */
  now(): number {
    return this.#frozenAt ?? Date.now() + this.#offset;
  }

  get frozen(): boolean {
    return this.#frozenAt !== undefined;
  }

  /** Moves to an instant, forwards or backwards. A frozen clock stays frozen. */
  set(instant: number | Date): void {
    const ms = Number(instant);
    // Beyond these a Date is invalid and cannot be formatted.
    if (!(Math.abs(ms) <= 8.64e15)) throw new RangeError(`Not an instant: ${String(instant)}`);
    if (this.#frozenAt !== undefined) this.#frozenAt = ms;
    this.#offset = ms - Date.now();
    this.#moved();
  }

  /** Moves by milliseconds. */
  advance(ms: number): void {
    this.set(this.now() + ms);
  }

  freeze(): void {
    this.#frozenAt = this.now();
    this.#arm();
  }

  /** Continues from the instant at which it was frozen. */
  resume(): void {
    if (this.#frozenAt === undefined) return;
    this.#offset = this.#frozenAt - Date.now();
    this.#frozenAt = undefined;
    this.#arm();
  }

  /** Back to real time. */
  reset(): void {
    this.#frozenAt = undefined;
    this.#offset = 0;
    this.#moved();
  }

  /** Calls back after each move, forwards or backwards. Returns a function that stops it. */
  onMove(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Calls back once the clock has reached an instant, with that instant. A callback that plans the
   * next step from it runs as part of the same move. Returns a function that cancels the call.
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
    let next: Alarm | undefined;
    for (const alarm of this.#alarms) if (next === undefined || alarm.at < next.at) next = alarm;
    return next;
  }

  #ringDue(): void {
    for (
      let next = this.#next();
      next !== undefined && next.at <= this.now();
      next = this.#next()
    ) {
      this.#alarms.delete(next);
      next.ring(next.at);
    }
    this.#arm();
  }

  #arm(): void {
    clearTimeout(this.#timer);
    const next = this.#next();
    if (next === undefined || this.frozen) return;
    const wait = Math.min(Math.max(next.at - this.now(), 0), MAX_TIMEOUT_MS);
    this.#timer = setTimeout(() => this.#ringDue(), wait).unref();
  }
}
