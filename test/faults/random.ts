import { createHash } from 'node:crypto';

export class Random {
  #state: number;

  constructor(text: string) {
    this.#state = createHash('sha256').update(text).digest().readUInt32LE();
  }

  /** Returns a number from 0 up to but excluding 1 (mulberry32). */
  readonly next = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let bits = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };

  /** Returns an integer from `min` to `max`, both inclusive. */
  whole(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  pick<T>(values: readonly T[]): T {
    return values[this.whole(0, values.length - 1)] as T;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }
}
