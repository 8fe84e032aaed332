const SLOTS = 2 ** 19;
/**
 * Each slot has three words. The first two have the upper digits of an id (never 0) and its lower
 * digits. The third tells whether the lower digits have been written.
 */
const WORDS = 3;
const DIGITS = 19;

/** A set of 19-digit ids that several threads share, in a table with a fixed number of slots. */
export class SharedIds {
  readonly #words: Int32Array;

  constructor(words: Int32Array) {
    this.#words = words;
  }

  static memory(): Int32Array {
    return new Int32Array(new SharedArrayBuffer(SLOTS * WORDS * Int32Array.BYTES_PER_ELEMENT));
  }

  add(bytes: Buffer, at: number): boolean {
    let first = 0;
    let rest = 0;
    for (let index = 0; index < 7; index++) first = first * 10 + digit(bytes, at + index);
    for (let index = 7; index < DIGITS; index++) rest = rest * 10 + digit(bytes, at + index);
    const upper = (first * 256 + Math.floor(rest / 2 ** 32)) | 0;
    const lower = rest | 0;
    const words = this.#words;
    for (let slot = hash(upper, lower) % SLOTS; ; slot = (slot + 1) % SLOTS) {
      const word = slot * WORDS;
      const found = Atomics.compareExchange(words, word, 0, upper);
      if (found === 0) {
        words[word + 1] = lower;
        Atomics.store(words, word + 2, 1);
        return true;
      }
      if (found !== upper) continue;
      while (Atomics.load(words, word + 2) === 0);
      if (words[word + 1] === lower) return false;
    }
  }
}

function digit(bytes: Buffer, at: number): number {
  return (bytes[at] as number) - 0x30;
}

function hash(upper: number, lower: number): number {
  const mixed = Math.imul(lower ^ (lower >>> 15), 0x2c1b3c6d) ^ Math.imul(upper, 0x297a2d39);
  return (mixed ^ (mixed >>> 13)) >>> 0;
}
