import type { Position, PostFields } from '../../post/post-fields.js';
import type { Dialect } from '../post/dialect.js';
import type { ReadTexts, RulePost } from '../post/rule-post.js';

/** The syntax of the value after an operator's colon. */
export type ValueKind =
  | 'text'
  | 'user'
  | 'id'
  | 'count'
  | 'language'
  | 'country'
  | 'radius'
  | 'box'
  | 'is'
  | 'has'
  | 'percent';

/** The syntax and meaning of an operator. A reference table of operators can be generated from it. */
export interface OperatorSpec {
  readonly value: ValueKind;
  /** Whether search has the operator. Historical jobs and replay have all operators. */
  readonly search: boolean;
  /** Whether a rule may consist of this operator alone. */
  readonly alone: 'yes' | 'no' | 'not in search';
  readonly aliases: readonly string[];
  /** The meaning of the operator in a few words. */
  readonly about: string;
}

export type PostTest = (post: RulePost) => boolean;

export interface RequiredTerms {
  /** Terms that every matching post has. If the list is empty, no such term is known. */
  readonly required: readonly string[];
  /** Whether every post that has all `required` terms matches the operator. */
  readonly exact: boolean;
}

export interface RuleOperator<Value> extends OperatorSpec {
  test(value: Value, dialect: Dialect): PostTest;
  /**
   * Returns the terms by which an index finds posts that match the operator with this value. Each of these
   * terms starts with `prefix`, which is the operator's name and a colon.
   */
  terms(value: Value, dialect: Dialect, prefix: string): RequiredTerms;
  /**
   * The terms that the operator adds to an index. Absent if the operator uses only terms that other operators
   * add.
   */
  readonly index?: OperatorIndex | undefined;
  /**
   * Guesses the fraction of all posts that have a term of the operator, such as `bio:cat`. `word` is the
   * guessed fraction of posts that have the word after the colon. Both fractions are from 0 to 1.
   */
  frequency(word: number): number;
  /** Returns a test of a position. Present if the operator depends only on the position of a post. */
  readonly area?: ((value: Value) => (position: Position) => boolean) | undefined;
}

/**
 * The values of a post that an index stores as terms. Each term is the operator's name, a colon and a value.
 */
export type OperatorIndex =
  | { readonly kind: 'keys'; readonly keys: ReadKeys }
  | { readonly kind: 'words'; readonly texts: ReadTexts }
  | { readonly kind: 'trigrams'; readonly of: 'text' | 'links' }
  | { readonly kind: 'flags'; readonly flags: { readonly [value: string]: PostTest } };

export type ReadKeys = (fields: PostFields, dialect: Dialect) => readonly string[];

export type RuleOperatorOptions = Partial<Pick<OperatorSpec, 'search' | 'alone' | 'aliases'>>;

export function specOf(
  value: ValueKind,
  about: string,
  { search = false, alone = 'yes', aliases = [] }: RuleOperatorOptions,
): OperatorSpec {
  return { value, search, alone, aliases, about };
}

/** The result of `terms` if no terms are known. An index then has to compare every post with the rule. */
export const NO_TERMS: RequiredTerms = { required: [], exact: false };

export function exactTerm(term: string): RequiredTerms {
  return { required: [term], exact: true };
}
