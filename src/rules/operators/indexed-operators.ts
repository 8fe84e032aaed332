import type { Dialect } from '../post/dialect.js';
import type { ReadTexts } from '../post/rule-post.js';
import type { OperatorName } from '../tree.js';
import type { PostTest, ReadKeys } from './operator.js';
import { ruleOperators } from './operators.js';

/** The values of a post that are indexed for operators, each under its `prefix`. */
export interface IndexedOperators {
  readonly keys: readonly { readonly prefix: string; readonly keys: ReadKeys }[];
  readonly fields: readonly { readonly prefix: string; readonly texts: ReadTexts }[];
  readonly trigrams: readonly { readonly prefix: string; readonly of: 'text' | 'links' }[];
  readonly flags: readonly { readonly term: string; readonly test: PostTest }[];
}

/**
 * The operators that add terms to an index. For search, fields and trigrams of operators that it does
 * not have are omitted: they would be most of a post's terms. Keys are always indexed, because
 * engagement totals look for the shares and replies of a post in the archive.
 */
export function indexedOperators(dialect: Dialect): IndexedOperators {
  return dialect.allOperators ? ALL : IN_SEARCH;
}

const ALL = collect(() => true);
const IN_SEARCH = collect(name => ruleOperators[name].search);

function collect(isOffered: (name: OperatorName) => boolean): IndexedOperators {
  const found = {
    keys: [] as { prefix: string; keys: ReadKeys }[],
    fields: [] as { prefix: string; texts: ReadTexts }[],
    trigrams: [] as { prefix: string; of: 'text' | 'links' }[],
    flags: [] as { term: string; test: PostTest }[],
  };
  for (const name of Object.keys(ruleOperators) as OperatorName[]) {
    const { index } = ruleOperators[name];
    const prefix = `${name}:`;
    if (index?.kind === 'keys') found.keys.push({ prefix, keys: index.keys });
    else if (index?.kind === 'flags')
      for (const [value, test] of Object.entries(index.flags))
        found.flags.push({ term: prefix + value, test });
    else if (index !== undefined && isOffered(name)) {
      if (index.kind === 'words') found.fields.push({ prefix, texts: index.texts });
      else found.trigrams.push({ prefix, of: index.of });
    }
  }
  return found;
}
