/**
 * The first bytes of a record that continues in the next block. They are copied, as the memory of a block
 * may be released, and joined once, when the record is complete.
 */
export class CarryOver {
  #pieces: Buffer[] = [];
  byteLength = 0;

  add(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#pieces.push(Buffer.from(piece));
    this.byteLength += piece.length;
  }

  /** Joins all that was added with `last`. A record within one block is a view of that block. */
  join(last: Buffer): Buffer {
    if (this.byteLength === 0) return last;
    const whole = Buffer.concat([...this.#pieces, last]);
    this.#pieces = [];
    this.byteLength = 0;
    return whole;
  }
}
