import { HASH_START, hashText } from '../post/tokeniser.js';
import { IntPool } from './postings.js';
import { sharedInts, sharedUnits, textIn, unitsIn, unitsOf } from './shared-arrays.js';

/** The terms of a lexicon in shared memory. */
export interface SharedTerms {
  readonly slots: Int32Array;
  readonly places: Int32Array;
  readonly units: Uint16Array;
  readonly kinds: ReadonlyMap<string, number>;
}

/**
 * The terms that rules use, each with a small number. The terms of a post are looked up by their
 * UTF-16 units, so no string is created for a term that no rule uses.
 */
export class Lexicon {
  /**
   * Open addressing with linear probing: pairs of a hash and a number + 1, which is 0 in empty slots.
   */
  #slots: Int32Array = new Int32Array(2 << 10);
  #mask = (1 << 10) - 1;
  /** For each number, where the units of the term start, and how many they are. */
  #places: Int32Array = new Int32Array(2 << 10);
  /** Two units in each integer. */
  readonly #pool = new IntPool();
  #units = unitsIn(this.#pool.data);
  #capacity = 0;
  readonly #uses: number[] = [];
  readonly #free: number[] = [];
  readonly #kinds = new Map<string, Kind>();
  readonly #watched = new Map<string, Watched>();
  #size = 0;
  /** The units of a text that is looked up. */
  #text = new Uint16Array(64);
  /** Looks up terms with their prefix. */
  readonly #whole: Kind = { prefix: '', units: unitsOf(''), hash: HASH_START, terms: 0 };

  /** A lexicon over terms in shared memory, which do not change. */
  static of({ slots, places, units, kinds }: SharedTerms): Lexicon {
    const lexicon = new Lexicon();
    lexicon.#slots = slots;
    lexicon.#mask = slots.length / 2 - 1;
    lexicon.#places = places;
    lexicon.#units = units;
    lexicon.#capacity = places.length / 2;
    for (const [prefix, terms] of kinds) lexicon.kind(prefix).terms = terms;
    return lexicon;
  }

  /** Copies the terms to shared memory. */
  share(): SharedTerms {
    const places = sharedInts(2 * this.#capacity);
    let end = 0;
    for (let id = 0; id < this.#capacity; id++) {
      places[2 * id] = end;
      places[2 * id + 1] = this.#places[2 * id + 1] as number;
      end += places[2 * id + 1] as number;
    }
    const units = sharedUnits(end);
    for (let id = 0; id < this.#capacity; id++)
      units.set(this.#unitsOf(id), places[2 * id] as number);
    const slots = sharedInts(this.#slots.length);
    slots.set(this.#slots);
    const kinds = new Map([...this.#kinds].map(([prefix, { terms }]) => [prefix, terms]));
    return { slots, places, units, kinds };
  }

  /** One more than the highest number so far. */
  get capacity(): number {
    return this.#capacity;
  }

  get size(): number {
    return this.#size;
  }

  term(id: number): string {
    return textIn(this.#unitsOf(id));
  }

  /** The kind of terms with this prefix: `#`, `@`, `$` or `name:`, or '' for terms without one. */
  kind(prefix: string): Kind {
    let kind = this.#kinds.get(prefix);
    if (kind === undefined) {
      kind = {
        prefix,
        units: unitsOf(prefix),
        hash: hashText(HASH_START, prefix),
        terms: 0,
      };
      this.#kinds.set(prefix, kind);
    }
    return kind;
  }

  /** Keeps the number of a term current, for terms that every post is tested for. */
  watch(term: string): Watched {
    let watched = this.#watched.get(term);
    if (watched === undefined) {
      watched = { id: this.numberOf(term) };
      this.#watched.set(term, watched);
    }
    return watched;
  }

  /** The number of a term, or -1. */
  numberOf(term: string): number {
    return this.find(this.#whole, term);
  }

  /** The number of a term. Each call needs a `release`. */
  intern(term: string): number {
    const hash = hashText(HASH_START, term);
    const known = this.numberOf(term);
    if (known !== -1) {
      (this.#uses[known] as number)++;
      return known;
    }
    const id = this.#free.pop() ?? this.#capacity++;
    this.#store(id, term);
    this.#uses[id] = 1;
    this.#size++;
    this.#updateTerm(term, id, 1);
    if (2 * this.#size > this.#mask) this.#grow();
    this.#insert(hash, id);
    return id;
  }

  /** Returns whether this was the last use, after which another term may get the number. */
  release(id: number): boolean {
    if (--(this.#uses[id] as number) > 0) return false;
    const term = this.term(id);
    this.#remove(hashText(HASH_START, term), id);
    this.#pool.free((this.#places[2 * id] as number) / 2, intsFor(term.length));
    this.#places[2 * id + 1] = 0;
    this.#free.push(id);
    this.#size--;
    this.#updateTerm(term, -1, -1);
    return true;
  }

  /** The number of the term that consists of the kind's prefix and this text, or -1. */
  find(kind: Kind, text: string): number {
    if (this.#text.length < text.length) this.#text = new Uint16Array(2 * text.length);
    for (let at = 0; at < text.length; at++) this.#text[at] = text.charCodeAt(at);
    return this.findUnits(kind, hashText(kind.hash, text), this.#text, 0, text.length);
  }

  /** Like `find`, for units; `hash` is the hash of the prefix and the units. */
  findUnits(
    { units: prefix }: Kind,
    hash: number,
    units: Uint16Array,
    start: number,
    end: number,
  ): number {
    const slots = this.#slots;
    for (let at = this.#slotOf(hash); ; at = (at + 1) & this.#mask) {
      const id = (slots[2 * at + 1] as number) - 1;
      if (id === -1) return -1;
      if (slots[2 * at] === hash && this.#isTerm(id, prefix, units, start, end)) return id;
    }
  }

  /**
   * Whether there may be a term for any of these hashes. Reads the slots of all of them, without a
   * short cut: the processor can then fetch them in parallel, and the following lookups do not wait.
   */
  mayHoldAny(hashes: Int32Array, count: number): boolean {
    let any = 0;
    for (let i = 0; i < count; i++)
      any |= this.#slots[2 * this.#slotOf(hashes[i] as number) + 1] as number;
    return any !== 0;
  }

  #isTerm(
    id: number,
    prefix: Uint16Array,
    units: Uint16Array,
    start: number,
    end: number,
  ): boolean {
    const { length } = prefix;
    if (this.#places[2 * id + 1] !== length + end - start) return false;
    const from = this.#places[2 * id] as number;
    for (let i = 0; i < length; i++) if (this.#units[from + i] !== prefix[i]) return false;
    for (let i = start, at = from + length; i < end; i++, at++)
      if (this.#units[at] !== units[i]) return false;
    return true;
  }

  #unitsOf(id: number): Uint16Array {
    const start = this.#places[2 * id] as number;
    return this.#units.subarray(start, start + (this.#places[2 * id + 1] as number));
  }

  #store(id: number, term: string): void {
    if (2 * id >= this.#places.length) {
      const places = new Int32Array(4 * id);
      places.set(this.#places);
      this.#places = places;
    }
    const start = 2 * this.#pool.allocate(intsFor(term.length));
    if (this.#units.buffer !== this.#pool.data.buffer) this.#units = unitsIn(this.#pool.data);
    this.#units.set(unitsOf(term), start);
    this.#places[2 * id] = start;
    this.#places[2 * id + 1] = term.length;
  }

  #slotOf(hash: number): number {
    return (hash ^ (hash >>> 15)) & this.#mask;
  }

  #insert(hash: number, id: number): void {
    let at = this.#slotOf(hash);
    while (this.#slots[2 * at + 1] !== 0) at = (at + 1) & this.#mask;
    this.#slots[2 * at] = hash;
    this.#slots[2 * at + 1] = id + 1;
  }

  /** Moves later entries of the same run back into the hole, so that probes still reach them. */
  #remove(hash: number, id: number): void {
    let hole = this.#slotOf(hash);
    while (this.#slots[2 * hole + 1] !== id + 1) hole = (hole + 1) & this.#mask;
    for (
      let at = (hole + 1) & this.#mask;
      this.#slots[2 * at + 1] !== 0;
      at = (at + 1) & this.#mask
    ) {
      const first = this.#slotOf(this.#slots[2 * at] as number);
      if (((at - first) & this.#mask) < ((at - hole) & this.#mask)) continue;
      this.#slots[2 * hole] = this.#slots[2 * at] as number;
      this.#slots[2 * hole + 1] = this.#slots[2 * at + 1] as number;
      hole = at;
    }
    this.#slots[2 * hole] = 0;
    this.#slots[2 * hole + 1] = 0;
  }

  #grow(): void {
    const old = this.#slots;
    this.#mask = 2 * this.#mask + 1;
    this.#slots = new Int32Array(2 * (this.#mask + 1));
    for (let at = 0; at < old.length; at += 2)
      if (old[at + 1] !== 0) this.#insert(old[at] as number, (old[at + 1] as number) - 1);
  }

  /** Updates the watched number and the count of terms of a term's kind. */
  #updateTerm(term: string, id: number, more: 1 | -1): void {
    this.kind(/^(?:[#@$]|\w+:)/.exec(term)?.[0] ?? '').terms += more;
    const watched = this.#watched.get(term);
    if (watched !== undefined) watched.id = id;
  }
}

export interface Kind {
  readonly prefix: string;
  readonly units: Uint16Array;
  /** The hash of the prefix. */
  readonly hash: number;
  /** The current number of terms of this kind. */
  terms: number;
}

export interface Watched {
  /** The current number of the term, or -1. */
  id: number;
}

/** The integers that hold this many units. */
function intsFor(units: number): number {
  return (units + 1) >> 1;
}
