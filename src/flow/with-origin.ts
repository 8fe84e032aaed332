import { DataError } from '../errors.js';

/** Runs `action` and adds the origin to a `DataError` that it throws: items do not know theirs. */
export function withOrigin<T>(origin: string | undefined, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof DataError) || origin === undefined || error.place.origin !== undefined)
      throw error;
    throw new DataError(error.message, { cause: error, place: { origin } });
  }
}
