import type { Dialect } from './dialect.js';
import { IntPool } from './int-pool.js';
import { Lexicon } from './lexicon.js';
import type { PostFields } from './post-fields.js';
import { PostScan } from './post-scan.js';
import { RuleFiles } from './rule-files.js';
import { compileProgram, MATCHES, type Test } from './rule-program.js';
import { TermCounts } from './term-counts.js';
import type { RuleNode } from './tree.js';

/**
 * Rules by the terms that a match must have. Each rule is filed under the rarest such terms; a post
 * is compared only with the rules filed under terms that it has. Rules are numbers, which are given
 * again once deleted. Adding and deleting touch only what belongs to the rule.
 */
export class RuleIndex {
  readonly #dialect: Dialect;
  readonly #lexicon = new Lexicon();
  readonly #counts: TermCounts;
  readonly #scan: PostScan;
  readonly #files: RuleFiles;
  /** The code of all rules; and of each rule where it starts and how long it is. */
  readonly #code = new IntPool();
  #programs = new Int32Array(2 << 8);
  readonly #tests: Test[] = [];
  readonly #freeTests: number[] = [];
  readonly #freeRules: number[] = [];
  #rules = 0;
  /** The post that each rule was last tried on. */
  #tried = new Uint32Array(1 << 8);

  /**
   * `frequency` is what is thought of terms before posts have been seen; after `reviewAfter` posts it
   * is looked whether rules stand well.
   */
  constructor(dialect: Dialect, frequency: (term: string) => number, reviewAfter = 1_000) {
    this.#dialect = dialect;
    this.#scan = new PostScan(this.#lexicon, dialect);
    this.#counts = new TermCounts(this.#lexicon, frequency);
    this.#files = new RuleFiles(this.#lexicon, this.#counts, reviewAfter);
  }

  /** How many terms the rules use. */
  get terms(): number {
    return this.#lexicon.size;
  }

  add(tree: RuleNode): number {
    const rule = this.#freeRules.pop() ?? this.#rules++;
    this.#reserve(rule);
    const { code, tests } = compileProgram(tree, this.#lexicon, this.#dialect);
    const numbers = tests.map(test => this.#addTest(test));
    const start = this.#code.allocate(code.length);
    this.#code.data.set(code, start);
    for (let at = start; at < start + code.length; at += 3) {
      const question = this.#code.data[at] as number;
      if (question < 0) this.#code.data[at] = ~(numbers[~question] as number);
    }
    this.#programs[2 * rule] = start;
    this.#programs[2 * rule + 1] = code.length;
    this.#files.add(rule, tree, this.#dialect);
    return rule;
  }

  delete(rule: number): void {
    this.#files.delete(rule);
    const start = this.#programs[2 * rule] as number;
    const length = this.#programs[2 * rule + 1] as number;
    for (let at = start; at < start + length; at += 3) {
      const question = this.#code.data[at] as number;
      if (question < 0) this.#deleteTest(~question);
      else if (this.#lexicon.release(question)) this.#counts.forget(question);
    }
    this.#code.free(start, length);
    // The next rule of this number has not been tried, whatever the post.
    this.#tried[rule] = 0;
    this.#freeRules.push(rule);
  }

  /** The numbers of the rules that match, in no order. */
  match(fields: PostFields): number[] {
    const scan = this.#scan;
    scan.read(fields);
    const { present, count, stamps, stamp } = scan;
    const { postings, lists, unfiled } = this.#files;
    const tried = this.#tried;
    // Stamps start anew after four billion posts.
    if (stamp === 1) tried.fill(0);
    const found: number[] = [];
    for (let i = 0; i < count; i++) {
      const term = present[i] as number;
      if (2 * term >= lists.length) continue;
      const start = lists[2 * term] as number;
      const end = start + (lists[2 * term + 1] as number);
      for (let at = start; at < end; at += 2) {
        const witness = postings[at + 1] as number;
        if (witness !== -1 && stamps[witness] !== stamp) continue;
        const rule = postings[at] as number;
        if (tried[rule] === stamp) continue;
        tried[rule] = stamp;
        if (this.#matches(rule, stamps, stamp)) found.push(rule);
      }
    }
    for (const rule of unfiled) if (this.#matches(rule, stamps, stamp)) found.push(rule);
    this.#counts.count(present, count);
    this.#files.review(this.#rules);
    return found;
  }

  #matches(rule: number, stamps: Uint32Array, stamp: number): boolean {
    const code = this.#code.data;
    const start = this.#programs[2 * rule] as number;
    let next = 0;
    while (next >= 0) {
      const at = start + next;
      const question = code[at] as number;
      const yes =
        question >= 0 ? stamps[question] === stamp : (this.#tests[~question] as Test)(this.#scan);
      next = code[yes ? at + 1 : at + 2] as number;
    }
    return next === MATCHES;
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
    if (rule < this.#tried.length) return;
    const tried = new Uint32Array(2 * rule);
    tried.set(this.#tried);
    this.#tried = tried;
    const programs = new Int32Array(4 * rule);
    programs.set(this.#programs);
    this.#programs = programs;
  }
}

/** In place of a deleted one, so that what it held can go. */
const NO_TEST: Test = () => false;
