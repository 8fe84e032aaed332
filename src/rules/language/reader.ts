import { QUOTE } from '../../json/byte-codes.js';
import type { Clause, Span, Tree } from '../tree.js';
import type { Problem } from './problem.js';
import { isRuleSpace } from './rule-characters.js';
import { badCharacter, cannotParse, unclosedPhrase } from './syntax-problems.js';

/** A clause that could not be read, or was not accepted. `name` is the name of its operator, if known. */
export interface Unread extends Span {
  readonly kind: 'unread';
  readonly name?: string | undefined;
}

export type Leaf = Clause | Unread;

/** A tree of the readable parts of a rule. It is checked even if other parts of the rule cannot be read. */
export type Draft = Tree<Leaf>;

/** Reading stops after this many problems. */
export const MAX_PROBLEMS = 100;

export class RuleReader {
  readonly text: string;
  at = 0;
  readonly problems: Problem[] = [];
  /**
   * The number of unmatched `[` outside of values. With this count, a pair of brackets is reported only once.
   */
  openBrackets = 0;

  constructor(text: string) {
    this.text = text;
  }

  /** The UTF-16 unit at `at`, or NaN at the end of the text. */
  get unit(): number {
    return this.text.charCodeAt(this.at);
  }

  /**
   * Reports a problem. Returns `undefined`, so that a function that reads a value can end with
   * `return reader.report(...)`.
   */
  report(problem: Problem): undefined {
    this.problems.push(problem);
    return undefined;
  }

  unread(start: number, name?: string): Unread {
    return { kind: 'unread', start, end: this.at, name };
  }

  skipBadCharacter(): void {
    const problem = badCharacter(this.text, this.at);
    this.report(problem);
    this.at = problem.end;
  }

  /**
   * Moves `at` to the next space or parenthesis, or to the end. Spaces and parentheses within quotes or
   * square brackets do not count.
   */
  skipRun(): void {
    const { text } = this;
    while (this.at < text.length) {
      const unit = this.unit;
      if (unit === QUOTE) {
        const end = quotedEnd(text, this.at);
        this.at = end === -1 ? text.length : end;
      } else if (unit === OPEN_BRACKET) {
        const close = text.indexOf(']', this.at);
        this.at = close === -1 ? text.length : close + 1;
      } else if (isRuleSpace(unit) || unit === OPEN || unit === CLOSE) {
        return;
      } else {
        this.at++;
      }
    }
  }

  reportEnd(explanation: string): void {
    const { text, at } = this;
    const character = at < text.length ? String.fromCodePoint(text.codePointAt(at)!) : '';
    this.report(
      cannotParse(
        { start: at, end: at + character.length },
        character === '' ? '<EOF>' : character,
        explanation,
      ),
    );
  }

  readQuoted(): string | undefined {
    const { text, at } = this;
    const end = quotedEnd(text, at);
    if (end === -1) {
      this.report(unclosedPhrase(text, at));
      this.at = text.length;
      return undefined;
    }
    this.at = end;
    const inner = text.slice(at + 1, end - 1);
    return inner.includes('\\') ? inner.replace(/\\(["\\])/g, '$1') : inner;
  }
}

export const OPEN = 0x28;
export const CLOSE = 0x29;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;
export const UNDERSCORE = 0x5f;

/**
 * Returns the position after the closing quote, or -1 if there is none. A backslash escapes a quote or
 * another backslash.
 */
function quotedEnd(text: string, open: number): number {
  for (let at = open + 1; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) return at + 1;
    if (unit === BACKSLASH) {
      const next = text.charCodeAt(at + 1);
      if (next === QUOTE || next === BACKSLASH) at++;
    }
  }
  return -1;
}

const BACKSLASH = 0x5c;
