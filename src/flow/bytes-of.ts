import { wrongItem } from '../activity/wrong-item.js';
import { bufferOf } from '../json/json-bytes.js';

/**
 * An item of a flow of bytes, as a view of the same memory.
 *
 * @throws DataError for any other item, which the compiler cannot always see: a Node stream with an encoding
 * gives text.
 */
export function bytesOf(call: string, item: Uint8Array, origin: string | undefined): Buffer {
  if (item instanceof Uint8Array) return bufferOf(item);
  throw wrongItem(item, { need: `${call}() reads bytes`, reads: 'bytes', origin });
}
