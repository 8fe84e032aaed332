import type { PostFields } from '../../post/post-fields.js';
import { compileClause } from '../match/compile-rule.js';
import type { PostTest } from '../operators/operator.js';
import type { Dialect } from '../post/dialect.js';
import type { Lexicon } from './lexicon.js';
import { hasBit, NumberedPost } from './numbered-post.js';
import { clauseAt, MATCHED, nextIfNo, nextIfYes, runTest } from './rule-program.js';

/**
 * The layout of a rule in `IndexedRules.blocks`, as adjacent integers. The first integer is the rule's
 * number. The second is `questions` of the rule's `RuleProgram`. The `code` of this program follows. The
 * integers are adjacent, because most of the time for testing a rule is spent on waiting for memory.
 */
export const BLOCK_RULE = 0;
export const BLOCK_QUESTIONS = 1;
export const BLOCK_HEADER = 2;

/**
 * The maximum number of compiled clauses to cache. The terms of a post usually decide whether a rule matches,
 * so compiled clauses are rarely needed.
 */
const MAX_COMPILED = 20_000;

/** The data of an index that `MatchFinder` reads to find the rules that match a post. */
export interface IndexedRules {
  /** The blocks of all rules, one after the other. */
  readonly blocks: Int32Array;
  /** The positions in `blocks` of the rules that must be compared with every post. */
  readonly unanchored: Iterable<number>;
  /**
   * Pairs of integers. Each term has one pair for every rule that is indexed under it. The first integer is
   * the position of the rule in `blocks`. The second is another term that a matching post must have, or -1 if
   * none is required.
   */
  readonly postings: Int32Array;
  /** Two integers for each term: the start of its pairs in `postings`, and how many integers they take. */
  readonly lists: Int32Array;
}

/**
 * Finds the rules that match a post. Each thread has its own finder, because a finder holds the state of the
 * current post. A finder never changes the rules.
 */
export class MatchFinder {
  readonly post: NumberedPost;
  readonly #dialect: Dialect;
  readonly #compiled = new Map<number, PostTest>();
  #candidates = new Int32Array(1 << 10);
  #blocks: Int32Array = new Int32Array(0);
  /** The loops that prefetch memory write to this field. Otherwise, V8 would remove the loops. */
  prefetched = 0;

  constructor(lexicon: Lexicon, dialect: Dialect) {
    this.#dialect = dialect;
    this.post = new NumberedPost(lexicon, dialect);
  }

  /** Returns the numbers of the matching rules, in ascending order. */
  match(fields: PostFields, rules: IndexedRules): number[] {
    const { post } = this;
    post.read(fields);
    const { bits } = post;
    const candidates = this.#findCandidates(rules);
    const { blocks } = rules;
    this.#blocks = blocks;
    const found: number[] = [];
    for (let i = 0; i < candidates; i++) {
      const block = this.#candidates[i]!;
      if (this.#matches(block, bits)) found.push(blocks[block + BLOCK_RULE]!);
    }
    for (const block of rules.unanchored)
      if (this.#matches(block, bits)) found.push(blocks[block + BLOCK_RULE]!);
    return ascending(found);
  }

  /**
   * Drops the compiled clauses, which are cached by position. Called after a rule was deleted, because a new
   * rule may have other clauses at the same positions.
   */
  forget(): void {
    this.#compiled.clear();
  }

  /**
   * Lists the blocks of the rules that are indexed under terms of the post, and returns their number. A rule
   * that is indexed under several of these terms may be listed several times. The loops that only set
   * `prefetched` make the processor fetch memory in parallel for the next loop.
   */
  #findCandidates({ blocks, postings, lists }: IndexedRules): number {
    const { present, count, bits } = this.post;
    let prefetched = 0;
    let pairs = 0;
    for (let i = 0; i < count; i++) {
      const term = present[i]!;
      if (2 * term < lists.length) pairs += lists[2 * term + 1]!;
    }
    if (pairs / 2 > this.#candidates.length) this.#candidates = new Int32Array(pairs);
    for (let i = 0; i < count; i++) {
      const term = present[i]!;
      if (2 * term < lists.length) prefetched |= postings[lists[2 * term]!]!;
    }
    const list = this.#candidates;
    let candidates = 0;
    for (let i = 0; i < count; i++) {
      const term = present[i]!;
      if (2 * term >= lists.length) continue;
      const start = lists[2 * term]!;
      const end = start + lists[2 * term + 1]!;
      for (let at = start; at < end; at += 2) {
        // Always writes the candidate, then adds 0 or 1 to the count. An `if` would be slow here, because the
        // processor could not predict the branch.
        list[candidates] = postings[at]!;
        candidates += hasBit(bits, postings[at + 1]!);
      }
    }
    for (let i = 0; i < candidates; i++) prefetched |= blocks[list[i]!]!;
    this.prefetched = prefetched;
    return candidates;
  }

  #matches(block: number, bits: Int32Array): boolean {
    const blocks = this.#blocks;
    const start = block + BLOCK_HEADER;
    let next = 0;
    while (next >= 0) {
      const question = blocks[start + 2 * next]!;
      const yes =
        question >= 0
          ? hasBit(bits, question) === 1
          : runTest(blocks, start + ~question, this.post, this.#compiledAt);
      const jump = blocks[start + 2 * next + 1]!;
      next = yes ? nextIfYes(jump) : nextIfNo(jump);
    }
    return next === MATCHED;
  }

  readonly #compiledAt = (at: number): PostTest => {
    let test = this.#compiled.get(at);
    if (test === undefined) {
      if (this.#compiled.size === MAX_COMPILED) this.#compiled.clear();
      test = compileClause(clauseAt(this.#blocks, at), this.#dialect);
      this.#compiled.set(at, test);
    }
    return test;
  };
}

function ascending(numbers: number[]): number[] {
  if (numbers.length < 2) return numbers;
  numbers.sort((a, b) => a - b);
  let kept = 1;
  for (let at = 1; at < numbers.length; at++)
    if (numbers[at] !== numbers[at - 1]) numbers[kept++] = numbers[at]!;
  numbers.length = kept;
  return numbers;
}
