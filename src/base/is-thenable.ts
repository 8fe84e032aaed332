import { optionError } from './check.js';

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
