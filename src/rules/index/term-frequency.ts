import { ruleOperators } from '../operators/operators.js';
import { isSingle } from '../post/tokeniser.js';
import type { OperatorName } from '../tree.js';
import type { Lexicon } from './lexicon.js';

/**
 * Guesses the fraction of posts that have a term, from 0 to 1. Used for an index that has not seen any posts
 * yet. The guesses need not be exact. They only choose the terms under which rules are indexed, and never
 * decide which rules match.
 */
export function usualFrequency(term: string): number {
  const known = KNOWN.get(term);
  if (known !== undefined) return known;
  const [prefix = '', name = ''] = /^(?:[#@$]|(\w+):)/.exec(term) ?? [];
  if (prefix in MARKS) return MARKS[prefix]!;
  const word = frequencyOfWord(term.slice(prefix.length));
  return name in ruleOperators ? ruleOperators[name as OperatorName].frequency(word) : word;
}

const MARKS: { readonly [mark: string]: number } = { '#': 0.0005, $: 0.0005, '@': 0.0002 };

function frequencyOfWord(word: string): number {
  if (COMMON.has(word)) return 0.1;
  if (isSingle(word)) return word.length === 1 ? 0.03 : 0.002;
  return BY_LENGTH[Math.min(word.length, BY_LENGTH.length - 1)]!;
}

const BY_LENGTH = [0.05, 0.05, 0.03, 0.01, 0.004, 0.002, 0.0012, 0.0008, 0.0005, 0.0003];

const KNOWN: ReadonlyMap<string, number> = new Map([
  ['lang:en', 0.4],
  ['has:links', 0.4],
  ['has:mentions', 0.6],
  ['has:geo', 0.02],
  ['has:symbols', 0.002],
  ['has:videos', 0.05],
  ['is:nullcast', 0.001],
  ['is:verified', 0.02],
  ['is:retweet', 0.4],
]);

const COMMON: ReadonlySet<string> = new Set(
  (
    'a about after all am an and any are as at back be because been but by can co com come could ' +
    'day de did do don even first for from get go going good got great had has have he her here him ' +
    'his how http https i if in into is it its just know la let like lol love make me more most much ' +
    'my need never new no not now of off on one only or our out over people really right rt s say ' +
    'see she should so some still t take than thank thanks that the their them then there these they ' +
    'thing think this time to today too twitter u up us very via want was way we well went were what ' +
    'when where which who why will with work would www year you your que el en no un es y lo se por'
  ).split(' '),
);

/**
 * Estimates how common terms are. An estimate is a guess at first, and approaches the counted frequency as
 * posts are counted.
 */
export class TermCounts {
  readonly #lexicon: Lexicon;
  readonly #guess: (term: string) => number;
  /** The guess for each term, by the term's number; NaN if the guess is not computed yet. */
  #guesses = new Float32Array(1024).fill(Number.NaN);
  #seen = new Uint32Array(1024);
  posts = 0;

  constructor(lexicon: Lexicon, guess: (term: string) => number) {
    this.#lexicon = lexicon;
    this.#guess = guess;
  }

  count(terms: Int32Array, length: number): void {
    this.#reserve();
    const seen = this.#seen;
    for (let i = 0; i < length; i++) seen[terms[i]!]!++;
    this.posts++;
  }

  /** Returns the estimated fraction of posts that have the term, from 0 to 1. */
  frequency(term: number): number {
    this.#reserve();
    let guess = this.#guesses[term]!;
    if (Number.isNaN(guess)) {
      guess = this.#guess(this.#lexicon.term(term));
      this.#guesses[term] = guess;
    }
    return estimateFrequency(guess, this.#seen[term]!, this.posts);
  }

  /**
   * Clears the count and the guessed frequency of a term that the lexicon has released. Another term may get
   * its number.
   */
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

/** How many counted posts weigh as much as a guess. */
const GUESSED_POSTS = 500;

/**
 * Estimates the fraction of posts that have a term, from a guess and from counted posts: `seen` of the
 * `posts` counted posts have the term.
 */
export function estimateFrequency(guess: number, seen: number, posts: number): number {
  return (seen + guess * GUESSED_POSTS) / (posts + GUESSED_POSTS);
}
