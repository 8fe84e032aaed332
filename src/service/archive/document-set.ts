/** A set of documents of one block, as a bit set: bit `i` is document `i`, the `i`-th newest post. */
export class DocumentSet {
  readonly size: number;
  readonly #words: Uint32Array;

  constructor(size: number) {
    this.size = size;
    this.#words = new Uint32Array((size + 31) >>> 5);
  }

  static all(size: number): DocumentSet {
    const set = new DocumentSet(size);
    set.#words.fill(0xffff_ffff);
    set.#trim();
    return set;
  }

  add(document: number): void {
    this.#words[document >>> 5] = (this.#words[document >>> 5] as number) | (1 << (document & 31));
  }

  has(document: number): boolean {
    return ((this.#words[document >>> 5] as number) & (1 << (document & 31))) !== 0;
  }

  get isEmpty(): boolean {
    return this.#words.every(word => word === 0);
  }

  intersect(other: DocumentSet): void {
    const words = other.#words;
    for (let i = 0; i < words.length; i++)
      this.#words[i] = (this.#words[i] as number) & (words[i] as number);
  }

  unite(other: DocumentSet): void {
    const words = other.#words;
    for (let i = 0; i < words.length; i++)
      this.#words[i] = (this.#words[i] as number) | (words[i] as number);
  }

  invert(): void {
    for (let i = 0; i < this.#words.length; i++) this.#words[i] = ~(this.#words[i] as number);
    this.#trim();
  }

  /** The number of members from `start`, inclusive, to `end`, exclusive. */
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
        const document = i * 32 + (31 - Math.clz32(word & -word));
        if (document >= end) return;
        if (document >= start) yield document;
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
