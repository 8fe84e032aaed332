/** Writes a whole number from 0 to 2^32 - 1, seven bits a byte, low bits first. Returns the end. */
export function writeVarint(into: Uint8Array, at: number, value: number): number {
  let rest = value;
  while (rest >= 0x80) {
    into[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  into[at++] = rest;
  return at;
}

/** The maximum size of a number in bytes. */
export const VARINT_BYTES = 5;

/** A buffer that grows as bytes are added. */
export class ByteWriter {
  #bytes = Buffer.allocUnsafe(1024);
  length = 0;

  varint(value: number): void {
    this.#reserve(VARINT_BYTES);
    this.length = writeVarint(this.#bytes, this.length, value);
  }

  add(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Adds the length of the bytes and then the bytes. */
  addWithLength(bytes: Uint8Array): void {
    this.varint(bytes.length);
    this.add(bytes);
  }

  /** The added bytes, valid until `clear`. */
  written(): Buffer {
    return this.#bytes.subarray(0, this.length);
  }

  clear(): void {
    this.length = 0;
  }

  #reserve(more: number): void {
    if (this.length + more <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(2 * (this.length + more));
    grown.set(this.written());
    this.#bytes = grown;
  }
}

/** Reads varints in sequence. */
export class VarintReader {
  readonly #bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at = 0) {
    this.#bytes = bytes;
    this.at = at;
  }

  get atEnd(): boolean {
    return this.at >= this.#bytes.length;
  }

  next(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#bytes[this.at++] ?? 0;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
  }
}
