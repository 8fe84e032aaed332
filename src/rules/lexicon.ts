import { HASH_START, hashText } from './tokeniser.js';

/**
 * The terms that rules use, each with a small number. A post's terms are looked up by their units,
 * so that those no rule asks for cost no string.
 */
export class Lexicon {
  /** Open addressing with linear probing: pairs of a hash and a number + 1, 0 where empty. */
  #slots = new Int32Array(2 << 10);
  #mask = (1 << 10) - 1;
  readonly #terms: string[] = [];
  readonly #uses: number[] = [];
  readonly #free: number[] = [];
  readonly #prefixes = new Map<string, number>();
  #size = 0;

  /** One more than the highest number given so far. */
  get capacity(): number {
    return this.#terms.length;
  }

  get size(): number {
    return this.#size;
  }

  term(id: number): string {
    return this.#terms[id] as string;
  }

  /** Whether there is any term of this kind. */
  uses({ text }: Prefix): boolean {
    return this.#prefixes.has(text);
  }

  /** The number of a term, or -1. */
  numberOf(term: string): number {
    return this.#find(hashText(HASH_START, term), term);
  }

  /** The number of a term, which is held until it is released as often. */
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
    this.#countPrefix(term, 1);
    if (2 * this.#size > this.#mask) this.#grow();
    this.#insert(hash, id);
    return id;
  }

  /** Whether that was the last use: then the number may come to stand for another term. */
  release(id: number): boolean {
    if (--(this.#uses[id] as number) > 0) return false;
    const term = this.#terms[id] as string;
    this.#remove(hashText(HASH_START, term), id);
    this.#terms[id] = '';
    this.#free.push(id);
    this.#size--;
    this.#countPrefix(term, -1);
    return true;
  }

  /** The number of `prefix` + `text`, or -1. */
  find(prefix: Prefix, text: string): number {
    const hash = hashText(prefix.hash, text);
    const { length } = prefix.text;
    for (let at = this.#home(hash); ; at = (at + 1) & this.#mask) {
      const id = (this.#slots[2 * at + 1] as number) - 1;
      if (id === -1) return -1;
      if (this.#slots[2 * at] !== hash) continue;
      const term = this.#terms[id] as string;
      if (
        term.length === length + text.length &&
        term.startsWith(prefix.text) &&
        term.endsWith(text)
      )
        return id;
    }
  }

  /** The number of `prefix` and these units, whose hash after that of the prefix is `hash`, or -1. */
  findUnits(prefix: Prefix, hash: number, units: Uint16Array, start: number, end: number): number {
    const slots = this.#slots;
    for (let at = this.#home(hash); ; at = (at + 1) & this.#mask) {
      const id = (slots[2 * at + 1] as number) - 1;
      if (id === -1) return -1;
      if (
        slots[2 * at] === hash &&
        isTerm(this.#terms[id] as string, prefix.text, units, start, end)
      )
        return id;
    }
  }

  #find(hash: number, term: string): number {
    for (let at = this.#home(hash); ; at = (at + 1) & this.#mask) {
      const id = (this.#slots[2 * at + 1] as number) - 1;
      if (id === -1 || (this.#slots[2 * at] === hash && this.#terms[id] === term)) return id;
    }
  }

  #home(hash: number): number {
    return (hash ^ (hash >>> 15)) & this.#mask;
  }

  #insert(hash: number, id: number): void {
    let at = this.#home(hash);
    while (this.#slots[2 * at + 1] !== 0) at = (at + 1) & this.#mask;
    this.#slots[2 * at] = hash;
    this.#slots[2 * at + 1] = id + 1;
  }

  /** Later entries of the same run move up into the hole, so that no probe stops short of them. */
  #remove(hash: number, id: number): void {
    let hole = this.#home(hash);
    while (this.#slots[2 * hole + 1] !== id + 1) hole = (hole + 1) & this.#mask;
    for (
      let at = (hole + 1) & this.#mask;
      this.#slots[2 * at + 1] !== 0;
      at = (at + 1) & this.#mask
    ) {
      const home = this.#home(this.#slots[2 * at] as number);
      if (((at - home) & this.#mask) < ((at - hole) & this.#mask)) continue;
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

  #countPrefix(term: string, by: number): void {
    const prefix = /^(?:[#@$]|\w+:)/.exec(term)?.[0];
    if (prefix === undefined) return;
    const count = (this.#prefixes.get(prefix) ?? 0) + by;
    if (count === 0) this.#prefixes.delete(prefix);
    else this.#prefixes.set(prefix, count);
  }
}

/** What all terms of a kind start with, and the hash of that. */
export interface Prefix {
  readonly text: string;
  readonly hash: number;
}

export function prefix(text: string): Prefix {
  return { text, hash: hashText(HASH_START, text) };
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
