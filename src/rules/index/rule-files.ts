import type { Dialect } from '../post/dialect.js';
import type { RuleNode } from '../tree.js';
import { IntPool } from './int-pool.js';
import type { Lexicon } from './lexicon.js';
import { Postings } from './postings.js';
import type { TermCounts } from './term-counts.js';
import { anchorSets, planTree } from './term-plan.js';

/**
 * Files each rule under terms. A rule may be filed under any of several sets of terms; it is filed
 * under the one that fewest posts have, and moves when the posts show that another is rarer.
 */
export class RuleFiles {
  readonly #lexicon: Lexicon;
  readonly #counts: TermCounts;
  readonly #postings = new Postings();
  /** Blocks of rules without a set: each post is compared with them. */
  readonly unfiled: Set<number> = new Set();
  /** The sets of all rules, each its length and its terms; and of each rule its block, where its sets start, how long they are, and which it stands under. */
  readonly #sets = new IntPool();
  #rules = new Int32Array(4 << 8);
  /** How many posts there must have been before the rules are reviewed again, and up to which that is done. */
  #reviewAfter: number;
  #reviewed = 0;

  constructor(lexicon: Lexicon, counts: TermCounts, reviewAfter: number) {
    this.#lexicon = lexicon;
    this.#counts = counts;
    this.#reviewAfter = reviewAfter;
  }

  /** Pairs of a rule's block and its witness: a term that a match must have too, or -1. */
  get postings(): Int32Array {
    return this.#postings.data;
  }

  /** Of each term, where its pairs start and how many integers they are. */
  get lists(): Int32Array {
    return this.#postings.lists;
  }

  /** The terms of the rule have to be in the lexicon, and stay there until it is deleted. */
  add(rule: number, block: number, tree: RuleNode, dialect: Dialect): void {
    this.#reserve(rule);
    const { plan } = planTree(tree, dialect);
    const guess = (term: string) => this.#counts.frequency(this.#lexicon.numberOf(term));
    const sets =
      plan === undefined
        ? []
        : anchorSets(plan, guess)
            .map(terms => terms.map(term => this.#lexicon.numberOf(term)))
            .sort((a, b) => this.#cost(a) - this.#cost(b))
            .slice(0, MAX_SETS);
    const list = sets.flatMap(terms => [terms.length, ...terms]);
    this.#rules[4 * rule + 3] = block;
    this.#rules[4 * rule + 1] = list.length;
    this.#rules[4 * rule + 2] = 0;
    if (list.length === 0) {
      this.unfiled.add(block);
      return;
    }
    const start = this.#sets.allocate(list.length);
    this.#sets.data.set(list, start);
    this.#rules[4 * rule] = start;
    this.#file(rule, 0);
  }

  delete(rule: number): void {
    this.unfiled.delete(this.#rules[4 * rule + 3] as number);
    const start = this.#rules[4 * rule] as number;
    const length = this.#rules[4 * rule + 1] as number;
    if (length === 0) return;
    this.#unfile(rule);
    this.#sets.free(start, length);
    this.#rules[4 * rule + 1] = 0;
  }

  /**
   * Called after each post: reviews a few rules, so that no post waits for long.
   * The rounds become rarer, each after twice as many posts as the one before.
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
    const start = this.#rules[4 * rule] as number;
    const end = start + (this.#rules[4 * rule + 1] as number);
    const current = this.#rules[4 * rule + 2] as number;
    const sets = this.#sets.data;
    let best = current;
    let cost = Number.POSITIVE_INFINITY;
    let present = 0;
    for (let at = start; at < end; at += 1 + (sets[at] as number)) {
      const found = this.#costAt(at);
      if (at - start === current) present = found;
      if (found >= cost) continue;
      cost = found;
      best = at - start;
    }
    // A move is worth it where it saves much.
    if (best === current || cost > 0.7 * present) return;
    this.#unfile(rule);
    this.#file(rule, best);
  }

  #file(rule: number, offset: number): void {
    this.#rules[4 * rule + 2] = offset;
    const at = (this.#rules[4 * rule] as number) + offset;
    const witness = this.#witness(rule, at);
    const length = this.#sets.data[at] as number;
    const block = this.#rules[4 * rule + 3] as number;
    for (let i = at + 1; i <= at + length; i++)
      this.#postings.add(this.#sets.data[i] as number, block, witness);
  }

  #unfile(rule: number): void {
    const at = (this.#rules[4 * rule] as number) + (this.#rules[4 * rule + 2] as number);
    const length = this.#sets.data[at] as number;
    const block = this.#rules[4 * rule + 3] as number;
    for (let i = at + 1; i <= at + length; i++)
      this.#postings.remove(this.#sets.data[i] as number, block);
  }

  /** The rarest term that is alone in another set. */
  #witness(rule: number, filed: number): number {
    const sets = this.#sets.data;
    const start = this.#rules[4 * rule] as number;
    const end = start + (this.#rules[4 * rule + 1] as number);
    let witness = -1;
    let cost = Number.POSITIVE_INFINITY;
    for (let at = start; at < end; at += 1 + (sets[at] as number)) {
      if (at === filed || sets[at] !== 1) continue;
      const found = this.#costAt(at);
      if (found >= cost) continue;
      cost = found;
      witness = sets[at + 1] as number;
    }
    return witness;
  }

  #costAt(at: number): number {
    const sets = this.#sets.data;
    const length = sets[at] as number;
    let cost = 0;
    for (let i = at + 1; i <= at + length; i++) cost += this.#counts.frequency(sets[i] as number);
    return cost;
  }

  #cost(terms: readonly number[]): number {
    return terms.reduce((sum, term) => sum + this.#counts.frequency(term), 0);
  }

  #reserve(rule: number): void {
    if (4 * rule < this.#rules.length) return;
    const rules = new Int32Array(8 * rule);
    rules.set(this.#rules);
    this.#rules = rules;
  }
}

/** Sets of a rule that are kept, the rarest. */
const MAX_SETS = 8;
const REVIEWED_A_POST = 16;
