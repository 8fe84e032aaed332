/** Bytes that grow as they are written. */
export class ByteWriter {
  length = 0;
  #bytes: Buffer;

  constructor(size = 256) {
    this.#bytes = Buffer.allocUnsafeSlow(size);
  }

  /** What is written so far: valid until more is written. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.length);
  }

  /** Makes room for `size` bytes and returns the memory, to be written at `length`. */
  reserve(size: number): Buffer {
    const needed = this.length + size;
    if (needed > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length));
      this.#bytes.copy(grown, 0, 0, this.length);
      this.#bytes = grown;
    }
    return this.#bytes;
  }

  byte(value: number): void {
    this.reserve(1)[this.length++] = value;
  }

  append(bytes: Uint8Array): void {
    this.reserve(bytes.length).set(bytes, this.length);
    this.length += bytes.length;
  }

  /** An unsigned LEB128 number below 2^53. */
  varint(value: number): void {
    const bytes = this.reserve(8);
    let rest = value;
    while (rest >= 0x80) {
      bytes[this.length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    bytes[this.length++] = rest;
  }
}
