import type { RulePost } from '../post/rule-post.js';
import { fold } from '../post/tokeniser.js';
import { wordTerms } from '../post/word-terms.js';
import { indexedOperators } from './indexed-operators.js';
import { piecesOf } from './piece-operators.js';

/**
 * The terms that an index files a post under. A word stands for itself (`snow`, and two neighbours of
 * a script written without spaces together, as `東京`); the others have a prefix: `#tag`, `@handle`,
 * `@id`, `$symbol`, and the name of an operator, as in `from:karl`, `lang:en`, `has:links`, a word of
 * a field as `place:boulder`, and three units in a row of a text as `contains:now`.
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
  for (const { prefix, of } of indexed.pieces)
    for (const { folded } of of === 'text' ? texts.slice(0, 1) : addresses)
      for (const piece of piecesOf(folded)) yield prefix + piece;
  for (const field of indexed.fields)
    for (const { words } of post.field(field.texts))
      for (const term of wordTerms(words)) yield field.prefix + term;
  for (const { term, test } of indexed.flags) if (test(post)) yield term;
}
