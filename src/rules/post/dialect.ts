import type { Accents } from './characters.js';

/**
 * The product that a rule is for. Historical jobs and replay share one set of operators; search has
 * fewer.
 */
export type RuleProduct = 'search' | 'historical' | 'replay';

export const RULE_PRODUCTS = ['search', 'historical', 'replay'] as const satisfies RuleProduct[];

/** The differences between products in how they read rules and posts. */
export interface Dialect {
  /** Whether `cumpleaños` and `cumpleanos` are the same word. */
  readonly accents: Accents;
  /** Whether punctuation in a quoted phrase must also be in the post. */
  readonly exactPhrases: boolean;
  /** Whether the text and entities of a quoted post count as part of the post, and a retweet of a reply is a reply. */
  readonly readsQuoted: boolean;
  /** Whether the operators that search does not have are available. */
  readonly allOperators: boolean;
}

const SEARCH: Dialect = {
  accents: 'stripped',
  exactPhrases: false,
  readsQuoted: false,
  allOperators: false,
};
const STREAMS: Dialect = {
  accents: 'kept',
  exactPhrases: true,
  readsQuoted: true,
  allOperators: true,
};

/** The dialect of a product. Historical jobs and replay share one engine; search has another. */
export function dialectOf(product: RuleProduct): Dialect {
  return product === 'search' ? SEARCH : STREAMS;
}
