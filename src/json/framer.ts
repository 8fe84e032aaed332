/** Finds items in the bytes of one file or document, which arrive in blocks that are cut anywhere. */
export interface Framer<T> {
  /**
   * Adds to `items` those that end in this block. Items may be views of the block; bytes that the
   * framer keeps for later it copies, as the memory of a block may be released after use.
   */
  push(block: Buffer, items: T[]): undefined | Promise<void>;
  /** Ends the file or document: adds the last items, or throws where the data is cut short. */
  end(items: T[]): void | Promise<void>;
}

/**
 * The first bytes of a record that continues in the next block. They are copied, as the memory of a block
 * may be released, and joined once, when the record is complete.
 */
export class CarryOver {
  #chunks: Buffer[] = [];
  byteLength = 0;

  add(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#chunks.push(Buffer.from(chunk));
    this.byteLength += chunk.length;
  }

  /** Joins all that was added with `last`. A record within one block is a view of that block. */
  join(last: Buffer): Buffer {
    if (this.byteLength === 0) return last;
    const whole = Buffer.concat([...this.#chunks, last]);
    this.#chunks = [];
    this.byteLength = 0;
    return whole;
  }
}
