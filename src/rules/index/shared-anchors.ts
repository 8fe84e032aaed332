import { type Frequencies, rarestSetAt, secondTerm } from './anchor-sets.js';
import type { IndexedRules } from './find-matches.js';
import { sharedInts } from './int-arrays.js';
import type { SharedIndex } from './rule-index.js';
import { estimateFrequency } from './term-frequency.js';

/** The rules that are indexed under each term, in shared memory. */
export type SharedPostings = Pick<IndexedRules, 'postings' | 'lists'>;

/**
 * The index of rules by term, in shared memory. There are two copies of the index. All threads read one copy.
 * At times, one thread rebuilds the other copy from the counts of recent posts. All threads then read that
 * copy.
 */
export interface Anchoring {
  readonly copies: readonly [SharedPostings, SharedPostings];
  /** The approximate number of counted posts that had each term. The index is the term's number. */
  readonly seen: Int32Array;
  /**
   * Counters and flags that all threads share. `CURRENT`, `READERS` and other constants are their positions.
   */
  readonly state: Int32Array;
}

/**
 * The positions of the integers in `state`. `CURRENT` is the index in `copies` of the copy that threads read.
 * `IS_REVIEWED` is 1 while a thread rewrites the other copy. `POSTS` is the number of counted posts.
 * `REVIEW_AFTER` is the number of counted posts at which the next rewrite is due.
 */
const CURRENT = 0;
export const IS_REVIEWED = 1;
const POSTS = 2;
export const REVIEW_AFTER = 3;
/**
 * The position in `state` of the first of two counters. Each counter is the number of threads that are
 * reading one of the two copies of the index.
 */
const READERS = 4;
const STATE_INTS = 6;

const MIN_POSTS = 1_000;
/**
 * The first review of the anchors is due after one counted post for every `RULES_A_POST` rules, but not
 * before `MIN_POSTS` counted posts.
 */
const RULES_A_POST = 16;
/**
 * A review of the anchors is due when the number of counted posts has grown by this factor since the last
 * review.
 */
const GROWTH = 4;

export function anchoringOf(index: SharedIndex): Anchoring {
  const { anchored, sets, guesses } = index;
  let size = 0;
  for (let at = 0; at < anchored.length; at += 3)
    size += 2 * longestSet(sets, anchored[at + 1]!, anchored[at + 2]!);
  const copy = () => ({ postings: sharedInts(size), lists: sharedInts(2 * guesses.length) });
  const anchoring: Anchoring = {
    copies: [copy(), copy()],
    seen: sharedInts(guesses.length),
    state: sharedInts(STATE_INTS),
  };
  anchoring.state[REVIEW_AFTER] = Math.max(MIN_POSTS, anchored.length / 3 / RULES_A_POST);
  fill(anchoring.copies[0], anchoring, index);
  return anchoring;
}

function longestSet(sets: Int32Array, start: number, end: number): number {
  let longest = 0;
  for (let at = start; at < end; at += 1 + sets[at]!) longest = Math.max(longest, sets[at]!);
  return longest;
}

/**
 * Returns the current one of the two copies of the index. No thread changes this copy until the caller passes
 * it to `releaseAnchors`.
 */
export function anchorsNow({ copies, state }: Anchoring): SharedPostings {
  for (;;) {
    const current = Atomics.load(state, CURRENT);
    Atomics.add(state, READERS + current, 1);
    // If `CURRENT` has changed since it was read, another thread may already be rewriting this copy. Then try
    // again.
    if (Atomics.load(state, CURRENT) === current) return copies[current]!;
    Atomics.sub(state, READERS + current, 1);
  }
}

export function releaseAnchors({ copies, state }: Anchoring, used: SharedPostings): void {
  Atomics.sub(state, READERS + copies.indexOf(used), 1);
}

export function countPosts({ state }: Anchoring, posts: number): void {
  Atomics.add(state, POSTS, posts);
}

/**
 * If a rewrite is due, rewrites the copy of the index that is not current, and then makes it the current
 * copy. Does nothing while another thread rewrites or reads that copy.
 */
export function reviewAnchors(anchoring: Anchoring, index: SharedIndex): void {
  const { copies, state } = anchoring;
  const posts = Atomics.load(state, POSTS);
  if (posts < Atomics.load(state, REVIEW_AFTER)) return;
  if (Atomics.compareExchange(state, IS_REVIEWED, 0, 1) !== 0) return;
  const other = 1 - Atomics.load(state, CURRENT);
  // There are two copies of the index. The copy `other`, which is not current, is not rewritten while a
  // thread still reads it. If a thread ended without releasing that copy, it is never rewritten again.
  const isDue = posts >= Atomics.load(state, REVIEW_AFTER);
  if (isDue && Atomics.load(state, READERS + other) === 0) {
    fill(copies[other]!, anchoring, index);
    Atomics.store(state, REVIEW_AFTER, Math.min(GROWTH * posts, 0x7fffffff));
    Atomics.store(state, CURRENT, other);
  }
  Atomics.store(state, IS_REVIEWED, 0);
}

function fill({ postings, lists }: SharedPostings, { seen, state }: Anchoring, index: SharedIndex) {
  const { anchored, sets, guesses } = index;
  const posts = state[POSTS]!;
  // Other threads may increase the counts in `seen` while this function runs. Each count is read only once,
  // so that all rules are compared with the same estimates.
  const ratios = guesses.map((guess, term) => estimateFrequency(guess, seen[term]!, posts));
  const frequencies: Frequencies = { frequency: term => ratios[term]! };
  const chosen = new Int32Array(anchored.length / 3);
  lists.fill(0);
  for (let rule = 0; rule < chosen.length; rule++) {
    const start = anchored[3 * rule + 1]!;
    const at = rarestSetAt(sets, start, anchored[3 * rule + 2]!, frequencies);
    chosen[rule] = at;
    for (let i = at + 1; i <= at + sets[at]!; i++) lists[2 * sets[i]! + 1]! += 2;
  }
  let end = 0;
  for (let term = 0; term < guesses.length; term++) {
    lists[2 * term] = end;
    end += lists[2 * term + 1]!;
    lists[2 * term + 1] = 0;
  }
  for (let rule = 0; rule < chosen.length; rule++) {
    const at = chosen[rule]!;
    const block = anchored[3 * rule]!;
    const start = anchored[3 * rule + 1]!;
    const second = secondTerm(sets, start, anchored[3 * rule + 2]!, at, frequencies);
    for (let i = at + 1; i <= at + sets[at]!; i++) {
      const term = sets[i]!;
      const next = lists[2 * term]! + lists[2 * term + 1]!;
      postings[next] = block;
      postings[next + 1] = second;
      lists[2 * term + 1]! += 2;
    }
  }
}
