import type { Dialect } from '../post/dialect.js';
import type { RuleNode } from '../tree.js';
import { anchorSets, conditionOf, costOfSet, rarestSetAt, secondTerm } from './anchor-sets.js';
import { allocatedSize, grown, IntPool } from './int-arrays.js';
import type { Lexicon } from './lexicon.js';
import type { TermCounts } from './term-frequency.js';

/**
 * The positions of the four integers that are stored for each rule. `START` and `LENGTH` tell where the
 * rule's sets of terms start in `sets`, and how many integers they take. `CURRENT` tells where, counted from
 * this start, the set is that the rule is indexed under. `BLOCK` is the position of the rule in
 * `IndexedRules.blocks`.
 */
const START = 0;
const LENGTH = 1;
const CURRENT = 2;
const BLOCK = 3;
const RULE_INTS = 4;

/**
 * Indexes each rule under one of its sets of terms: the set that is expected to occur in the fewest posts. If
 * counted posts show that another set is rarer, the rule moves to that set.
 */
export class RuleAnchors {
  readonly #lexicon: Lexicon;
  readonly #counts: TermCounts;
  readonly postings: Postings = new Postings();
  /** For each rule without term sets, the position of its block. These rules are compared with every post. */
  readonly unanchored: Set<number> = new Set();
  /** The term sets of all rules. Each set is stored as its length followed by its terms. */
  readonly #sets = new IntPool();
  /** Four integers for each rule: see `START` and the constants after it. */
  #rules: Int32Array = new Int32Array(RULE_INTS << 8);
  /**
   * The number of counted posts at which the next review starts. A review moves rules to rarer terms, a few
   * rules after each post. `#reviewed` is how many rules the current review has checked.
   */
  #reviewAfter: number;
  #reviewed = 0;

  constructor(lexicon: Lexicon, counts: TermCounts, reviewAfter: number) {
    this.#lexicon = lexicon;
    this.#counts = counts;
    this.#reviewAfter = reviewAfter;
  }

  get sets(): Int32Array {
    return this.#sets.data;
  }

  /**
   * Returns the start and the end of a rule's term sets in `sets`. They are equal for a rule without term
   * sets, whose block is in `unanchored`.
   */
  setsOf(rule: number): { readonly start: number; readonly end: number } {
    const start = this.#rules[RULE_INTS * rule + START]!;
    return { start, end: start + this.#rules[RULE_INTS * rule + LENGTH]! };
  }

  /** Adds a rule. Its terms must already be in the lexicon, and must stay there until the rule is deleted. */
  add(rule: number, block: number, tree: RuleNode, dialect: Dialect): void {
    this.#rules = grown(this.#rules, RULE_INTS * (rule + 1));
    const condition = conditionOf(tree, dialect);
    const guess = (term: string) => this.#counts.frequency(this.#lexicon.numberOf(term));
    const sets =
      condition === undefined
        ? []
        : anchorSets(condition, guess)
            .map(terms => terms.map(term => this.#lexicon.numberOf(term)))
            .sort((a, b) => this.#cost(a) - this.#cost(b))
            .slice(0, MAX_SETS);
    const list = sets.flatMap(terms => [terms.length, ...terms]);
    this.#rules[RULE_INTS * rule + BLOCK] = block;
    this.#rules[RULE_INTS * rule + LENGTH] = list.length;
    this.#rules[RULE_INTS * rule + CURRENT] = 0;
    if (list.length === 0) {
      this.unanchored.add(block);
      return;
    }
    const start = this.#sets.allocate(list.length);
    this.#sets.data.set(list, start);
    this.#rules[RULE_INTS * rule + START] = start;
    this.#anchor(rule, 0);
  }

  delete(rule: number): void {
    this.unanchored.delete(this.#rules[RULE_INTS * rule + BLOCK]!);
    const start = this.#rules[RULE_INTS * rule + START]!;
    const length = this.#rules[RULE_INTS * rule + LENGTH]!;
    if (length === 0) return;
    this.#release(rule);
    this.#sets.free(start, length);
    this.#rules[RULE_INTS * rule + LENGTH] = 0;
  }

  /**
   * Checks whether rules should move to rarer terms. Called after each post. Each call checks only a few
   * rules, so that no post is delayed for long. After all rules were checked, the next review starts when the
   * number of counted posts has doubled.
   */
  review(rules: number): void {
    if (this.#counts.posts < this.#reviewAfter) return;
    const end = Math.min(rules, this.#reviewed + REVIEWED_A_POST);
    for (let rule = this.#reviewed; rule < end; rule++) this.#review(rule);
    this.#reviewed = end;
    if (end < rules) return;
    this.#reviewed = 0;
    this.#reviewAfter = 2 * this.#counts.posts;
  }

  #review(rule: number): void {
    const { start, end } = this.setsOf(rule);
    if (start === end) return;
    const sets = this.sets;
    const current = start + this.#rules[RULE_INTS * rule + CURRENT]!;
    const best = rarestSetAt(sets, start, end, this.#counts);
    if (best === current) return;
    // Moves a rule only if the new set is rarer by at least 30%, because moving takes time.
    const cost = costOfSet(sets, best, this.#counts);
    if (cost > 0.7 * costOfSet(sets, current, this.#counts)) return;
    this.#release(rule);
    this.#anchor(rule, best - start);
  }

  #anchor(rule: number, offset: number): void {
    this.#rules[RULE_INTS * rule + CURRENT] = offset;
    const at = this.#rules[RULE_INTS * rule + START]! + offset;
    const { start, end } = this.setsOf(rule);
    const second = secondTerm(this.sets, start, end, at, this.#counts);
    const length = this.#sets.data[at]!;
    const block = this.#rules[RULE_INTS * rule + BLOCK]!;
    for (let i = at + 1; i <= at + length; i++)
      this.postings.add(this.#sets.data[i]!, block, second);
  }

  #release(rule: number): void {
    const at = this.#rules[RULE_INTS * rule + START]! + this.#rules[RULE_INTS * rule + CURRENT]!;
    const length = this.#sets.data[at]!;
    const block = this.#rules[RULE_INTS * rule + BLOCK]!;
    for (let i = at + 1; i <= at + length; i++) this.postings.remove(this.#sets.data[i]!, block);
  }

  #cost(terms: readonly number[]): number {
    return terms.reduce((sum, term) => sum + this.#counts.frequency(term), 0);
  }
}

/**
 * The maximum number of term sets to store for a rule. A post that matches the rule has at least one term of
 * each set. The sets with the rarest terms are stored.
 */
const MAX_SETS = 8;
const REVIEWED_A_POST = 16;

/**
 * The rules that are indexed under each term. Each rule is a pair of integers: the position of its block (see
 * `find-matches.ts`), and a second term that a matching post must have, or -1. The pairs of all terms are in
 * one pool.
 */
export class Postings {
  readonly #pool = new IntPool();
  /**
   * Two integers for each term: the position in `#pool` at which the pairs of the term start, and the number
   * of integers in these pairs.
   */
  lists: Int32Array = new Int32Array(2 << 10);

  get data(): Int32Array {
    return this.#pool.data;
  }

  add(term: number, rule: number, secondTerm: number): void {
    this.lists = grown(this.lists, 2 * (term + 1));
    const length = this.lists[2 * term + 1]!;
    const hasRoom = length > 0 && allocatedSize(length + 2) === allocatedSize(length);
    if (!hasRoom) this.#move(term, length, length + 2);
    const end = this.lists[2 * term]! + length;
    this.#pool.data[end] = rule;
    this.#pool.data[end + 1] = secondTerm;
    this.lists[2 * term + 1] = length + 2;
  }

  remove(term: number, rule: number): void {
    const start = this.lists[2 * term]!;
    const length = this.lists[2 * term + 1]!;
    const { data } = this.#pool;
    let kept = 0;
    for (let at = start; at < start + length; at += 2) {
      if (data[at] === rule) continue;
      data[start + kept] = data[at]!;
      data[start + kept + 1] = data[at + 1]!;
      kept += 2;
    }
    if (kept === 0) {
      if (length > 0) this.#pool.free(start, length);
    } else if (allocatedSize(kept) < allocatedSize(length)) this.#move(term, kept, kept);
    this.lists[2 * term + 1] = kept;
  }

  /**
   * Moves the list of a term to another place in the pool, with space for `room` integers. Keeps the first
   * `kept` integers of the list.
   */
  #move(term: number, kept: number, room: number): void {
    const start = this.lists[2 * term]!;
    const length = this.lists[2 * term + 1]!;
    const moved = this.#pool.allocate(room);
    this.#pool.data.copyWithin(moved, start, start + kept);
    if (length > 0) this.#pool.free(start, length);
    this.lists[2 * term] = moved;
  }
}
