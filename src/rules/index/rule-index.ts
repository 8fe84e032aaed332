import type { PostFields } from '../../post/post-fields.js';
import type { Dialect } from '../post/dialect.js';
import type { RuleNode } from '../tree.js';
import { BLOCK_HEADER, BLOCK_QUESTIONS, BLOCK_RULE, MatchFinder } from './find-matches.js';
import { grown, IntPool, sharedInts } from './int-arrays.js';
import { Lexicon, type SharedTerms } from './lexicon.js';
import { RuleAnchors } from './rule-anchors.js';
import { compileProgram } from './rule-program.js';
import { TermCounts } from './term-frequency.js';

/**
 * An immutable index in shared memory. It holds the rules, and for each rule the sets of terms that the rule
 * may be indexed under.
 */
export interface SharedIndex {
  readonly terms: SharedTerms;
  /** The guessed frequency of each term, by the term's number. */
  readonly guesses: Float32Array;
  /** The blocks of all rules, one after the other. */
  readonly blocks: Int32Array;
  readonly unanchored: Int32Array;
  /**
   * Three integers for each rule that has term sets: the position of its block, and the start and end of its
   * sets in `sets`.
   */
  readonly anchored: Int32Array;
  readonly sets: Int32Array;
}

/**
 * An index of rules by the terms that a matching post must have. Each rule is indexed under the rarest of
 * these terms. A post is compared only with rules that are indexed under its own terms. A rule is identified
 * by a number, and the numbers of deleted rules are reused. The cost of adding or deleting a rule does not
 * depend on the number of other rules.
 */
export class RuleIndex {
  readonly #dialect: Dialect;
  readonly #lexicon = new Lexicon();
  readonly #counts: TermCounts;
  readonly #finder: MatchFinder;
  readonly #anchors: RuleAnchors;
  readonly #blocks = new IntPool();
  /**
   * Two integers for each rule: the start and the length of its block in `#blocks`. The block has the
   * compiled rule.
   */
  #blockTable: Int32Array = new Int32Array(2 << 8);
  readonly #freeRules: number[] = [];
  #rules = 0;

  /**
   * @param frequency Guesses the fraction of posts that have a term. Counted posts gradually replace this
   *   guess.
   * @param reviewAfter The number of counted posts after which rules may first be indexed under other terms.
   */
  constructor(dialect: Dialect, frequency: (term: string) => number, reviewAfter = 1_000) {
    this.#dialect = dialect;
    this.#finder = new MatchFinder(this.#lexicon, dialect);
    this.#counts = new TermCounts(this.#lexicon, frequency);
    this.#anchors = new RuleAnchors(this.#lexicon, this.#counts, reviewAfter);
  }

  get terms(): number {
    return this.#lexicon.size;
  }

  add(tree: RuleNode): number {
    const rule = this.#freeRules.pop() ?? this.#rules++;
    this.#blockTable = grown(this.#blockTable, 2 * (rule + 1));
    const { code, questions } = compileProgram(tree, this.#lexicon, this.#dialect);
    const length = BLOCK_HEADER + code.length;
    const block = this.#blocks.allocate(length);
    const { data } = this.#blocks;
    data[block + BLOCK_RULE] = rule;
    data[block + BLOCK_QUESTIONS] = questions;
    data.set(code, block + BLOCK_HEADER);
    this.#blockTable[2 * rule] = block;
    this.#blockTable[2 * rule + 1] = length;
    this.#anchors.add(rule, block, tree, this.#dialect);
    return rule;
  }

  delete(rule: number): void {
    this.#anchors.delete(rule);
    const block = this.#blockTable[2 * rule]!;
    const length = this.#blockTable[2 * rule + 1]!;
    const start = block + BLOCK_HEADER;
    const { data } = this.#blocks;
    const end = start + data[block + BLOCK_QUESTIONS]!;
    for (let at = start; at < end; at += 2) {
      const question = data[at]!;
      if (question >= 0 && this.#lexicon.release(question)) this.#counts.forget(question);
    }
    this.#finder.forget();
    this.#blocks.free(block, length);
    this.#blockTable[2 * rule + 1] = 0;
    this.#freeRules.push(rule);
  }

  /** Returns the numbers of the matching rules, in ascending order. */
  match(fields: PostFields): number[] {
    const { unanchored, postings } = this.#anchors;
    const { data, lists } = postings;
    const rules = { blocks: this.#blocks.data, unanchored, postings: data, lists };
    const found = this.#finder.match(fields, rules);
    const { present, count } = this.#finder.post;
    this.#counts.count(present, count);
    this.#anchors.review(this.#rules);
    return found;
  }

  /** Copies the index to shared memory, without unused space between the rules. */
  share(): SharedIndex {
    const rules = Array.from({ length: this.#rules }, (_, rule) => ({
      block: this.#blockTable[2 * rule]!,
      length: this.#blockTable[2 * rule + 1]!,
      ...this.#anchors.setsOf(rule),
    })).filter(({ length }) => length > 0);
    const total = (sizes: readonly number[]) => sizes.reduce((sum, size) => sum + size, 0);
    const blocks = sharedInts(total(rules.map(({ length }) => length)));
    const sets = sharedInts(total(rules.map(({ start, end }) => end - start)));
    const anchored = sharedInts(3 * rules.filter(({ start, end }) => end > start).length);
    const unanchored: number[] = [];
    let block = 0;
    let set = 0;
    let next = 0;
    for (const { block: from, length, start, end } of rules) {
      blocks.set(this.#blocks.data.subarray(from, from + length), block);
      sets.set(this.#anchors.sets.subarray(start, end), set);
      if (start === end) unanchored.push(block);
      else anchored.set([block, set, set + end - start], next);
      if (start < end) next += 3;
      block += length;
      set += end - start;
    }
    const terms = this.#lexicon.share();
    const guesses = new Float32Array(sharedInts(this.#lexicon.capacity).buffer);
    for (let at = 0; at < sets.length; at += 1 + sets[at]!)
      for (const term of sets.subarray(at + 1, at + 1 + sets[at]!))
        guesses[term] = this.#counts.frequency(term);
    const everywhere = sharedInts(unanchored.length);
    everywhere.set(unanchored);
    return { terms, guesses, blocks, unanchored: everywhere, anchored, sets };
  }
}
