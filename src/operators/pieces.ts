/** The beginning of a record that was cut between blocks. It is joined once, when its end is here. */
export class Pieces {
  #pieces: Buffer[] = [];
  byteLength = 0;

  add(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#pieces.push(piece);
    this.byteLength += piece.length;
  }

  /** All that was added, and `last`; a record that lies in one block is that block's own memory. */
  join(last: Buffer): Buffer {
    if (this.byteLength === 0) return last;
    this.add(last);
    const whole = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.byteLength = 0;
    return whole;
  }
}
