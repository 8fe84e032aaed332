import type { Position, PostFields } from '../../activity/post-fields.js';
import type { Dialect } from '../post/dialect.js';
import type { ReadTexts, RulePost } from '../post/rule-post.js';

/** The syntax of the value behind the colon. */
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

/** What a reference table says of an operator. */
export interface OperatorSpec {
  readonly value: ValueKind;
  /** Whether search offers it; jobs and replay offer all. */
  readonly search: boolean;
  /** Whether a rule may consist of this operator alone. */
  readonly alone: 'yes' | 'no' | 'not in search';
  readonly aliases: readonly string[];
  /** What it matches. */
  readonly about: string;
}

/** Whether a rule, or a part of one, matches a post. */
export type PostTest = (post: RulePost) => boolean;

/** What a clause says about the terms of the posts that match it. */
export interface RequiredTerms {
  /** Every match has all of them. May be empty: then nothing is known. */
  readonly required: readonly string[];
  /** Whether each post that has them all is a match. */
  readonly exact: boolean;
}

/** A whole operator: its syntax, its meaning, and how an index finds the posts that match it. */
export interface RuleOperator<Value> extends OperatorSpec {
  /** What it means: a test of posts. */
  test(value: Value, dialect: Dialect): PostTest;
  /** What an index can say. `prefix` is the operator's name and a colon: its terms begin with it. */
  terms(value: Value, dialect: Dialect, prefix: string): RequiredTerms;
  /** The terms of a post that the operator adds to an index; none where others are enough. */
  readonly index?: OperatorIndex | undefined;
  /** A guess of the share of all posts, 0 to 1, with one of its terms. `word` is the guess for its word. */
  frequency(word: number): number;
  /** The area of a post's position, for an operator that compares nothing else. */
  readonly area?: ((value: Value) => (position: Position) => boolean) | undefined;
}

/** What of a post is indexed under `name:`. */
export type OperatorIndex =
  | { readonly kind: 'keys'; readonly keys: ReadKeys }
  | { readonly kind: 'words'; readonly texts: ReadTexts }
  /** The pieces of the post's text, or of its links. */
  | { readonly kind: 'pieces'; readonly of: 'text' | 'links' }
  | { readonly kind: 'flags'; readonly flags: { readonly [value: string]: PostTest } };

/** Reads the values of a post that an operator compares whole. */
export type ReadKeys = (fields: PostFields, dialect: Dialect) => readonly string[];

/** What an operator leaves to its defaults. */
export type OperatorOptions = Partial<Pick<OperatorSpec, 'search' | 'alone' | 'aliases'>>;

export function specOf(
  value: ValueKind,
  about: string,
  { search = false, alone = 'yes', aliases = [] }: OperatorOptions,
): OperatorSpec {
  return { value, search, alone, aliases, about };
}

/** An index knows nothing of the matches. */
export const NO_TERMS: RequiredTerms = { required: [], exact: false };

/** The matches are the posts with this term. */
export function exactTerm(term: string): RequiredTerms {
  return { required: [term], exact: true };
}
