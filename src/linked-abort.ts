/**
 * A controller that also aborts when any of some signals does. `unlink` ends that, and is to be called
 * when the work is done: in Node 20, what `AbortSignal.any` makes of a signal stays in memory as long
 * as that signal does, and one signal may end a thousand calls.
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

  abort(reason?: unknown): void {
    this.#controller.abort(reason);
  }

  unlink(): void {
    for (const unlink of this.#links.splice(0)) unlink();
  }
}
