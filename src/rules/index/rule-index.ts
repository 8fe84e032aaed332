import type { PostFields } from '../../activity/post-fields.js';
import type { Dialect } from '../post/dialect.js';
import type { RuleNode } from '../tree.js';
import { Lexicon } from './lexicon.js';
import { PostScan } from './post-scan.js';
import { IntPool } from './postings.js';
import { RuleAnchors } from './rule-anchors.js';
import { compileProgram, MATCHES, nextIfNo, nextIfYes, type Test } from './rule-program.js';
import { TermCounts } from './term-frequency.js';

/**
 * Rules by the terms that a match must have. Each rule is indexed under the rarest such terms; a post
 * is compared only with the rules indexed under terms that it has. Rules are numbers; those of
 * deleted rules are reused. The cost of adding and deleting a rule does not depend on the other
 * rules.
 */
export class RuleIndex {
  readonly #dialect: Dialect;
  readonly #lexicon = new Lexicon();
  readonly #counts: TermCounts;
  readonly #scan: PostScan;
  readonly #anchors: RuleAnchors;
  /**
   * A block for each rule: its number, the stamp of the last post that it was tested on, and its
   * program. They are adjacent in memory, because a test mostly waits for memory.
   */
  readonly #blocks = new IntPool();
  /** The start and the length of each rule's block. */
  #blockTable = new Int32Array(2 << 8);
  readonly #tests: Test[] = [];
  readonly #freeTests: number[] = [];
  readonly #freeRules: number[] = [];
  #rules = 0;
  #candidates = new Int32Array(1 << 10);

  /**
   * @param frequency A guess of each term's frequency, until posts have been counted.
   * @param reviewAfter The number of posts after which rules may move to other terms.
   */
  constructor(dialect: Dialect, frequency: (term: string) => number, reviewAfter = 1_000) {
    this.#dialect = dialect;
    this.#scan = new PostScan(this.#lexicon, dialect);
    this.#counts = new TermCounts(this.#lexicon, frequency);
    this.#anchors = new RuleAnchors(this.#lexicon, this.#counts, reviewAfter);
  }

  /** The number of terms that the rules use. */
  get terms(): number {
    return this.#lexicon.size;
  }

  add(tree: RuleNode): number {
    const rule = this.#freeRules.pop() ?? this.#rules++;
    this.#reserve(rule);
    const { code, tests } = compileProgram(tree, this.#lexicon, this.#dialect);
    const numbers = tests.map(test => this.#addTest(test));
    const length = HEADER + code.length;
    const block = this.#blocks.allocate(length);
    const { data } = this.#blocks;
    data[block] = rule;
    data[block + 1] = 0;
    data.set(code, block + HEADER);
    for (let at = block + HEADER; at < block + length; at += 2) {
      const question = data[at] as number;
      if (question < 0) data[at] = ~(numbers[~question] as number);
    }
    this.#blockTable[2 * rule] = block;
    this.#blockTable[2 * rule + 1] = length;
    this.#anchors.add(rule, block, tree, this.#dialect);
    return rule;
  }

  delete(rule: number): void {
    this.#anchors.delete(rule);
    const block = this.#blockTable[2 * rule] as number;
    const length = this.#blockTable[2 * rule + 1] as number;
    for (let at = block + HEADER; at < block + length; at += 2) {
      const question = this.#blocks.data[at] as number;
      if (question < 0) this.#deleteTest(~question);
      else if (this.#lexicon.release(question)) this.#counts.forget(question);
    }
    this.#blocks.free(block, length);
    this.#blockTable[2 * rule + 1] = 0;
    this.#freeRules.push(rule);
  }

  /** The numbers of the rules that match, unordered. */
  match(fields: PostFields): number[] {
    const scan = this.#scan;
    scan.read(fields);
    const { stamps, stamp } = scan;
    if (stamp === 1) this.#resetStamps();
    const candidates = this.#findCandidates();
    const blocks = this.#blocks.data;
    const found: number[] = [];
    for (let i = 0; i < candidates; i++) {
      const block = this.#candidates[i] as number;
      if (this.#matches(block, stamps, stamp)) found.push(blocks[block] as number);
    }
    for (const block of this.#anchors.unanchored)
      if (this.#matches(block, stamps, stamp)) found.push(blocks[block] as number);
    this.#counts.count(scan.present, scan.count);
    this.#anchors.review(this.#rules);
    return found;
  }

  /**
   * Lists the blocks of the rules indexed under terms of the post. They are tested afterwards: this
   * loop only touches each, so the processor can fetch several in parallel.
   */
  #findCandidates(): number {
    const { present, count, stamps, stamp } = this.#scan;
    const { postings, lists } = this.#anchors;
    const blocks = this.#blocks.data;
    let candidates = 0;
    for (let i = 0; i < count; i++) {
      const term = present[i] as number;
      if (2 * term >= lists.length) continue;
      const start = lists[2 * term] as number;
      const end = start + (lists[2 * term + 1] as number);
      if (candidates + (end - start) / 2 > this.#candidates.length)
        this.#growCandidates(end - start);
      const list = this.#candidates;
      for (let at = start; at < end; at += 2) {
        const second = postings[at + 1] as number;
        if (second !== -1 && stamps[second] !== stamp) continue;
        const block = postings[at] as number;
        if (blocks[block + 1] === stamp) continue;
        blocks[block + 1] = stamp;
        list[candidates++] = block;
      }
    }
    return candidates;
  }

  #growCandidates(more: number): void {
    const grown = new Int32Array(2 * (this.#candidates.length + more));
    grown.set(this.#candidates);
    this.#candidates = grown;
  }

  #matches(block: number, stamps: Int32Array, stamp: number): boolean {
    const blocks = this.#blocks.data;
    const start = block + HEADER;
    let next = 0;
    while (next >= 0) {
      const question = blocks[start + 2 * next] as number;
      const yes =
        question >= 0 ? stamps[question] === stamp : (this.#tests[~question] as Test)(this.#scan);
      const jump = blocks[start + 2 * next + 1] as number;
      next = yes ? nextIfYes(jump) : nextIfNo(jump);
    }
    return next === MATCHES;
  }

  /** Stamps restart at 1 after two billion posts. */
  #resetStamps(): void {
    for (let rule = 0; rule < this.#rules; rule++)
      if (this.#blockTable[2 * rule + 1] !== 0)
        this.#blocks.data[(this.#blockTable[2 * rule] as number) + 1] = 0;
  }

  #addTest(test: Test): number {
    const number = this.#freeTests.pop() ?? this.#tests.length;
    this.#tests[number] = test;
    return number;
  }

  #deleteTest(number: number): void {
    this.#tests[number] = NO_TEST;
    this.#freeTests.push(number);
  }

  #reserve(rule: number): void {
    if (2 * rule < this.#blockTable.length) return;
    const table = new Int32Array(4 * rule);
    table.set(this.#blockTable);
    this.#blockTable = table;
  }
}

/** Integers of a block before the program. */
const HEADER = 2;

/** Replaces a deleted test, so that its memory can be freed. */
const NO_TEST: Test = () => false;
