/**
 * The beginning of a record that was cut between blocks. It is copied, because the memory of a block
 * may go back once the records that end in it are used, and joined once, when its end is here.
 */
export class CarryOver {
  #pieces: Buffer[] = [];
  byteLength = 0;

  add(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#pieces.push(Buffer.from(piece));
    this.byteLength += piece.length;
  }

  /** All that was added, and `last`; a record that lies in one block is that block's own memory. */
  join(last: Buffer): Buffer {
    if (this.byteLength === 0) return last;
    const whole = Buffer.concat([...this.#pieces, last]);
    this.#pieces = [];
    this.byteLength = 0;
    return whole;
  }
}
