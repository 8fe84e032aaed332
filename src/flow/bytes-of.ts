import { DataError } from '../errors.js';
import { bufferOf } from '../json/buffer-of.js';

/** An item of a flow of bytes, as a view of the same memory. */
export function bytesOf(item: Uint8Array): Buffer {
  if (item instanceof Uint8Array) return bufferOf(item);
  // What the compiler cannot see: a Node stream with an encoding gives strings.
  throw new DataError(
    `Expected bytes, got a ${typeof item}. A stream with an encoding gives text: do not set an encoding`,
  );
}
