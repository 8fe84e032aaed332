import type { Span } from '../tree.js';

/** An error or a warning about a rule, with the service's message and an explanation in plain words. */
export interface Problem extends Span {
  /**
   * The code of the problem. It never changes between versions. R0xx codes are errors, R1xx codes are
   * warnings.
   */
  readonly code: ProblemCode;
  /**
   * `error` if the service refuses the rule. `warning` if the service accepts the rule, but it may not mean
   * what was intended.
   */
  readonly severity: 'error' | 'warning';
  /**
   * The message of the service, as in the body of a 422 response. Positions in it count UTF-16 units from 1.
   * The service has no warnings, so the message of a warning equals its `explanation`.
   */
  readonly message: string;
  /**
   * An explanation of the problem in plain words. The span (`start` and `end`) shows where the problem is.
   */
  readonly explanation: string;
  /** More information, such as the allowed values. */
  readonly note?: string | undefined;
  /** Another part of the rule that is involved in the problem, such as the parenthesis that is not closed. */
  readonly related?: (Span & { readonly label: string }) | undefined;
  readonly suggestion?: Suggestion | undefined;
}

/** A change to the rule that solves the problem, or a part of the problem. */
export interface Suggestion {
  readonly label: string;
  /** The changes to the text. They do not overlap. */
  readonly edits: readonly TextEdit[];
  /** Whether the edits are certain to keep the meaning of the rule. Otherwise the suggestion is a guess. */
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
  /** Groups are nested too deeply. */
  | 'R002'
  /** A character that cannot start a clause. */
  | 'R003'
  /** A value or clause that is not allowed at this position. */
  | 'R004'
  /** The rule ends or continues at a wrong position. */
  | 'R005'
  /** A group that is not closed. */
  | 'R006'
  /** A closing parenthesis without an opening one. */
  | 'R007'
  /** A phrase that is not closed. */
  | 'R008'
  /** An explicit `AND`, which the language does not have. */
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
  /** `sample:` that is negated, or whose value is not from 1 to 100 percent. */
  | 'R018'
  /** Coordinates, a radius or the side of a box that is out of range. */
  | 'R019'
  /** An invalid count or range of counts. */
  | 'R020'
  /** An invalid distance in a proximity such as `"two words"~3`. */
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
  /** A keyword with punctuation. No token of a post contains punctuation. */
  | 'R104'
  /** A negated group of several clauses. */
  | 'R105'
  /** `AND` and `OR` mixed without parentheses. */
  | 'R106'
  /** A hashtag, handle or ticker symbol that cannot exist. */
  | 'R107'
  /** A phrase that looks like an operator, hashtag or mention. Inside quotes, it is matched as plain text. */
  | 'R108'
  /** Clauses that exclude each other. */
  | 'R109'
  /**
   * The rule has only operators that must not be used alone, according to some pages of the service's
   * documentation.
   */
  | 'R110'
  /** A language code that the service is not known to use. */
  | 'R111'
  /** A `*` after a word. The service does not treat it as a wildcard. */
  | 'R112';

/** Problems for which the service ends its message with two line ends instead of one. */
const DOUBLE_SPACED: ReadonlySet<ProblemCode> = new Set(['R003', 'R006', 'R007', 'R008']);

/**
 * Returns the text with which the service would refuse a rule. It contains the message of each error, in
 * order, with one or two line ends after it. Returns an empty string if the service would accept the rule.
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
