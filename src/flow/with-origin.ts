import { DataError } from '../base/errors.js';

/** Runs `action`, and adds the origin to an error that it throws, as `errorWithOrigin` does. */
export function withOrigin<T>(origin: string | undefined, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw errorWithOrigin(origin, error);
  }
}

/** Adds the origin, which items do not know, to a `DataError`. Returns any other error unchanged. */
export function errorWithOrigin(origin: string | undefined, error: unknown): unknown {
  if (!(error instanceof DataError) || origin === undefined || error.position.origin !== undefined)
    return error;
  return new DataError(error.message, { cause: error, position: { origin } });
}
