const MAX_ENTRIES = 1024;
const MAX_BYTES = 1024;

interface Entry<T> {
  readonly bytes: Uint8Array;
  readonly value: T;
}

/**
 * A map from short sequences of bytes to values, with at most 1,024 entries. A `Map` with string keys would
 * take twice as long, because it needs a string and its hash for each call.
 */
export class BytesMap<T> {
  readonly #entries = new Map<number, Entry<T>>();

  get(bytes: Uint8Array, start: number, end: number): T | undefined {
    if (end - start > MAX_BYTES) return undefined;
    const entry = this.#entries.get(hash(bytes, start, end));
    if (entry === undefined || entry.bytes.length !== end - start) return undefined;
    for (let at = start; at < end; at++)
      if (bytes[at] !== entry.bytes[at - start]) return undefined;
    return entry.value;
  }

  /** Sets a value. Overwrites an entry with the same hash, even if its key is different. */
  set(bytes: Uint8Array, start: number, end: number, value: T): void {
    if (end - start > MAX_BYTES) return;
    if (this.#entries.size >= MAX_ENTRIES) this.#entries.clear();
    this.#entries.set(hash(bytes, start, end), {
      bytes: Uint8Array.prototype.slice.call(bytes, start, end),
      value,
    });
  }
}

/**
 * Returns a variant of the FNV-1a hash that mixes four bytes at a time. A hash of only the last bytes would
 * not be enough, because posts with different rules may end with the same bytes.
 */
function hash(bytes: Uint8Array, start: number, end: number): number {
  let mixed = 0x811c9dc5;
  let at = start;
  for (; at + 4 <= end; at += 4) {
    const word =
      bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    mixed = Math.imul(mixed ^ word, 0x01000193);
  }
  for (; at < end; at++) mixed = Math.imul(mixed ^ bytes[at]!, 0x01000193);
  return mixed;
}
