import type { Span } from '../tree.js';

/**
 * An error or a warning about a rule, with the message of the service and an explanation for people.
 */
export interface Problem extends Span {
  /** The code of the problem. Stable between versions: R0xx are errors, R1xx warnings. */
  readonly code: ProblemCode;
  /**
   * The service refuses a rule with an error. A rule with a warning is accepted, but may not mean
   * what was intended.
   */
  readonly severity: 'error' | 'warning';
  /**
   * The message of the service, with positions from 1 in UTF-16 units, as in the body of a 422 response. The
   * service has no warnings, so the message of a warning is its `explanation`.
   */
  readonly message: string;
  /** An explanation of the problem for people. The span shows where it is. */
  readonly explanation: string;
  /** More information, such as the allowed values. */
  readonly note?: string | undefined;
  /** Another part of the rule that belongs to the problem, such as an unclosed parenthesis. */
  readonly related?: (Span & { readonly label: string }) | undefined;
  readonly suggestion?: Suggestion | undefined;
}

/** A change of the rule that solves a problem, or a part of it. */
export interface Suggestion {
  readonly label: string;
  /** The changes of the text, which do not overlap. */
  readonly edits: readonly TextEdit[];
  /** Whether the edits keep the meaning of the rule; otherwise the suggestion is a guess. */
  readonly certain: boolean;
}

/** Replaces the text between `start` and `end` with `text`. */
export interface TextEdit extends Span {
  readonly text: string;
}

/** Identifies a kind of problem, for scripts. Codes do not change between versions. */
export type ProblemCode =
  /** The rule is longer than 2048 characters. */
  | 'R001'
  /** Groups are nested too deep. */
  | 'R002'
  /** A character that cannot start a clause. */
  | 'R003'
  /** A value or clause that is not allowed in this position. */
  | 'R004'
  /** The rule ends or continues in the wrong position. */
  | 'R005'
  /** A group that is not closed. */
  | 'R006'
  /** A closing parenthesis without an opening one. */
  | 'R007'
  /** A phrase that is not closed. */
  | 'R008'
  /** An explicit `AND`. */
  | 'R009'
  /** All clauses are negated. */
  | 'R010'
  /** The only positive clauses are stop words. */
  | 'R011'
  /** The rule has only operators that must not be used alone. */
  | 'R012'
  /** An operator that does not exist. */
  | 'R013'
  /** A value that the operator does not accept. */
  | 'R014'
  /** An operator that the product does not have. */
  | 'R015'
  /** An operator of version 1.0 of the rule language. */
  | 'R016'
  /** `sample:` within an `OR`. */
  | 'R017'
  /** `sample:` that is not 1 to 100 percent, or negated. */
  | 'R018'
  /** Coordinates or sizes out of range. */
  | 'R019'
  /** An invalid count or range of counts. */
  | 'R020'
  /** An invalid distance of a proximity. */
  | 'R021'
  /** `is:nullcast` that is not negated at the top level of a rule. */
  | 'R022'
  /** A tag longer than 255 characters. */
  | 'R023'
  /** Lower-case `or`, `and` or `not` between clauses. */
  | 'R101'
  /** Typographic quotes within a word. */
  | 'R102'
  /** A negation within an `OR`: `a OR -b` matches nearly everything. */
  | 'R103'
  /** A keyword with punctuation, which is never a single token of a post. */
  | 'R104'
  /** A negated group of several clauses. */
  | 'R105'
  /** `AND` and `OR` mixed without parentheses. */
  | 'R106'
  /** A hashtag, handle or ticker symbol that cannot exist. */
  | 'R107'
  /** A phrase that hides an operator. */
  | 'R108'
  /** Clauses that exclude each other. */
  | 'R109'
  /**
   * The rule has only operators that, according to some of the service's pages, must not be used
   * alone.
   */
  | 'R110'
  /** A language code that the service is not known to use. */
  | 'R111'
  /** A `*` after a word, which is not a wildcard. */
  | 'R112';

/** Codes for which the service ends its message with two line ends. */
const DOUBLE_SPACED: ReadonlySet<ProblemCode> = new Set(['R003', 'R006', 'R007', 'R008']);

/**
 * Returns the text that the service would send about a rule: the message of each error, in order, each with
 * one or two line ends. Empty for an accepted rule.
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
