import { clauseTerms } from '../match/clause-terms.js';
import { compileClause } from '../match/compile-rule.js';
import type { PostTest } from '../operators/operator.js';
import type { Dialect } from '../post/dialect.js';
import { type Phrase, phraseOf, wordsOf } from '../post/phrase.js';
import type { Clause, RuleNode } from '../tree.js';
import type { Lexicon } from './lexicon.js';
import { APART, ONE_BLANK, type PostScan, TOUCHING } from './post-scan.js';
import { usualFrequency } from './term-frequency.js';

/** A test of a post that needs more than single terms. */
export type Test = (post: PostScan) => boolean;

/** The results of a program, instead of a next question. */
export const MATCHES = -1;
const FAILS = -2;

/**
 * A rule as a list of questions, each with the next question for yes and for no, so that most rules
 * need only integers. A question is two integers: the number of a term (0 or more) or of a
 * test (its complement), and the next questions for both answers, packed by `jump`.
 */
interface RuleProgram {
  readonly code: Int32Array;
  readonly tests: readonly Test[];
}

/** The next questions for both answers, as indices, or `MATCHES` and `FAILS`. */
function jump(yes: number, no: number): number {
  return (yes << 16) | (no & 0xffff);
}

export function nextIfYes(jump: number): number {
  return jump >> 16;
}

export function nextIfNo(jump: number): number {
  return (jump << 16) >> 16;
}

/** Terms are interned once for each question: release them with the program. */
export function compileProgram(tree: RuleNode, lexicon: Lexicon, dialect: Dialect): RuleProgram {
  const assembler = new Assembler(lexicon, dialect);
  assembler.node(tree, MATCHES, FAILS);
  return assembler.finish();
}

/** Writes from the end, so that the next question of an answer already exists. */
class Assembler {
  readonly #lexicon: Lexicon;
  readonly #dialect: Dialect;
  readonly #questions: [question: number, yes: number, no: number][] = [];
  readonly #tests: Test[] = [];

  constructor(lexicon: Lexicon, dialect: Dialect) {
    this.#lexicon = lexicon;
    this.#dialect = dialect;
  }

  /** Returns the first question of the node. */
  node(node: RuleNode, yes: number, no: number): number {
    switch (node.kind) {
      case 'and':
        // The rarest comes first.
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
    // The length limit of a rule rules this out.
    if (length > 0x7fff) throw new RangeError(`A rule of ${length} questions`);
    const indexOf = (next: number) => (next < 0 ? next : length - 1 - next);
    const code = new Int32Array(2 * length);
    this.#questions.forEach(([question, yes, no], i) => {
      code[2 * indexOf(i)] = question;
      code[2 * indexOf(i) + 1] = jump(indexOf(yes), indexOf(no));
    });
    return { code, tests: this.#tests };
  }

  #clause(clause: Clause, yes: number, no: number): number {
    const { required, exact } = clauseTerms(clause, this.#dialect);
    const terms = [...new Set(required)].map(term => this.#lexicon.intern(term));
    const start = exact ? yes : this.#test(this.#testOf(clause), yes, no);
    return terms.reduceRight((next, term) => this.#ask(term, next, no), start);
  }

  #testOf(clause: Clause): Test {
    const reference = compileClause(clause, this.#dialect);
    if (clause.kind === 'keyword')
      return sequenceTest(
        wordsOf(clause.text, this.#dialect),
        this.#lexicon,
        reference,
        'texts and links',
      );
    if (clause.kind === 'phrase')
      return sequenceTest(
        phraseOf(clause.text, this.#dialect),
        this.#lexicon,
        reference,
        'texts only',
      );
    return post => reference(post.post);
  }

  #test(test: Test, yes: number, no: number): number {
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

  /** Terms come before tests and groups; the terms that decide most often come first. */
  #rank(node: RuleNode, direction: 1 | -1): number {
    if (node.kind === 'not') return this.#rank(node.node, direction === 1 ? -1 : 1);
    if (node.kind === 'and' || node.kind === 'or') return 3;
    const { required, exact } = clauseTerms(node, this.#dialect);
    const [term] = required;
    return exact && term !== undefined ? direction * usualFrequency(term) : 2;
  }
}

/**
 * Tests whether words are adjacent, by the term numbers of a scanned post. The words must be in
 * the lexicon. If an exact phrase has more than single spaces between its words, and the words are
 * adjacent, `reference` compares the text itself.
 */
function sequenceTest(
  { words, exact }: Phrase,
  lexicon: Lexicon,
  reference: PostTest,
  where: 'texts only' | 'texts and links',
): (post: PostScan) => boolean {
  if (words.length === 0) return post => reference(post.post);
  const numbers = words.map(word => lexicon.numberOf(word));
  const gaps = exact === undefined ? undefined : gapsOf(words, exact);
  const byText = exact !== undefined && gaps === undefined;
  const [first] = numbers;
  return post => {
    const { sequence, gaps: found } = post;
    const end = (where === 'texts only' ? post.textsEnd : post.sequenceEnd) - numbers.length;
    for (let at = 0; at <= end; at++) {
      if (sequence[at] !== first) continue;
      let i = 1;
      while (
        i < numbers.length &&
        sequence[at + i] === numbers[i] &&
        (gaps === undefined || found[at + i] === gaps[i])
      )
        i++;
      if (i < numbers.length) continue;
      return byText ? reference(post.post) : true;
    }
    return false;
  };
}

/**
 * The distance of each word from the one before, or `undefined` if punctuation is part of the phrase.
 */
function gapsOf(
  words: readonly string[],
  { text, lead }: { readonly text: string; readonly lead: number },
): readonly number[] | undefined {
  if (lead !== 0) return undefined;
  let end = (words[0] as string).length;
  const gaps = [APART];
  for (const word of words.slice(1)) {
    const touching = text.startsWith(word, end);
    if (!touching && !text.startsWith(` ${word}`, end)) return undefined;
    gaps.push(touching ? TOUCHING : ONE_BLANK);
    end += word.length + (touching ? 0 : 1);
  }
  return end === text.length ? gaps : undefined;
}
