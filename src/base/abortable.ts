import { optionError } from './check.js';

/** Calls a function once the signal fires, at once where it has. Returns what removes the listener. */
export function onceAborted(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) listener();
  else signal.addEventListener('abort', listener, { once: true });
  return () => signal.removeEventListener('abort', listener);
}

/** Settles like the promise, or rejects with the signal's reason if it aborts first. Leaves no listener. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const unlink = onceAborted(signal, () => reject(signal.reason));
    promise.finally(unlink).then(resolve, reject);
  });
}

/** How long the caller's code may still run after its signal has fired, such as to close a database. */
const ENDING_MS = 250;

/**
 * Settles like the promise. After the signal fires, waits a moment for the promise, then rejects with the signal's
 * reason; the work behind the promise continues, and its outcome is ignored. Leaves no listener.
 */
export function settledSoon<T>(promise: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const unlink = onceAborted(signal, () => {
      timer = setTimeout(() => reject(signal.reason), ENDING_MS);
    });
    const settle = () => {
      clearTimeout(timer);
      unlink();
    };
    Promise.resolve(promise).finally(settle).then(resolve, reject);
  });
}

/**
 * Waits for what a function of the caller has returned, as `settledSoon` does: such a promise may never settle, and
 * sources and calls of this package, which close what they hold, are waited for themselves.
 */
export async function answerOf(answer: unknown, signal: AbortSignal | undefined): Promise<unknown> {
  return signal === undefined ? answer : settledSoon(Promise.resolve(answer), signal);
}

/**
 * An AbortController that also aborts when any of the given signals does. Call `unlink` when the work is
 * done. In Node 20 the result of `AbortSignal.any` stays in memory as long as its sources do, and one
 * signal may serve thousands of calls.
 */
export class LinkedAbort {
  readonly #controller = new AbortController();
  readonly #links: (() => void)[] = [];

  constructor(...signals: readonly (AbortSignal | undefined)[]) {
    for (const signal of signals.filter(one => one !== undefined))
      this.#links.push(onceAborted(signal, () => this.abort(signal.reason)));
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

/** Whether a value is a promise, or can be awaited like one. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    'then' in value &&
    typeof value.then === 'function'
  );
}

/**
 * Whether a value is a promise where none is taken. The caller throws an error about it; if the promise rejects,
 * too, that does not end the process.
 */
export function isStrayPromise(value: unknown): boolean {
  if (!isThenable(value)) return false;
  Promise.resolve(value).catch(() => {});
  return true;
}

/**
 * Checks what a function of the caller returned where no promise is awaited.
 *
 * @param rest Continues "`option` ...", and says what to do.
 * @throws OptionError for a promise.
 */
export function refusePromise(call: string, option: string, value: unknown, rest: string): void {
  if (isStrayPromise(value)) throw optionError(call, option, rest);
}
