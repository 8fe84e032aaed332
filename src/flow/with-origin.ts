import { DataError } from '../errors.js';

/** What `action` gives. What goes wrong with the data says where it came from, which items do not know. */
export function withOrigin<T>(origin: string | undefined, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof DataError) || origin === undefined || error.place.origin !== undefined)
      throw error;
    throw new DataError(error.message, { cause: error, place: { origin } });
  }
}
