import { HASH_START, hashText } from '../post/tokeniser.js';
import { grown, IntPool, sharedInts, textIn, unitsIn, unitsOf } from './int-arrays.js';

/** A copy of a `Lexicon` in shared memory. */
export interface SharedTerms {
  readonly slots: Int32Array;
  readonly places: Int32Array;
  readonly records: Int32Array;
  readonly kinds: ReadonlyMap<string, number>;
}

/**
 * The layout of a term's record in an array of integers: the number that identifies the term, the term's
 * length in UTF-16 units, and then the units.
 */
const RECORD_NUMBER = 0;
const RECORD_LENGTH = 1;
const RECORD_HEADER = 2;

/**
 * The terms that the rules use. Each term has a small integer, the term's number. Terms of a post are looked
 * up by their UTF-16 units. Therefore, no string is created for a term that no rule uses.
 */
export class Lexicon {
  /**
   * A hash table that finds the record of a term, with open addressing and linear probing. Each slot has two
   * integers: the hash of the term, and the position of its record in `#records` plus 1. The second integer
   * of an empty slot is 0.
   */
  #slots: Int32Array = new Int32Array(2 << 10);
  #mask = (1 << 10) - 1;
  /**
   * The position of each term's record in `#records`. The index is the term's number. The value is -1 if no
   * term has this number.
   */
  #places: Int32Array = new Int32Array(1 << 10);
  /**
   * The records of all terms. In each record, the units of the term directly follow the header, two in each
   * integer, so that a lookup waits less for memory.
   */
  readonly #pool = new IntPool();
  #records: Int32Array = this.#pool.data;
  #units = unitsIn(this.#records);
  #capacity = 0;
  readonly #uses: number[] = [];
  readonly #free: number[] = [];
  readonly #kinds = new Map<string, Kind>();
  readonly #watched = new Map<string, Watched>();
  #size = 0;
  /** The loop that prefetches records writes to this field. V8 would remove a loop without an effect. */
  prefetched = 0;
  #text = new Uint16Array(64);
  /** The kind with an empty prefix. It is used to look up a term as a whole, including its prefix. */
  readonly #whole: Kind = { prefix: '', units: unitsOf(''), hash: HASH_START, terms: 0 };

  /** Returns a lexicon that reads terms in shared memory. These terms must not change. */
  static of({ slots, places, records, kinds }: SharedTerms): Lexicon {
    const lexicon = new Lexicon();
    lexicon.#slots = slots;
    lexicon.#mask = slots.length / 2 - 1;
    lexicon.#places = places;
    lexicon.#records = records;
    lexicon.#units = unitsIn(records);
    lexicon.#capacity = places.length;
    for (const [prefix, terms] of kinds) lexicon.kind(prefix).terms = terms;
    return lexicon;
  }

  share(): SharedTerms {
    const places = sharedInts(this.#capacity);
    let end = 0;
    for (let id = 0; id < this.#capacity; id++) {
      const place = this.#places[id]!;
      places[id] = place === -1 ? -1 : end;
      if (place !== -1) end += this.#sizeOf(place);
    }
    const records = sharedInts(end);
    for (const [id, to] of places.entries())
      if (to !== -1) {
        const place = this.#places[id]!;
        records.set(this.#records.subarray(place, place + this.#sizeOf(place)), to);
      }
    const slots = sharedInts(this.#slots.length);
    for (let at = 0; at < slots.length; at += 2) {
      const place = this.#slots[at + 1]! - 1;
      if (place === -1) continue;
      slots[at] = this.#slots[at]!;
      slots[at + 1] = places[this.#records[place + RECORD_NUMBER]!]! + 1;
    }
    const kinds = new Map([...this.#kinds].map(([prefix, { terms }]) => [prefix, terms]));
    return { slots, places, records, kinds };
  }

  /** The highest number that a term has had so far, plus 1. */
  get capacity(): number {
    return this.#capacity;
  }

  get size(): number {
    return this.#size;
  }

  term(id: number): string {
    const place = this.#places[id]!;
    const start = 2 * (place + RECORD_HEADER);
    const end = start + this.#records[place + RECORD_LENGTH]!;
    return textIn(this.#units.subarray(start, end));
  }

  /**
   * Returns the kind of terms with this prefix, which is `#`, `@`, `$` or `name:`. For terms without a
   * prefix, pass an empty string.
   */
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

  /**
   * Returns an object whose `id` is always the current number of the term, or -1 if the lexicon does not have
   * it. Terms that are tested on every post then need no lookup for each post.
   */
  watch(term: string): Watched {
    let watched = this.#watched.get(term);
    if (watched === undefined) {
      watched = { id: this.numberOf(term) };
      this.#watched.set(term, watched);
    }
    return watched;
  }

  numberOf(term: string): number {
    return this.find(this.#whole, term);
  }

  /** Returns the term's number. Adds the term if it is new. Each call must be followed by a `release`. */
  intern(term: string): number {
    const hash = hashText(HASH_START, term);
    const known = this.numberOf(term);
    if (known !== -1) {
      this.#uses[known]!++;
      return known;
    }
    const id = this.#free.pop() ?? this.#capacity++;
    this.#store(id, term);
    this.#uses[id] = 1;
    this.#size++;
    this.#updateTerm(term, id, 1);
    if (2 * this.#size > this.#mask) this.#grow();
    this.#insert(hash, this.#places[id]!);
    return id;
  }

  /**
   * Releases one use of a term, and returns whether it was the last one. After the last use, another term may
   * get the same id.
   */
  release(id: number): boolean {
    if (--this.#uses[id]! > 0) return false;
    const term = this.term(id);
    const place = this.#places[id]!;
    this.#remove(hashText(HASH_START, term), place);
    this.#pool.free(place, this.#sizeOf(place));
    this.#places[id] = -1;
    this.#free.push(id);
    this.#size--;
    this.#updateTerm(term, -1, -1);
    return true;
  }

  /**
   * Returns the number of the term that consists of the kind's prefix and this text. Returns -1 if no rule
   * uses that term.
   */
  find(kind: Kind, text: string): number {
    if (this.#text.length < text.length) this.#text = new Uint16Array(2 * text.length);
    for (let at = 0; at < text.length; at++) this.#text[at] = text.charCodeAt(at);
    return this.findUnits(kind, hashText(kind.hash, text), this.#text, 0, text.length);
  }

  /**
   * Returns the number of the term that consists of the kind's prefix and the UTF-16 code units from `start`
   * to `end`, or -1 if no rule uses that term. `hash` is the hash of the whole term.
   */
  findUnits(
    { units: prefix }: Kind,
    hash: number,
    units: Uint16Array,
    start: number,
    end: number,
  ): number {
    const slots = this.#slots;
    for (let at = this.#slotOf(hash); ; at = (at + 1) & this.#mask) {
      const place = slots[2 * at + 1]! - 1;
      if (place === -1) return -1;
      if (slots[2 * at] === hash && this.#isTerm(place, prefix, units, start, end))
        return this.#records[place + RECORD_NUMBER]!;
    }
  }

  /**
   * Returns whether the lexicon may contain a term with one of the first `count` hashes. Reads the slots of
   * all hashes, and then the records, without stopping early. The processor can load them from memory in
   * parallel, so that later lookups do not wait.
   */
  mayHoldAny(hashes: Int32Array, count: number): boolean {
    const slots = this.#slots;
    const records = this.#records;
    let any = 0;
    for (let i = 0; i < count; i++) any |= slots[2 * this.#slotOf(hashes[i]!) + 1]!;
    if (any === 0) return false;
    let prefetched = 0;
    for (let i = 0; i < count; i++) {
      const at = 2 * this.#slotOf(hashes[i]!);
      // A slot holds the position of a record plus 1. At that position is the length of the term, which a
      // lookup compares first.
      if (slots[at] === hashes[i]) prefetched |= records[slots[at + 1]!]!;
    }
    this.prefetched = prefetched;
    return true;
  }

  #isTerm(
    place: number,
    prefix: Uint16Array,
    units: Uint16Array,
    start: number,
    end: number,
  ): boolean {
    const { length } = prefix;
    if (this.#records[place + RECORD_LENGTH] !== length + end - start) return false;
    const from = 2 * (place + RECORD_HEADER);
    for (let i = 0; i < length; i++) if (this.#units[from + i] !== prefix[i]) return false;
    for (let i = start, at = from + length; i < end; i++, at++)
      if (this.#units[at] !== units[i]) return false;
    return true;
  }

  #sizeOf(place: number): number {
    return RECORD_HEADER + intsFor(this.#records[place + RECORD_LENGTH]!);
  }

  #store(id: number, term: string): void {
    this.#places = grown(this.#places, id + 1);
    const place = this.#pool.allocate(RECORD_HEADER + intsFor(term.length));
    if (this.#records !== this.#pool.data) {
      this.#records = this.#pool.data;
      this.#units = unitsIn(this.#records);
    }
    this.#records[place + RECORD_NUMBER] = id;
    this.#records[place + RECORD_LENGTH] = term.length;
    this.#units.set(unitsOf(term), 2 * (place + RECORD_HEADER));
    this.#places[id] = place;
  }

  #slotOf(hash: number): number {
    return (hash ^ (hash >>> 15)) & this.#mask;
  }

  #insert(hash: number, place: number): void {
    let at = this.#slotOf(hash);
    while (this.#slots[2 * at + 1] !== 0) at = (at + 1) & this.#mask;
    this.#slots[2 * at] = hash;
    this.#slots[2 * at + 1] = place + 1;
  }

  /**
   * Removes a term from the hash table. Then moves later entries into the free slot, if linear probing would
   * not find them otherwise.
   */
  #remove(hash: number, place: number): void {
    let hole = this.#slotOf(hash);
    while (this.#slots[2 * hole + 1] !== place + 1) hole = (hole + 1) & this.#mask;
    for (
      let at = (hole + 1) & this.#mask;
      this.#slots[2 * at + 1] !== 0;
      at = (at + 1) & this.#mask
    ) {
      const first = this.#slotOf(this.#slots[2 * at]!);
      if (((at - first) & this.#mask) < ((at - hole) & this.#mask)) continue;
      this.#slots[2 * hole] = this.#slots[2 * at]!;
      this.#slots[2 * hole + 1] = this.#slots[2 * at + 1]!;
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
      if (old[at + 1] !== 0) this.#insert(old[at]!, old[at + 1]! - 1);
  }

  #updateTerm(term: string, id: number, more: 1 | -1): void {
    this.kind(/^(?:[#@$]|\w+:)/.exec(term)?.[0] ?? '').terms += more;
    const watched = this.#watched.get(term);
    if (watched !== undefined) watched.id = id;
  }
}

export interface Kind {
  readonly prefix: string;
  readonly units: Uint16Array;
  readonly hash: number;
  terms: number;
}

export interface Watched {
  /** The number that currently identifies the term in the lexicon, or -1 if no rule uses the term. */
  id: number;
}

function intsFor(units: number): number {
  return (units + 1) >> 1;
}
