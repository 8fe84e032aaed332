/** A set of posts of one block: bit `i` stands for ordinal `i`, the `i`-th newest. */
export class Ordinals {
  readonly size: number;
  readonly #words: Uint32Array;

  constructor(size: number) {
    this.size = size;
    this.#words = new Uint32Array((size + 31) >>> 5);
  }

  static all(size: number): Ordinals {
    const set = new Ordinals(size);
    set.#words.fill(0xffff_ffff);
    set.#trim();
    return set;
  }

  add(ordinal: number): void {
    this.#words[ordinal >>> 5] = (this.#words[ordinal >>> 5] as number) | (1 << (ordinal & 31));
  }

  has(ordinal: number): boolean {
    return ((this.#words[ordinal >>> 5] as number) & (1 << (ordinal & 31))) !== 0;
  }

  get isEmpty(): boolean {
    return this.#words.every(word => word === 0);
  }

  intersect(other: Ordinals): void {
    const words = other.#words;
    for (let i = 0; i < words.length; i++)
      this.#words[i] = (this.#words[i] as number) & (words[i] as number);
  }

  unite(other: Ordinals): void {
    const words = other.#words;
    for (let i = 0; i < words.length; i++)
      this.#words[i] = (this.#words[i] as number) | (words[i] as number);
  }

  invert(): void {
    for (let i = 0; i < this.#words.length; i++) this.#words[i] = ~(this.#words[i] as number);
    this.#trim();
  }

  /** How many members are from `start`, inclusive, to `end`, exclusive. */
  count(start: number, end: number): number {
    if (start >= end) return 0;
    const first = start >>> 5;
    const last = (end - 1) >>> 5;
    const head = 0xffff_ffff << (start & 31);
    const tail = 0xffff_ffff >>> (31 - ((end - 1) & 31));
    if (first === last) return bits((this.#words[first] as number) & head & tail);
    let count = bits((this.#words[first] as number) & head);
    for (let i = first + 1; i < last; i++) count += bits(this.#words[i] as number);
    return count + bits((this.#words[last] as number) & tail);
  }

  /** Members from `start` to `end`, ascending. */
  *members(start: number, end: number): Generator<number> {
    for (let i = start >>> 5; i < this.#words.length; i++) {
      let word = this.#words[i] as number;
      while (word !== 0) {
        const ordinal = i * 32 + (31 - Math.clz32(word & -word));
        if (ordinal >= end) return;
        if (ordinal >= start) yield ordinal;
        word &= word - 1;
      }
    }
  }

  #trim(): void {
    const extra = this.size & 31;
    const last = this.#words.length - 1;
    if (extra !== 0) this.#words[last] = (this.#words[last] as number) & ((1 << extra) - 1);
  }
}

function bits(word: number): number {
  let n = word - ((word >>> 1) & 0x5555_5555);
  n = (n & 0x3333_3333) + ((n >>> 2) & 0x3333_3333);
  return Math.imul((n + (n >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}
