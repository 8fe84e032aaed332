/**
 * An AbortController that also aborts when any of the given signals does. Call `unlink` when the work is
 * done. In Node 20 the result of `AbortSignal.any` stays in memory as long as its sources do, and one
 * signal may serve thousands of calls.
 */
export class LinkedAbort {
  readonly #controller = new AbortController();
  readonly #links: (() => void)[] = [];

  constructor(...signals: readonly (AbortSignal | undefined)[]) {
    for (const signal of signals) {
      if (signal === undefined) continue;
      const onAbort = () => this.#controller.abort(signal.reason);
      if (signal.aborted) onAbort();
      else signal.addEventListener('abort', onAbort, { once: true });
      this.#links.push(() => signal.removeEventListener('abort', onAbort));
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborts with the reason that `late` makes, unless `unlink` is called before. */
  abortAfter(ms: number, late: () => unknown): void {
    const timer = setTimeout(() => this.abort(late()), ms);
    this.#links.push(() => clearTimeout(timer));
  }

  abort(reason?: unknown): void {
    this.#controller.abort(reason);
  }

  unlink(): void {
    for (const unlink of this.#links.splice(0)) unlink();
  }
}
