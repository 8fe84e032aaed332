import { clauseTerms } from '../match/clause-terms.js';
import type { PostTest } from '../operators/operator.js';
import type { Dialect } from '../post/dialect.js';
import { clausePhrase, type Phrase } from '../post/phrase.js';
import type { Clause, RuleNode } from '../tree.js';
import { textIn, unitsIn, unitsOf } from './int-arrays.js';
import type { Lexicon } from './lexicon.js';
import { APART, type NumberedPost, ONE_BLANK, TOUCHING } from './numbered-post.js';
import { usualFrequency } from './term-frequency.js';

/** The results of a program. A jump can hold one of these instead of the index of the next question. */
export const MATCHED = -1;
const FAILS = -2;

/**
 * A rule as integers that any thread can run. The integers start with the questions, two integers for each.
 * The first integer says what to ask: whether the post has a term (the term's number, 0 or more), or whether
 * it passes a test (the bitwise complement of the test's position). The second integer says which question
 * follows after yes and which after no; see `jump`. The tests come after the questions; see `runTest`.
 */
export interface RuleProgram {
  readonly code: Int32Array;
  /** How many of the integers are questions. */
  readonly questions: number;
}

/**
 * Packs two values into one integer: what follows if the answer is yes, and what follows if it is no. Each
 * value is `MATCHED`, `FAILS`, or the index of the next question.
 */
function jump(yes: number, no: number): number {
  return (yes << 16) | (no & 0xffff);
}

export function nextIfYes(jump: number): number {
  return jump >> 16;
}

export function nextIfNo(jump: number): number {
  return (jump << 16) >> 16;
}

/**
 * Compiles a rule. The program refers to terms by their numbers in the lexicon. The caller must release these
 * terms when the program is no longer used.
 */
export function compileProgram(tree: RuleNode, lexicon: Lexicon, dialect: Dialect): RuleProgram {
  const assembler = new Assembler(lexicon, dialect);
  assembler.node(tree, MATCHED, FAILS);
  return assembler.finish();
}

/**
 * Builds the questions of a `RuleProgram`. The last question is added first, because each question contains
 * the indexes of the questions that may follow it.
 */
class Assembler {
  readonly #lexicon: Lexicon;
  readonly #dialect: Dialect;
  readonly #questions: [question: number, yes: number, no: number][] = [];
  readonly #tests: number[][] = [];

  constructor(lexicon: Lexicon, dialect: Dialect) {
    this.#lexicon = lexicon;
    this.#dialect = dialect;
  }

  /** Adds the questions of a node, and returns the index of its first question. */
  node(node: RuleNode, yes: number, no: number): number {
    switch (node.kind) {
      case 'and':
        // The rarest term of the `and` is asked first. Most posts do not have it, and then no other question
        // is needed.
        return this.#ordered(node.nodes, 1).reduceRight(
          (next, child) => this.node(child, next, no),
          yes,
        );
      case 'or':
        return this.#ordered(node.nodes, -1).reduceRight(
          (next, child) => this.node(child, yes, next),
          no,
        );
      case 'not':
        return this.node(node.node, no, yes);
      default:
        return this.#clause(node, yes, no);
    }
  }

  finish(): RuleProgram {
    const { length } = this.#questions;
    // A rule has at most 2048 characters, so this cannot happen.
    if (length > 0x7fff) throw new RangeError(`A rule of ${length} questions`);
    const indexOf = (next: number) => (next < 0 ? next : length - 1 - next);
    const code = new Array<number>(2 * length);
    this.#questions.forEach(([question, yes, no], i) => {
      code[2 * indexOf(i)] = question;
      code[2 * indexOf(i) + 1] = jump(indexOf(yes), indexOf(no));
    });
    const starts = this.#tests.map(test => {
      const start = code.length;
      for (const int of test) code.push(int);
      return start;
    });
    for (let at = 0; at < 2 * length; at += 2) if (code[at]! < 0) code[at] = ~starts[~code[at]!]!;
    return { code: Int32Array.from(code), questions: 2 * length };
  }

  #clause(clause: Clause, yes: number, no: number): number {
    const { required, exact } = clauseTerms(clause, this.#dialect);
    const terms = [...new Set(required)].map(term => this.#lexicon.intern(term));
    const start = exact ? yes : this.#test(this.#testOf(clause), yes, no);
    return terms.reduceRight((next, term) => this.#ask(term, next, no), start);
  }

  #testOf(clause: Clause): number[] {
    if (clause.kind === 'keyword' || clause.kind === 'phrase')
      return sequenceTest(clause, clausePhrase(clause, this.#dialect), this.#lexicon);
    return [COMPARED, ...textOf(clause)];
  }

  #test(test: number[], yes: number, no: number): number {
    this.#tests.push(test);
    return this.#ask(~(this.#tests.length - 1), yes, no);
  }

  #ask(question: number, yes: number, no: number): number {
    this.#questions.push([question, yes, no]);
    return this.#questions.length - 1;
  }

  #ordered(nodes: readonly RuleNode[], direction: 1 | -1): readonly RuleNode[] {
    return nodes
      .map(node => ({ node, rank: this.#rank(node, direction) }))
      .sort((a, b) => a.rank - b.rank)
      .map(({ node }) => node);
  }

  /**
   * Returns the rank of a node. Nodes with lower ranks are evaluated first: terms before tests, and tests
   * before groups. In an `and`, rarer terms come first. In an `or`, more frequent terms come first.
   */
  #rank(node: RuleNode, direction: 1 | -1): number {
    if (node.kind === 'not') return this.#rank(node.node, direction === 1 ? -1 : 1);
    if (node.kind === 'and' || node.kind === 'or') return 3;
    const { required, exact } = clauseTerms(node, this.#dialect);
    const [term] = required;
    return exact && term !== undefined ? direction * usualFrequency(term) : 2;
  }
}

/**
 * The layout of the first integer of a test. Bit 0 is set if the test contains what separates the words of
 * the phrase (see `gapsOf`). Bit 1 is set if the test contains a clause to compare with the post. The higher
 * bits are the number of words.
 */
const WITH_GAPS = 1;
const COMPARED = 2;
const WORDS_SHIFT = 2;

/**
 * Returns a test for whether the words of a phrase are adjacent in a post. It compares the numbers that the
 * lexicon has for the words. If the clause has no words, or punctuation is part of the phrase, the test also
 * contains the clause itself.
 */
function sequenceTest(clause: Clause, { words, exact }: Phrase, lexicon: Lexicon): number[] {
  const gaps = words.length === 0 || exact === undefined ? undefined : gapsOf(words, exact);
  const isCompared = words.length === 0 || (exact !== undefined && gaps === undefined);
  return [
    (words.length << WORDS_SHIFT) +
      (gaps === undefined ? 0 : WITH_GAPS) +
      (isCompared ? COMPARED : 0),
    ...words.map(word => lexicon.numberOf(word)),
    ...(gaps ?? []),
    ...(isCompared ? textOf(clause) : []),
  ];
}

/**
 * Returns a clause as integers. The first integer is the length of the clause's JSON. The others are the
 * UTF-16 units of the JSON, two in each integer.
 */
function textOf(clause: Clause): readonly number[] {
  const json = JSON.stringify(clause);
  const ints = new Int32Array((json.length + 1) >> 1);
  unitsIn(ints).set(unitsOf(json));
  return [json.length, ...ints];
}

/**
 * Returns whether a post passes the test at position `at` of `ints`. If the test has words, the post must
 * contain them one directly after the other. If the test contains a clause, the post must match it too.
 *
 * @param compiled Returns the compiled clause at a position of `ints`.
 */
export function runTest(
  ints: Int32Array,
  at: number,
  post: NumberedPost,
  compiled: (at: number) => PostTest,
): boolean {
  const head = ints[at]!;
  const words = head >> WORDS_SHIFT;
  const clause = at + 1 + ((head & WITH_GAPS) === 0 ? words : 2 * words);
  if (words > 0 && !hasWords(ints, at, post)) return false;
  return (head & COMPARED) === 0 || compiled(clause)(post.post);
}

function hasWords(ints: Int32Array, at: number, post: NumberedPost): boolean {
  const { sequence, gaps } = post;
  const head = ints[at]!;
  const words = head >> WORDS_SHIFT;
  const withGaps = (head & WITH_GAPS) !== 0;
  const number = at + 1;
  const gap = number + words;
  const first = ints[number];
  const end = post.sequenceEnd - words;
  for (let from = 0; from <= end; from++) {
    if (sequence[from] !== first) continue;
    let i = 1;
    while (
      i < words &&
      sequence[from + i] === ints[number + i] &&
      (!withGaps || gaps[from + i] === ints[gap + i])
    )
      i++;
    if (i === words) return true;
  }
  return false;
}

export function clauseAt(ints: Int32Array, at: number): Clause {
  const length = ints[at]!;
  return JSON.parse(textIn(unitsIn(ints.subarray(at + 1)).subarray(0, length)));
}

/**
 * Returns for each word what separates it from the previous word: `APART` for the first word, then nothing or
 * one blank. Returns `undefined` if the phrase contains punctuation.
 */
function gapsOf(
  words: readonly string[],
  { text, lead }: { readonly text: string; readonly lead: number },
): readonly number[] | undefined {
  if (lead !== 0) return undefined;
  let end = words[0]!.length;
  const gaps = [APART];
  for (const word of words.slice(1)) {
    const touching = text.startsWith(word, end);
    if (!touching && !text.startsWith(` ${word}`, end)) return undefined;
    gaps.push(touching ? TOUCHING : ONE_BLANK);
    end += word.length + (touching ? 0 : 1);
  }
  return end === text.length ? gaps : undefined;
}
