import type { Accents } from './characters.js';

/** The product that a rule is for. Historical jobs and replay have the same operators; search has fewer. */
export type RuleProduct = 'search' | 'historical' | 'replay';

export const RULE_PRODUCTS = ['search', 'historical', 'replay'] as const satisfies RuleProduct[];

export interface Dialect {
  readonly accents: Accents;
  /** Whether punctuation in a quoted phrase must also be in the post. */
  readonly exactPhrases: boolean;
  /**
   * Whether the text and entities of a quoted post count as part of the post. If so, a retweet of a reply
   * also counts as a reply.
   */
  readonly readsQuoted: boolean;
  /** Whether rules may use the operators that search does not have. */
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

/** Historical jobs and replay have the same dialect. */
export function dialectOf(product: RuleProduct): Dialect {
  return product === 'search' ? SEARCH : STREAMS;
}
