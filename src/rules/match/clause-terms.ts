import { exactTerm, type RequiredTerms, type RuleOperator } from '../operators/operator.js';
import { ruleOperators } from '../operators/operators.js';
import type { Dialect } from '../post/dialect.js';
import { clausePhrase, wordsOf, wordTerms } from '../post/phrase.js';
import { fold } from '../post/tokeniser.js';
import type { Clause } from '../tree.js';

/** Returns the terms (see `postTerms`) that a post must have to match a clause. */
export function clauseTerms(clause: Clause, dialect: Dialect): RequiredTerms {
  switch (clause.kind) {
    case 'keyword':
    case 'phrase': {
      const { words, exact } = clausePhrase(clause, dialect);
      const isWord = words.length === 1 && (exact === undefined || exact.text === words[0]);
      // The term of the keycap `#️⃣` starts with `#`, like the term of a hashtag, so a post with this term is
      // not certain to match.
      return {
        required: [...wordTerms(words)],
        exact: isWord && words[0]?.startsWith('#') === false,
      };
    }
    case 'proximity':
      // Requires only single words. `wordTerms` also yields pairs of adjacent characters, but a proximity
      // clause allows other tokens between the two characters.
      return { required: wordsOf(clause.text, dialect).words, exact: false };
    case 'hashtag':
      return exactTerm(`#${fold(clause.text, dialect.accents)}`);
    case 'cashtag':
      return exactTerm(`$${fold(clause.text, dialect.accents)}`);
    case 'mention':
      return exactTerm(`@${clause.text.toLowerCase()}`);
    case 'operator': {
      const operator: RuleOperator<never> = ruleOperators[clause.name];
      return operator.terms(clause.value as never, dialect, `${clause.name}:`);
    }
  }
}
