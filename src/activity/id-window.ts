import { CHUNK, IdChunk, type IdReader, readText } from './id-chunk.js';

const SMALLEST_TABLE = 1024;
const HALF = 2 ** 32;

/**
 * The ids that were added last, and whether an id is among them. Whole numbers of up to 64 bits,
 * which ids are, lie in typed arrays, at some 30 bytes each; other strings in a `Set`.
 */
export class IdWindow {
  readonly #size: number;
  #count = 0;
  /** The ids as they came: from `#offset` in `#first` to the end of `#last`. */
  #last = new IdChunk();
  #first = this.#last;
  #offset = 0;
  /** The numbers as pairs of halves, each at the first free place from its own on. Zero is free. */
  #table = new Uint32Array(2 * SMALLEST_TABLE);
  #mask = SMALLEST_TABLE - 1;
  #numbers = 0;
  readonly #others = new Set<string>();
  /** The halves of the id that was parsed last. */
  #high = 0;
  #low = 0;

  constructor(size: number) {
    this.#size = size;
  }

  /** Adds an id, in place of the oldest where there is no room. `false` where it is there already. */
  add(id: string): boolean {
    return this.#parse(id) ? this.#addNumber(this.#high, this.#low) : this.#addOther(id);
  }

  /** The ids as they are now. They are turned into text when someone wants it, then or later. */
  state(): { toJSON(): string[] } {
    const first = this.#first;
    const offset = this.#offset;
    const count = this.#count;
    return { toJSON: () => textsOf(first, offset, count) };
  }

  /** Adds what `state` gave. Throws where it is something else. */
  restore(texts: readonly unknown[]): void {
    const reader: IdReader = {
      number: (high, low) => this.#addNumber(high, low),
      other: id => this.#addOther(id),
    };
    for (const text of texts) readText(String(text), reader);
  }

  /** Whether the id is a whole number of 64 bits, written plainly. Zero is not, as it marks what is free. */
  #parse(id: string): boolean {
    const { length } = id;
    if (length === 0 || length > 20 || id.charCodeAt(0) === 0x30) return false;
    let high = 0;
    let low = 0;
    for (let at = 0; at < length; ) {
      // Six digits at a time stay exact in a double: 2^32 * 10^6 < 2^53.
      const end = Math.min(at + 6, length);
      let part = 0;
      let scale = 1;
      for (; at < end; at++) {
        const digit = id.charCodeAt(at) - 0x30;
        if (digit < 0 || digit > 9) return false;
        part = part * 10 + digit;
        scale *= 10;
      }
      const value = low * scale + part;
      low = value >>> 0;
      high = high * scale + Math.floor(value / HALF);
      if (high >= HALF) return false;
    }
    this.#high = high;
    this.#low = low;
    return true;
  }

  #addNumber(high: number, low: number): boolean {
    if (this.#isTaken(this.#find(high, low))) return false;
    this.#makeRoom();
    if (2 * (this.#numbers + 1) > this.#mask) this.#grow();
    this.#put(high, low);
    this.#numbers++;
    this.#last.push(high, low);
    return true;
  }

  #addOther(id: string): boolean {
    if (this.#others.has(id)) return false;
    this.#makeRoom();
    this.#others.add(id);
    this.#last.pushOther(id);
    return true;
  }

  #makeRoom(): void {
    if (this.#count === this.#size) this.#forget();
    this.#count++;
    if (this.#last.length < CHUNK) return;
    const next = new IdChunk();
    this.#last.next = next;
    this.#last = next;
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

  /** The place of the number, or the free one where it belongs. */
  #find(high: number, low: number): number {
    let place = hash(high, low) & this.#mask;
    while (
      (this.#table[2 * place] !== high || this.#table[2 * place + 1] !== low) &&
      this.#isTaken(place)
    )
      place = (place + 1) & this.#mask;
    return place;
  }

  #isTaken(place: number): boolean {
    return this.#table[2 * place] !== 0 || this.#table[2 * place + 1] !== 0;
  }

  #put(high: number, low: number): void {
    const place = this.#find(high, low);
    this.#table[2 * place] = high;
    this.#table[2 * place + 1] = low;
  }

  /** Frees the place of a number, and moves up those that stand further on only because of it. */
  #remove(high: number, low: number): void {
    let free = this.#find(high, low);
    let place = (free + 1) & this.#mask;
    for (; this.#isTaken(place); place = (place + 1) & this.#mask) {
      const [otherHigh, otherLow] = [this.#table[2 * place]!, this.#table[2 * place + 1]!];
      const away = (place - hash(otherHigh, otherLow)) & this.#mask;
      if (away < ((place - free) & this.#mask)) continue;
      this.#table[2 * free] = otherHigh;
      this.#table[2 * free + 1] = otherLow;
      free = place;
    }
    this.#table[2 * free] = 0;
    this.#table[2 * free + 1] = 0;
    this.#numbers--;
  }

  #grow(): void {
    const old = this.#table;
    this.#table = new Uint32Array(2 * old.length);
    this.#mask = old.length - 1;
    for (let at = 0; at < old.length; at += 2)
      if (old[at] !== 0 || old[at + 1] !== 0) this.#put(old[at]!, old[at + 1]!);
  }
}

/** Ids of one time differ little: every bit of theirs must reach the low bits of the hash. */
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
