import type { Accents } from './characters.js';

/** Where a rule is used. Historical jobs and replay share one set of operators, search has fewer. */
export type RuleProduct = 'search' | 'historical' | 'replay';

export const RULE_PRODUCTS = ['search', 'historical', 'replay'] as const satisfies RuleProduct[];

/** How a product reads rules and posts, where the products differ. */
export interface Dialect {
  /** Whether `cumpleaños` and `cumpleanos` are the same word. */
  readonly accents: Accents;
  /** Whether punctuation in a quoted phrase has to be in the post too. */
  readonly exactPhrases: boolean;
  /** Whether the text and entities of a quoted post count as the post's own. */
  readonly readsQuoted: boolean;
  /** Whether the operators that search lacks exist. */
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

/** Historical jobs and replay share one engine, search has its own. */
export function dialectOf(product: RuleProduct): Dialect {
  return product === 'search' ? SEARCH : STREAMS;
}
