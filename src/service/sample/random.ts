import { HASH_START, hashText } from '../../rules/post/tokeniser.js';

const RANGE = 0x1_0000_0000;

/**
 * A small random generator with a seed, xoroshiro64**. Its state is two 32-bit words. It uses only integer
 * arithmetic, so the same seed gives the same numbers on every machine.
 */
export class Random {
  #a = 1;
  #b = 0;

  seed(seed: Seed, minute: number, index: number): this {
    this.#a = mix(seed.a ^ Math.imul(minute, 0x9e3779b1) ^ mix(index + 0x7f4a7c15));
    this.#b = mix(seed.b + Math.imul(index, 0x85ebca6b) + mix(minute ^ 0x2545f491));
    if (this.#a === 0 && this.#b === 0) this.#a = 1;
    return this;
  }

  /**
   * Returns 32 random bits, as a signed integer. V8 allocates memory for each larger or fractional number
   * that a function returns, and a post takes about 30 random numbers. The methods below therefore call
   * `next` instead of `unit`.
   */
  next(): number {
    const a = this.#a;
    const b = this.#b ^ a;
    const product = Math.imul(a, 0x9e3779bb);
    this.#a = ((a << 26) | (a >>> 6)) ^ b ^ (b << 9);
    this.#b = (b << 13) | (b >>> 19);
    return Math.imul((product << 5) | (product >>> 27), 5);
  }

  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  unit(): number {
    return (this.next() >>> 0) / RANGE;
  }

  /** Returns an integer from 0 to `count` - 1. `count` is at most 2^31. */
  below(count: number): number {
    return (((this.next() >>> 0) / RANGE) * count) | 0;
  }

  /**
   * Like `below`, but small numbers are far more frequent, by a power law. This is how often real posts
   * contain a word, an author or a link.
   */
  skewed(count: number): number {
    const u = (this.next() >>> 0) / RANGE;
    return (u * u * u * count) | 0;
  }

  chance(percent: number): boolean {
    return ((this.next() >>> 0) / RANGE) * 100 < percent;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
}

/** The 64 bits from which all posts of a sample archive are derived. */
export interface Seed {
  readonly a: number;
  readonly b: number;
}

export function seedOf(seed: string | number): Seed {
  const bytes = Buffer.from(String(seed), 'utf8');
  let b = 0x9747b28c;
  for (const byte of bytes) b = mix(b ^ byte);
  return { a: mix(hashText(HASH_START, bytes.toString('latin1'))), b };
}

/** Mixes 32 bits, so that adjacent inputs give unrelated results. */
export function mix(value: number): number {
  let z = (value + 0x9e3779b9) | 0;
  z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
  z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
  return z ^ (z >>> 15);
}
