import { Activity } from './activity.js';
import { isComplianceEvent } from './compliance-event.js';

/**
 * A buffer that is not larger than Node's pool is not copied, because Node would allocate the copy from the
 * pool again.
 */
const POOL_BYTES = 8 * 1024;
/** If the items use at least this fraction of a buffer, the buffer is not copied. */
const LEAST_PART = 1 / 2;

type Move = (bytes: Uint8Array) => Uint8Array;

/**
 * Copies the bytes of items that use less than half of a large buffer. Call this before items are held for
 * long. A post is a view of a block of its file, so a single post would keep the whole block in memory.
 * Activities are changed in place, even if they are inside tagged items, arrays or plain objects.
 */
export function detached<T>(items: readonly T[]): readonly T[] {
  const viewed = new Map<ArrayBufferLike, number>();
  let last: ArrayBufferLike | undefined;
  let sum = 0;
  for (const item of items)
    withBytes(item, bytes => {
      const { buffer } = bytes;
      if (buffer !== last) {
        if (last !== undefined) viewed.set(last, sum);
        last = buffer;
        sum = viewed.get(buffer) ?? 0;
      }
      sum += bytes.length;
      return bytes;
    });
  if (last !== undefined) viewed.set(last, sum);
  const copies = new Map<ArrayBufferLike, Copy>();
  for (const [buffer, size] of viewed)
    if (buffer.byteLength > POOL_BYTES && size < buffer.byteLength * LEAST_PART)
      copies.set(buffer, new Copy(size));
  if (copies.size === 0) return items;
  return items.map(item => withBytes(item, bytes => copies.get(bytes.buffer)?.of(bytes) ?? bytes));
}

class Copy {
  readonly #bytes: Buffer;
  #used = 0;

  constructor(size: number) {
    this.#bytes = Buffer.allocUnsafe(size);
  }

  of(bytes: Uint8Array): Uint8Array {
    const start = this.#used;
    this.#bytes.set(bytes, start);
    this.#used += bytes.length;
    const copy = this.#bytes.subarray(start, this.#used);
    return Buffer.isBuffer(bytes)
      ? copy
      : new Uint8Array(copy.buffer, copy.byteOffset, copy.length);
  }
}

/**
 * Moves the bytes of an item, and returns the item. Changes an activity in place. Returns a copy of any other
 * item whose bytes have moved.
 */
function withBytes<T>(item: T, move: Move): T;
function withBytes(item: unknown, move: Move): unknown {
  if (typeof item !== 'object' || item === null) return item;
  if (item instanceof Activity) return moved(item, move);
  if (item instanceof Uint8Array) return move(item);
  if (Array.isArray(item)) {
    const inner = item.map(one => withBytes(one, move));
    return inner.some((one, index) => one !== item[index]) ? inner : item;
  }
  if (isComplianceEvent(item)) {
    const raw = move(item.raw);
    return raw === item.raw ? item : { ...item, raw };
  }
  const prototype = Object.getPrototypeOf(item);
  if (prototype !== Object.prototype && prototype !== null) return item;
  for (const value of Object.values(item)) if (value instanceof Activity) moved(value, move);
  return item;
}

function moved(activity: Activity, move: Move): Activity {
  const { raw } = activity;
  const bytes = move(raw);
  if (bytes !== raw) activity.moveTo(bytes as Buffer);
  return activity;
}
