import { DataError } from '../errors.js';

/**
 * What headers say; `undefined` where they are damaged. For messages that are read out of their turn: they are named
 * once it is their turn, as `readSubject` reads them.
 */
export function unlessDamaged<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof DataError) return undefined;
    throw error;
  }
}
