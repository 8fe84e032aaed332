import type { Dialect } from '../post/dialect.js';
import { wordTerms } from '../post/phrase.js';
import type { ReadTexts, RulePost } from '../post/rule-post.js';
import { fold } from '../post/tokeniser.js';
import type { OperatorName } from '../tree.js';
import { trigramsOf } from './contains-operators.js';
import type { PostTest, ReadKeys } from './operator.js';
import { ruleOperators } from './operators.js';

/**
 * Returns the terms under which a post is indexed. Words have no prefix (`snow`). In scripts without spaces,
 * two adjacent characters also form a term (`東京`). All other terms have a prefix: `#tag`, `@handle`, `@id`,
 * `$symbol`, or the name of an operator, as in `from:karl`, `lang:en`, `has:links`, `place:boulder` (a word
 * of a field) and `contains:now` (a trigram).
 */
export function postTerms(post: RulePost): ReadonlySet<string> {
  const found = new Set<string>();
  const { fields, dialect, texts, addresses, displays } = post;
  for (const tokens of [texts, addresses, displays])
    for (const { words } of tokens) for (const term of wordTerms(words)) found.add(term);
  for (const { hashtags, cashtags, mentions } of post.parts) {
    for (const tag of hashtags) found.add(`#${fold(tag, dialect.accents)}`);
    for (const symbol of cashtags) found.add(`$${fold(symbol, dialect.accents)}`);
    for (const { handle, id } of mentions) found.add(`@${handle}`).add(`@${id}`);
  }
  const indexed = indexedOperators(dialect);
  for (const { prefix, keys } of indexed.keys)
    for (const key of keys(fields, dialect)) found.add(prefix + key);
  for (const { prefix, of } of indexed.trigrams)
    for (const { folded } of of === 'text' ? texts.slice(0, 1) : addresses)
      for (const trigram of trigramsOf(folded)) found.add(prefix + trigram);
  for (const field of indexed.fields)
    for (const { words } of post.field(field.texts))
      for (const term of wordTerms(words)) found.add(field.prefix + term);
  for (const { term, test } of indexed.flags) if (test(post)) found.add(term);
  return found;
}

/**
 * The operators that add terms to an index of posts. Each term is a prefix such as `from:`, followed by a
 * value.
 */
export interface IndexedOperators {
  readonly keys: readonly { readonly prefix: string; readonly keys: ReadKeys }[];
  readonly fields: readonly { readonly prefix: string; readonly texts: ReadTexts }[];
  readonly trigrams: readonly { readonly prefix: string; readonly of: 'text' | 'links' }[];
  readonly flags: readonly { readonly term: string; readonly test: PostTest }[];
}

/**
 * Returns the operators that add terms to an index. For search, fields and trigrams of operators that search
 * lacks are omitted, because they would be most of a post's terms. Operators that compare whole values
 * (`keys`) are always included. Engagement totals use them to look up the retweets and replies of a post in
 * the archive.
 */
export function indexedOperators(dialect: Dialect): IndexedOperators {
  return dialect.allOperators ? ALL : IN_SEARCH;
}

const ALL = indexedOf(() => true);
const IN_SEARCH = indexedOf(name => ruleOperators[name].search);

function indexedOf(isOffered: (name: OperatorName) => boolean): IndexedOperators {
  const all = (Object.keys(ruleOperators) as OperatorName[]).flatMap(name => {
    const { index } = ruleOperators[name];
    return index === undefined ? [] : { name, prefix: `${name}:`, index };
  });
  const offered = all.filter(({ name }) => isOffered(name));
  return {
    keys: all.flatMap(({ prefix, index }) =>
      index.kind === 'keys' ? { prefix, keys: index.keys } : [],
    ),
    fields: offered.flatMap(({ prefix, index }) =>
      index.kind === 'words' ? { prefix, texts: index.texts } : [],
    ),
    trigrams: offered.flatMap(({ prefix, index }) =>
      index.kind === 'trigrams' ? { prefix, of: index.of } : [],
    ),
    flags: all.flatMap(({ prefix, index }) =>
      index.kind === 'flags'
        ? Object.entries(index.flags).map(([value, test]) => ({ term: prefix + value, test }))
        : [],
    ),
  };
}
