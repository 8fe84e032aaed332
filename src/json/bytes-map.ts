/** The number of bytes at the end that the hash is made of. */
const HASHED = 32;
const MAX_ENTRIES = 1024;
const MAX_BYTES = 1024;

interface Entry<T> {
  readonly bytes: Uint8Array;
  readonly value: T;
}

/**
 * Values by bytes, at most 1,024 of them, and only for short bytes. A `Map` by strings takes twice as long, as each
 * call needs a string and its hash.
 */
export class BytesMap<T> {
  readonly #entries = new Map<number, Entry<T>>();

  get(bytes: Uint8Array, start: number, end: number): T | undefined {
    const entry = this.#entries.get(hash(bytes, start, end));
    if (entry === undefined || entry.bytes.length !== end - start) return undefined;
    for (let at = start; at < end; at++)
      if (bytes[at] !== entry.bytes[at - start]) return undefined;
    return entry.value;
  }

  /** Bytes with an equal hash are replaced. */
  set(bytes: Uint8Array, start: number, end: number, value: T): void {
    if (end - start > MAX_BYTES) return;
    if (this.#entries.size >= MAX_ENTRIES) this.#entries.clear();
    this.#entries.set(hash(bytes, start, end), {
      bytes: Uint8Array.prototype.slice.call(bytes, start, end),
      value,
    });
  }
}

function hash(bytes: Uint8Array, start: number, end: number): number {
  let mixed = end - start;
  for (let at = Math.max(start, end - HASHED); at < end; at++)
    mixed = Math.imul(mixed ^ bytes[at]!, 0x01000193);
  return mixed;
}
