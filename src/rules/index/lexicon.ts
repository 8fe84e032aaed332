import { HASH_START, hashText } from '../post/tokeniser.js';

/**
 * The terms that rules use, each with a small number. The terms of a post are looked up by their
 * UTF-16 units, so no string is created for a term that no rule uses.
 */
export class Lexicon {
  /**
   * Open addressing with linear probing: pairs of a hash and a number + 1, which is 0 in empty slots.
   */
  #slots = new Int32Array(2 << 10);
  #mask = (1 << 10) - 1;
  readonly #terms: string[] = [];
  readonly #uses: number[] = [];
  readonly #free: number[] = [];
  readonly #kinds = new Map<string, Kind>();
  readonly #watched = new Map<string, Watched>();
  #size = 0;

  /** One more than the highest number so far. */
  get capacity(): number {
    return this.#terms.length;
  }

  get size(): number {
    return this.#size;
  }

  term(id: number): string {
    return this.#terms[id] as string;
  }

  /** The kind of terms with this prefix: `#`, `@`, `$` or `name:`, or '' for terms without one. */
  kind(prefix: string): Kind {
    let kind = this.#kinds.get(prefix);
    if (kind === undefined) {
      kind = { prefix, hash: hashText(HASH_START, prefix), terms: 0 };
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
    return this.#find(hashText(HASH_START, term), term);
  }

  /** The number of a term. Each call needs a `release`. */
  intern(term: string): number {
    const hash = hashText(HASH_START, term);
    const known = this.#find(hash, term);
    if (known !== -1) {
      (this.#uses[known] as number)++;
      return known;
    }
    const id = this.#free.pop() ?? this.#terms.length;
    this.#terms[id] = term;
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
    const term = this.#terms[id] as string;
    this.#remove(hashText(HASH_START, term), id);
    this.#terms[id] = '';
    this.#free.push(id);
    this.#size--;
    this.#updateTerm(term, -1, -1);
    return true;
  }

  /** The number of the term that consists of the kind's prefix and this text, or -1. */
  find({ prefix, hash: before }: Kind, text: string): number {
    const hash = hashText(before, text);
    const { length } = prefix;
    for (let at = this.#slotOf(hash); ; at = (at + 1) & this.#mask) {
      const id = (this.#slots[2 * at + 1] as number) - 1;
      if (id === -1) return -1;
      if (this.#slots[2 * at] !== hash) continue;
      const term = this.#terms[id] as string;
      if (term.length === length + text.length && term.startsWith(prefix) && term.endsWith(text))
        return id;
    }
  }

  /** Like `find`, for units; `hash` is the hash of the prefix and the units. */
  findUnits(
    { prefix }: Kind,
    hash: number,
    units: Uint16Array,
    start: number,
    end: number,
  ): number {
    const slots = this.#slots;
    for (let at = this.#slotOf(hash); ; at = (at + 1) & this.#mask) {
      const id = (slots[2 * at + 1] as number) - 1;
      if (id === -1) return -1;
      if (slots[2 * at] === hash && isTerm(this.#terms[id] as string, prefix, units, start, end))
        return id;
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

  #find(hash: number, term: string): number {
    for (let at = this.#slotOf(hash); ; at = (at + 1) & this.#mask) {
      const id = (this.#slots[2 * at + 1] as number) - 1;
      if (id === -1 || (this.#slots[2 * at] === hash && this.#terms[id] === term)) return id;
    }
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
  /** The hash of the prefix. */
  readonly hash: number;
  /** The current number of terms of this kind. */
  terms: number;
}

export interface Watched {
  /** The current number of the term, or -1. */
  id: number;
}

function isTerm(
  term: string,
  prefix: string,
  units: Uint16Array,
  start: number,
  end: number,
): boolean {
  const { length } = prefix;
  if (term.length !== length + end - start) return false;
  for (let i = start; i < end; i++)
    if (term.charCodeAt(length + i - start) !== units[i]) return false;
  return length === 0 || term.startsWith(prefix);
}
