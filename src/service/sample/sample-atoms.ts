import { AUTHORS } from './sample-authors.js';
import { FRAGMENTS, fragmentKey, MENTION } from './sample-fragments.js';
import { LANGUAGES, PLACES, SOURCES } from './sample-vocabulary.js';

// An atom is a number for one property of a post. The atoms below `FRAGMENTS` are keys of text fragments,
// such as mentions. The next ranges have one atom for each author: `FROM + 5` is for posts from author 5. All
// other properties have higher atoms.
export const FROM: number = FRAGMENTS;
export const MENTIONS: number = fragmentKey(MENTION, 0);
export const TO: number = FROM + AUTHORS;
export const RETWEETS_OF: number = TO + AUTHORS;
export const QUOTES: number = RETWEETS_OF + AUTHORS;
export const LANGUAGE: number = QUOTES + AUTHORS;
/** The atom (a number for a property of a post) for the language of posts without words. */
export const WORDLESS: number = LANGUAGE + LANGUAGES.length;
export const SOURCE: number = WORDLESS + 1;
export const TAGGED_PLACE: number = SOURCE + SOURCES.length;
export const IMAGES: number = TAGGED_PLACE + PLACES.length;
export const VIDEO: number = IMAGES + 1;
export const ANIMATION: number = IMAGES + 2;
export const ATOMS: number = IMAGES + 3;

/**
 * The posts of a block, one after another, each as a list of atoms (numbers for properties of the post).
 * `starts` has the index of the first atom of each post.
 */
export interface AtomIndex {
  readonly starts: Int32Array;
  readonly atoms: Int32Array;
}

/** A set of atoms, as a bit set. */
export class AtomSet {
  readonly #words = new Uint32Array((ATOMS + 31) >>> 5);

  constructor(atoms: Iterable<number> = []) {
    for (const atom of atoms) this.add(atom);
  }

  add(atom: number): void {
    this.#words[atom >>> 5] = (this.#words[atom >>> 5] as number) | (1 << (atom & 31));
  }

  has(atom: number): boolean {
    return (((this.#words[atom >>> 5] as number) >>> (atom & 31)) & 1) === 1;
  }
}

/**
 * A list of atoms, which are numbers for properties of posts. Its buffer is reused for the next block of
 * posts.
 */
export class AtomList {
  #atoms = new Int32Array(8192);
  length = 0;

  push(atom: number): void {
    if (this.length === this.#atoms.length) {
      const atoms = new Int32Array(2 * this.length);
      atoms.set(this.#atoms);
      this.#atoms = atoms;
    }
    this.#atoms[this.length++] = atom;
  }

  /** Removes all atoms from the list and returns them. */
  take(): Int32Array {
    const atoms = this.#atoms.slice(0, this.length);
    this.length = 0;
    return atoms;
  }
}
