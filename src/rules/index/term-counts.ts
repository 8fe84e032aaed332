import type { Lexicon } from './lexicon.js';

/** How common terms are: a guess at first, then increasingly the frequency in posts. */
export class TermCounts {
  readonly #lexicon: Lexicon;
  readonly #guess: (term: string) => number;
  /** The guess for each term by number; NaN if not computed yet. */
  #guesses = new Float32Array(1024).fill(Number.NaN);
  #seen = new Uint32Array(1024);
  posts = 0;

  constructor(lexicon: Lexicon, guess: (term: string) => number) {
    this.#lexicon = lexicon;
    this.#guess = guess;
  }

  /** Counts the terms of a post. */
  count(terms: Int32Array, length: number): void {
    this.#reserve();
    const seen = this.#seen;
    for (let i = 0; i < length; i++) (seen[terms[i] as number] as number)++;
    this.posts++;
  }

  /** The share of posts that have the term, 0 to 1. */
  frequency(term: number): number {
    this.#reserve();
    let guess = this.#guesses[term] as number;
    if (Number.isNaN(guess)) {
      guess = this.#guess(this.#lexicon.term(term));
      this.#guesses[term] = guess;
    }
    return ((this.#seen[term] as number) + guess * GUESSED_POSTS) / (this.posts + GUESSED_POSTS);
  }

  /** Resets a number that another term may get next. */
  forget(term: number): void {
    this.#reserve();
    this.#seen[term] = 0;
    this.#guesses[term] = Number.NaN;
  }

  #reserve(): void {
    const { capacity } = this.#lexicon;
    if (capacity <= this.#seen.length) return;
    const seen = new Uint32Array(2 * capacity);
    seen.set(this.#seen);
    this.#seen = seen;
    const guesses = new Float32Array(2 * capacity).fill(Number.NaN);
    guesses.set(this.#guesses);
    this.#guesses = guesses;
  }
}

/** The weight of a guess, in posts. */
const GUESSED_POSTS = 500;
