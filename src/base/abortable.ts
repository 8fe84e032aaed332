import { optionError } from './check.js';

export function onceAborted(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) listener();
  else signal.addEventListener('abort', listener, { once: true });
  return () => signal.removeEventListener('abort', listener);
}

/**
 * Settles like the promise, or rejects with the signal's reason if the signal aborts first. Removes
 * its listener in both cases.
 */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const unlink = onceAborted(signal, () => reject(signal.reason));
    promise.finally(unlink).then(resolve, reject);
  });
}

/**
 * How long to wait for the caller's code after its signal has fired, in milliseconds. The caller's code may
 * need this time, for example to close a database.
 */
const ENDING_MS = 250;

/**
 * Settles like the promise. After the signal fires, waits up to `ENDING_MS` for the promise, then
 * rejects with the signal's reason. The work behind the promise continues, but its outcome is
 * ignored.
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
 * Waits for the result of a function that the caller passed as an option. If the result is a promise,
 * resolves to its value. After the signal fires, waits only `ENDING_MS` more, because the caller's promise
 * may never settle.
 */
export async function answerOf(answer: unknown, signal: AbortSignal | undefined): Promise<unknown> {
  return signal === undefined ? answer : settledSoon(Promise.resolve(answer), signal);
}

/**
 * An AbortController that also aborts when any of the given signals does. Call `unlink` when the
 * work is done. `AbortSignal.any` is not used. In Node 20, the signal that it returns stays in
 * memory as long as its source signals, and one signal may serve thousands of calls.
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

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    'then' in value &&
    typeof value.then === 'function'
  );
}

/**
 * Whether a value is a promise, although a plain value was expected. If the promise rejects later, the
 * rejection is ignored, so that it does not end the process.
 */
export function isStrayPromise(value: unknown): boolean {
  if (!isThenable(value)) return false;
  Promise.resolve(value).catch(() => {});
  return true;
}

/**
 * Checks the result of a function that the user has passed in `option`. A promise is refused, because the
 * result is not awaited.
 *
 * @param rest The end of the error message, after the name of the option.
 * @throws OptionError if the value is a promise.
 */
export function refusePromise(call: string, option: string, value: unknown, rest: string): void {
  if (isStrayPromise(value)) throw optionError(call, option, rest);
}
