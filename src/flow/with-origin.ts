import { DataError } from '../errors.js';

/** Runs `action`; an error that it throws is as of `errorWithOrigin`. */
export function withOrigin<T>(origin: string | undefined, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw errorWithOrigin(origin, error);
  }
}

/** A `DataError` with the origin, which items do not know; another error as it is. */
export function errorWithOrigin(origin: string | undefined, error: unknown): unknown {
  if (!(error instanceof DataError) || origin === undefined || error.position.origin !== undefined)
    return error;
  return new DataError(error.message, { cause: error, position: { origin } });
}
