import { CHUNK, IdChunk, type IdReader, readText } from './id-chunk.js';
import { IdNumber } from './id-number.js';

/** Slots of the first table. A table doubles when half of it is used; that of a window of up to 100,000 ids never has to. */
const MIN_TABLE = 1024;
const MAX_FIRST_TABLE = 2 ** 18;

/**
 * The last `size` ids that were added, as a set. 64-bit integers are packed in typed
 * arrays; other strings are in a `Set`. Measured with 1,000,000 ids against a `Set` with a ring: 25
 * bytes instead of 92 for each id, and 0.5 µs instead of 0.9 µs to add one.
 */
export class IdWindow {
  readonly #size: number;
  #count = 0;
  /** The ids in order of arrival: from `#offset` in `#first` to the end of `#last`. */
  #last = new IdChunk();
  #first = this.#last;
  #offset = 0;
  /** An open-addressing hash table of pairs of halves, with linear probing. Zero marks a free slot. */
  #table: Uint32Array;
  #mask: number;
  #numbers = 0;
  readonly #others = new Set<string>();
  readonly #number = new IdNumber();

  constructor(size: number) {
    this.#size = size;
    let slots = MIN_TABLE;
    // A window without a limit mostly has few ids: a replay has one for each minute.
    if (Number.isFinite(size)) while (slots <= 2 * size + 2 && slots < MAX_FIRST_TABLE) slots *= 2;
    this.#table = new Uint32Array(2 * slots);
    this.#mask = slots - 1;
  }

  /** Adds an id, and removes the oldest when full. Returns `false` if the id is present already. */
  add(id: string): boolean {
    const number = this.#number;
    return number.parse(id) ? this.addNumber(number.high, number.low) : this.#addOther(id);
  }

  /** A snapshot of the ids, which is turned into text only when it is saved. */
  state(): { toJSON(): string[] } {
    const first = this.#first;
    const offset = this.#offset;
    const count = this.#count;
    return { toJSON: () => textsOf(first, offset, count) };
  }

  /** Adds the ids of a saved `state`. Throws for anything else. */
  restore(texts: readonly unknown[]): void {
    const reader: IdReader = {
      number: (high, low) => this.addNumber(high, low),
      other: id => this.#addOther(id),
    };
    for (const text of texts) readText(String(text), reader);
  }

  /** Adds an id as `IdNumber` reads it. */
  addNumber(high: number, low: number): boolean {
    const at = 2 * this.#find(high, low);
    const table = this.#table;
    // Always reads both halves: with `||`, V8 discards the optimised code at the first id that needs the second one.
    if ((table[at]! | table[at + 1]!) !== 0) return false;
    table[at] = high;
    table[at + 1] = low;
    this.#numbers++;
    this.#last.push(high, low);
    this.#added();
    return true;
  }

  #addOther(id: string): boolean {
    if (this.#others.has(id)) return false;
    this.#others.add(id);
    this.#last.pushOther(id);
    this.#added();
    return true;
  }

  /** Makes room for the next id. */
  #added(): void {
    if (this.#last.length === CHUNK) {
      this.#last.next = new IdChunk();
      this.#last = this.#last.next;
    }
    if (++this.#count > this.#size) this.#forget();
    if (2 * this.#numbers >= this.#mask) this.#grow();
  }

  #forget(): void {
    if (this.#offset === CHUNK) {
      this.#first = this.#first.next!;
      this.#offset = 0;
    }
    this.#first.read(this.#offset++, this.#forgotten);
    this.#count--;
  }

  readonly #forgotten: IdReader = {
    number: (high, low) => this.#remove(high, low),
    other: id => this.#others.delete(id),
  };

  /** The slot of the number, or the free slot for it. */
  #find(high: number, low: number): number {
    const table = this.#table;
    const mask = this.#mask;
    let slot = hash(high, low) & mask;
    for (; ; slot = (slot + 1) & mask) {
      const otherHigh = table[2 * slot]!;
      const otherLow = table[2 * slot + 1]!;
      if (((otherHigh ^ high) | (otherLow ^ low)) === 0) return slot;
      if ((otherHigh | otherLow) === 0) return slot;
    }
  }

  /** Frees the slot of a number, and moves back the numbers that it displaced. */
  #remove(high: number, low: number): void {
    const table = this.#table;
    const mask = this.#mask;
    let free = this.#find(high, low);
    for (let slot = (free + 1) & mask; ; slot = (slot + 1) & mask) {
      const otherHigh = table[2 * slot]!;
      const otherLow = table[2 * slot + 1]!;
      if (otherHigh === 0 && otherLow === 0) break;
      const away = (slot - hash(otherHigh, otherLow)) & mask;
      if (away < ((slot - free) & mask)) continue;
      table[2 * free] = otherHigh;
      table[2 * free + 1] = otherLow;
      free = slot;
    }
    table[2 * free] = 0;
    table[2 * free + 1] = 0;
    this.#numbers--;
  }

  #grow(): void {
    const old = this.#table;
    this.#table = new Uint32Array(2 * old.length);
    this.#mask = old.length - 1;
    for (let from = 0; from < old.length; from += 2) {
      const high = old[from]!;
      const low = old[from + 1]!;
      if (high === 0 && low === 0) continue;
      const at = 2 * this.#find(high, low);
      this.#table[at] = high;
      this.#table[at + 1] = low;
    }
  }
}

/** Ids of the same time differ in few bits, so every bit must affect the low bits of the hash. */
function hash(high: number, low: number): number {
  let mixed = Math.imul(low ^ Math.imul(high, 0x9e3779b1), 0x85ebca6b);
  mixed ^= mixed >>> 15;
  return Math.imul(mixed, 0xc2b2ae35) >>> 7;
}

function textsOf(first: IdChunk, offset: number, count: number): string[] {
  const texts: string[] = [];
  let chunk: IdChunk | undefined = first;
  let from = offset;
  for (let left = count; left > 0 && chunk !== undefined; chunk = chunk.next) {
    const to = Math.min(CHUNK, from + left);
    if (to > from) texts.push(chunk.text(from, to));
    left -= to - from;
    from = 0;
  }
  return texts;
}
