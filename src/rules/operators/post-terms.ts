import type { RulePost } from '../post/rule-post.js';
import { fold } from '../post/tokeniser.js';
import { wordTerms } from '../post/word-terms.js';
import { trigramsOf } from './contains-operators.js';
import { indexedOperators } from './indexed-operators.js';

/**
 * The terms under which a post is indexed. Words have no prefix (`snow`, and two adjacent characters of
 * a script without spaces, such as `東京`). All others have one: `#tag`, `@handle`, `@id`, `$symbol`, or
 * the name of an operator, as in `from:karl`, `lang:en`, `has:links`, `place:boulder` (a word of a
 * field) and `contains:now` (a trigram).
 */
export function postTerms(post: RulePost): ReadonlySet<string> {
  return new Set(allTerms(post));
}

function* allTerms(post: RulePost): Generator<string> {
  const { fields, dialect, texts, addresses, displays } = post;
  for (const tokens of [...texts, ...addresses, ...displays]) yield* wordTerms(tokens.words);
  for (const { hashtags, cashtags, mentions } of post.parts) {
    for (const tag of hashtags) yield `#${fold(tag, dialect.accents)}`;
    for (const symbol of cashtags) yield `$${fold(symbol, dialect.accents)}`;
    for (const { handle, id } of mentions) yield* [`@${handle}`, `@${id}`];
  }
  const indexed = indexedOperators(dialect);
  for (const { prefix, keys } of indexed.keys)
    for (const key of keys(fields, dialect)) yield prefix + key;
  for (const { prefix, of } of indexed.trigrams)
    for (const { folded } of of === 'text' ? texts.slice(0, 1) : addresses)
      for (const trigram of trigramsOf(folded)) yield prefix + trigram;
  for (const field of indexed.fields)
    for (const { words } of post.field(field.texts))
      for (const term of wordTerms(words)) yield field.prefix + term;
  for (const { term, test } of indexed.flags) if (test(post)) yield term;
}
