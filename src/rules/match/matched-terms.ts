import type { Activity } from '../../post/activity.js';
import { parseRule } from '../language/parse-rule.js';
import { type Dialect, dialectOf, type RuleProduct } from '../post/dialect.js';
import { wordsOf } from '../post/phrase.js';
import { fold, tokenise } from '../post/tokeniser.js';
import type { Span } from '../tree.js';
import { type Explanation, explainMatch } from './explain-match.js';

export interface MatchedTerms {
  readonly clauses: readonly string[];
  /** Returns the spans of `text` that match the words and tags of `clauses`. */
  spansIn(text: string): readonly Span[];
}

/**
 * Returns the clauses that made a rule match a post, and a function that finds the words and tags of these
 * clauses in a string. The rule must be valid.
 */
export function matchedTerms(rule: string, activity: Activity, product: RuleProduct): MatchedTerms {
  const clauses = [...new Set(decisiveClauses(explainMatch(rule, activity, { product })))];
  const dialect = dialectOf(product);
  const wanted = clauses.flatMap(clause => wantedIn(clause, dialect));
  return {
    clauses,
    spansIn(text) {
      const words = positionedWords(text, dialect);
      return wanted.flatMap(one =>
        typeof one === 'string' ? tagSpans(text, one, dialect) : phraseSpans(words, one),
      );
    },
  };
}

/**
 * Returns the single clauses that matched and decided the result, as written in the rule. A clause under a
 * negation is not included, because the negated part did not match.
 */
function decisiveClauses({ text, matched, decided, parts }: Explanation): readonly string[] {
  if (!matched || !decided) return [];
  return parts.length === 0 ? [text] : parts.flatMap(decisiveClauses);
}

/**
 * Returns what to highlight for a clause. Words in one list are highlighted only where they are adjacent. A
 * hashtag, cashtag or mention is a string, including its sign.
 */
function wantedIn(clause: string, dialect: Dialect): readonly (readonly string[] | string)[] {
  const { tree } = parseRule(clause);
  switch (tree?.kind) {
    case 'keyword':
    case 'phrase':
      return [wordsOf(tree.text, dialect).words];
    case 'proximity':
      return wordsOf(tree.text, dialect).words.map(word => [word]);
    case 'hashtag':
    case 'mention':
    case 'cashtag':
      return [clause];
    default:
      return [];
  }
}

function tagSpans(text: string, tag: string, { accents }: Dialect): readonly Span[] {
  const folded = fold(tag, accents);
  return [...text.matchAll(/[#＃@$][\p{L}\p{M}\p{N}_]+/gu)]
    .filter(([found]) => fold(found.replace('＃', '#'), accents) === folded)
    .map(({ 0: found, index }) => ({ start: index, end: index + found.length }));
}

interface PositionedWord {
  word: string;
  readonly start: number;
  end: number;
}

function phraseSpans(all: readonly PositionedWord[], words: readonly string[]): readonly Span[] {
  if (words.length === 0) return [];
  return all.flatMap(({ start }, at) => {
    if (!words.every((word, i) => all[at + i]?.word === word)) return [];
    return [{ start, end: all[at + words.length - 1]?.end ?? start }];
  });
}

const GRAPHEMES = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * Returns the words of a string with their positions, split in the same way as rules split them. A word grows
 * by one grapheme at a time, as long as the tokeniser returns a single token for it.
 */
function positionedWords(text: string, { accents }: Dialect): readonly PositionedWord[] {
  const found: PositionedWord[] = [];
  for (const { segment, index } of GRAPHEMES.segment(text)) {
    const { words } = tokenise(segment, accents);
    const end = index + segment.length;
    const last = found.at(-1);
    const [joined, ...more] =
      last?.end === index && words.length === 1
        ? tokenise(text.slice(last.start, end), accents).words
        : [];
    if (last !== undefined && joined !== undefined && more.length === 0) {
      last.word = joined;
      last.end = end;
    } else for (const word of words) found.push({ word, start: index, end });
  }
  return found;
}
