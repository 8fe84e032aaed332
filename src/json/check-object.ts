import { DataError, type DataPosition } from '../base/errors.js';
import { excerpt } from './excerpt.js';
import { isObject } from './object-lines.js';
import { scanObject } from './scan-object.js';

/**
 * Proves that bytes are exactly one JSON object, without white space around it.
 *
 * @param what What the bytes are, as in "A result".
 * @throws DataError
 */
export function checkObject(
  json: Buffer,
  maxDepth: number,
  what: string,
  position: DataPosition = {},
): void {
  if (isObject(json, maxDepth)) return;
  const { end = 0, wrongAt = end, isTooDeep = false } = scanObject(json, 0, maxDepth);
  if (isTooDeep) throw new DataError(`${what} is nested deeper than ${maxDepth}`, { position });
  throw new DataError(`${what} is not one JSON object: ${excerpt(json)}`, {
    position,
    advice: `It is not JSON from its byte ${wrongAt} on`,
  });
}
