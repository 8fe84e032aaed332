import type { Span } from '../tree.js';

/** An error or a warning about a rule, in the service's words and in words for people. */
export interface Problem extends Span {
  /** Stable: R0xx are errors, R1xx warnings. */
  readonly code: ProblemCode;
  /** The service refuses a rule with an error; a warning is a rule that may not mean what was meant. */
  readonly severity: 'error' | 'warning';
  /**
   * The service's own text, with positions from 1 in UTF-16 units, as in the body of a 422 response.
   * The service does not warn: the message of a warning is its `explanation`.
   */
  readonly message: string;
  /** What is wrong, in words for people; the span says where. */
  readonly explanation: string;
  /** What else there is to know, such as the allowed values. */
  readonly note?: string | undefined;
  /** Another part of the rule that belongs to it, such as a parenthesis that is not closed. */
  readonly related?: (Span & { readonly label: string }) | undefined;
  readonly suggestion?: Suggestion | undefined;
}

/** A change of the rule that mends a problem. */
export interface Suggestion {
  readonly label: string;
  /** What to change in the text of the rule; they do not overlap. */
  readonly edits: readonly TextEdit[];
  /** Whether the edits keep the meaning of the rule; otherwise the suggestion is a guess. */
  readonly certain: boolean;
}

/** The text between `start` and `end` becomes `text`. */
export interface TextEdit extends Span {
  readonly text: string;
}

/** Identifies a kind of problem, for scripts: codes do not change between versions. */
export type ProblemCode =
  /** Longer than 2048 characters. */
  | 'R001'
  /** Groups nested too deep. */
  | 'R002'
  /** A character that begins nothing. */
  | 'R003'
  /** A value or clause that is not allowed there. */
  | 'R004'
  /** The rule breaks off or goes on where it may not. */
  | 'R005'
  /** A group that is not closed. */
  | 'R006'
  /** A parenthesis that closes nothing. */
  | 'R007'
  /** A phrase that is not closed. */
  | 'R008'
  /** An explicit `AND`. */
  | 'R009'
  /** Only negated clauses. */
  | 'R010'
  /** No positive clause but stop words. */
  | 'R011'
  /** Only operators that may not stand alone. */
  | 'R012'
  /** An operator that does not exist. */
  | 'R013'
  /** A value that its operator does not know. */
  | 'R014'
  /** An operator that the product does not offer. */
  | 'R015'
  /** An operator of version 1.0. */
  | 'R016'
  /** `sample:` within an `OR`. */
  | 'R017'
  /** `sample:` that is not 1 to 100 percent, or negated. */
  | 'R018'
  /** Coordinates or sizes out of range. */
  | 'R019'
  /** A count or a range of counts that cannot be. */
  | 'R020'
  /** The distance of a proximity. */
  | 'R021'
  /** `is:nullcast` other than negated at the top of a rule. */
  | 'R022'
  /** A tag longer than 255 characters. */
  | 'R023'
  /** Lower-case `or`, `and` or `not` between clauses. */
  | 'R101'
  /** Typographic quotes within a word. */
  | 'R102'
  /** A negation within an `OR`: `a OR -b` takes in nearly everything. */
  | 'R103'
  /** A keyword with punctuation, which is never one token of a post. */
  | 'R104'
  /** A negated group of several clauses. */
  | 'R105'
  /** `AND` and `OR` side by side without parentheses. */
  | 'R106'
  /** A hashtag, handle or ticker symbol that can never be one. */
  | 'R107'
  /** A phrase that hides an operator. */
  | 'R108'
  /** Clauses that exclude each other. */
  | 'R109';

/** After these the service's text ends in two line ends. */
const DOUBLE_SPACED: ReadonlySet<ProblemCode> = new Set(['R003', 'R006', 'R007', 'R008']);

/**
 * The service's text for a rule: the message of each error, in order, each with its line end or two.
 * Empty for a rule that it accepts.
 *
 * @example serviceMessage(rules.check('-follow', { product: 'replay' }).problems)
 * // 'Rules must contain a non-negation term (at position 1)\nRules must contain at least ...\n'
 */
export function serviceMessage(problems: readonly Problem[]): string {
  return problems
    .filter(problem => problem.severity === 'error')
    .map(problem => problem.message + (DOUBLE_SPACED.has(problem.code) ? '\n\n' : '\n'))
    .join('');
}
