import type { HttpError } from '../errors.js';

/** Wrong credentials, addresses and methods do not pass. */
const FINAL: readonly number[] = [401, 403, 404, 405, 410];

/**
 * Whether connecting to a stream again is of no use. The service asks clients to connect again after
 * any other status (service.md 4.3, 4.5): what it refuses for its own state, such as a 406, may pass.
 */
export function isFinalRefusal({ status }: HttpError): boolean {
  return (status >= 300 && status < 400) || FINAL.includes(status);
}
