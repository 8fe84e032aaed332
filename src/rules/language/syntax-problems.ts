import { closest } from '../../base/closest.js';
import { deprecatedOperators } from '../operators/deprecated-operators.js';
import { operatorNames } from '../operators/operators.js';
import type { Span } from '../tree.js';
import type { Problem, ProblemCode, Suggestion } from './problem.js';
import { startsWord } from './rule-characters.js';

/** The maximum number of characters of a rule, in every product. */
export const MAX_CHARACTERS = 2048;
/**
 * The maximum depth of groups that a rule of 2048 characters can have. Deeper groups are possible only in a
 * rule that is too long.
 */
export const MAX_DEPTH = 1024;

type More = Pick<Problem, 'note' | 'related' | 'suggestion'>;

/** Returns an error whose message ends with its position, like most messages of the service. */
export function error(
  code: ProblemCode,
  span: Span,
  message: string,
  explanation: string,
  more?: More,
): Problem {
  return errorSaying(code, span, `${message} ${at(span.start)}`, explanation, more);
}

/** Returns an error whose message is exactly this text. No position is appended. */
export function errorSaying(
  code: ProblemCode,
  { start, end }: Span,
  message: string,
  explanation: string,
  more: More = {},
): Problem {
  return { code, severity: 'error', start, end, message, explanation, ...more };
}

export function suggest(
  label: string,
  { start, end }: Span,
  text: string,
  certain = false,
): Suggestion {
  return { label, edits: [{ start, end, text }], certain };
}

export function suggestWord(
  word: string | undefined,
  span: Span,
  shown = word,
): Suggestion | undefined {
  return word === undefined ? undefined : suggest(`did you mean \`${shown}\`?`, span, word);
}

/** Formats a position as the service does. The service counts UTF-16 units from 1. */
export function at(offset: number): string {
  return `(at position ${offset + 1})`;
}

export function tooLong(text: string, characters: number): Problem {
  return error(
    'R001',
    { start: 0, end: text.length },
    `Rule is too long - ${characters} characters.  The maximum allowed is ${MAX_CHARACTERS}`,
    `the rule has ${characters} characters; the maximum is ${MAX_CHARACTERS}: split it`,
  );
}

export function tooDeep(span: Span): Problem {
  return error(
    'R002',
    span,
    `Groups may be nested at most ${MAX_DEPTH} deep`,
    `groups are nested more than ${MAX_DEPTH} deep`,
  );
}

export function badCharacter(text: string, offset: number): Problem {
  const character = String.fromCodePoint(text.codePointAt(offset)!);
  const end = offset + character.length;
  const quoted = quotesAround(text, offset, character);
  return error(
    'R003',
    { start: offset, end },
    `no viable alternative at character '${character}'`,
    quoted === undefined
      ? `\`${character}\` cannot start a clause`
      : `\`${character}\` is not a quote; only \`"\` is`,
    character === '*'
      ? { note: NO_WILDCARDS, suggestion: withoutStar(text, offset) }
      : { suggestion: quoted ?? inQuotes(text, offset) },
  );
}

const NO_WILDCARDS = 'there are no wildcards; `contains:` of jobs and replay finds parts of words';

function withoutStar(text: string, star: number): Suggestion | undefined {
  const span = { start: star, end: star + 1 };
  let word = span.end;
  while (text[word] === '*') word++;
  return startsWord(text, word)
    ? suggest('to match the word itself, remove it', span, '')
    : inQuotes(text, star);
}

export function badInput(
  span: Span,
  input: string,
  explanation: string,
  fix?: Suggestion,
): Problem {
  return error('R004', span, `no viable alternative at input '${input}'`, explanation, {
    suggestion: fix,
  });
}

/** Returns the service's message for an operator that exists, but not in this product. */
export function unavailable(operator: string): string {
  return (
    `Reference to invalid operator '${operator}'. Operator is not available in current product or ` +
    'product packaging. Please refer to complete available operator list at http://t.co/operators.'
  );
}

/**
 * Returns an error with the service's message for text that the service cannot parse. `input` is the text at
 * the span. At the end of the rule, it is `<EOF>`.
 */
export function cannotParse(
  span: Span,
  input: string,
  explanation: string,
  fix?: Suggestion,
): Problem {
  return errorSaying(
    'R005',
    span,
    `Cannot parse rule at '${input}' (position ${span.start + 1})`,
    explanation,
    { suggestion: fix },
  );
}

/**
 * @param open The position of the innermost open group.
 * @param count How many groups are open at the end of the text.
 */
export function unclosedGroup(text: string, open: number, count: number): Problem {
  const end = text.length;
  const parentheses = ')'.repeat(count);
  return error(
    'R006',
    { start: end, end },
    "mismatched input 'EOF' expecting ')'",
    count === 1 ? 'a group is not closed' : `${count} groups are not closed`,
    {
      related: { start: open, end: open + 1, label: 'opened here' },
      suggestion: suggest(`add \`${parentheses}\``, { start: end, end }, parentheses),
    },
  );
}

export function strayParenthesis(offset: number): Problem {
  const span = { start: offset, end: offset + 1 };
  return error('R007', span, "missing EOF at ')'", 'this parenthesis does not close a group', {
    suggestion: suggest('remove it', span, ''),
  });
}

export function unclosedPhrase(text: string, open: number): Problem {
  const end = text.length;
  return error(
    'R008',
    { start: end, end },
    `mismatched character '<EOF>' expecting '"'`,
    'a phrase is not closed',
    {
      related: { start: open, end: open + 1, label: 'opened here' },
      suggestion: suggest('add `"`', { start: end, end }, '"'),
    },
  );
}

export function explicitAnd(text: string, span: Span): Problem {
  let { end } = span;
  while (text[end] === ' ') end++;
  return error(
    'R009',
    span,
    'Ambiguous use of and as a keyword. Use a space to logically join two clauses, or "and" to find ' +
      'occurrences of and in text',
    'clauses are joined by white space, not by `AND`',
    { suggestion: suggest('remove it', { start: span.start, end }, '', true) },
  );
}

/** @param whole The span of the clause with its value, as far as it was read. */
export function unknownField(text: string, span: Span, whole: Span): Problem {
  const name = text.slice(span.start, span.end);
  const known = [...operatorNames.keys(), ...deprecatedOperators.keys(), 'is', 'has'];
  const isLink = text.startsWith('//', span.end + 1);
  const meant = isLink ? undefined : closest(name, known);
  const asText = isLink ? linking(text, whole) : quoting(text, whole);
  return errorSaying(
    'R013',
    span,
    `Reference to invalid field '${name}' ${at(span.start)}.`,
    `there is no operator \`${name}:\``,
    { suggestion: suggestWord(meant, span, `${meant}:`) ?? asText },
  );
}

/**
 * Separators at the end of a word in a list, such as the comma in `cat, dog`. They are not part of the
 * clause.
 */
export const LIST_END = /[,;]+$/;

/**
 * Suggests quotes around a span, which turn it into a phrase. Returns `undefined` if quotes would not work.
 */
export function quoting(
  text: string,
  span: Span,
  label = 'to match the text itself, quote it',
): Suggestion | undefined {
  return replacing(span, text.slice(span.start, span.end).replace(LIST_END, ''), '', label);
}

/**
 * Suggests `url:` for a link. The suggestion omits the protocol, because the same link may have either
 * protocol in posts.
 */
function linking(text: string, { start, end }: Span): Suggestion | undefined {
  const address = text.slice(text.indexOf('//', start) + 2, end).replace(/[.,;:!?]+$/, '');
  return replacing({ start, end }, address, 'url:', 'to match a link');
}

function replacing(
  span: Span,
  plain: string,
  operator: '' | 'url:',
  label: string,
): Suggestion | undefined {
  if (/["\\]/.test(plain) || plain.trim() === '') return undefined;
  const quoted = `${operator}"${plain}"`;
  return suggest(`${label}: \`${shorten(quoted)}\``, span, quoted);
}

export function shorten(text: string): string {
  return text.length <= 60 ? text : `${text.slice(0, 59)}…`;
}

const CLOSING_QUOTES: ReadonlyMap<string, RegExp> = new Map([
  ['“', /[”“]/],
  ['”', /”/],
  ['„', /[“”]/],
  ['«', /»/],
  ['‘', /’/],
  ['’', /’/],
  ["'", /'/],
  ['`', /[`']/],
]);

/**
 * Suggests double quotes instead of typographic or single quotes. Returns `undefined` if the closing quote is
 * missing.
 */
function quotesAround(text: string, open: number, character: string): Suggestion | undefined {
  const closing = CLOSING_QUOTES.get(character);
  if (closing === undefined) return undefined;
  const inner = text.slice(open + 1, open + MAX_CHARACTERS).split(closing, 1)[0] as string;
  const close = open + 1 + inner.length;
  if (!closing.test(text[close] ?? '') || inner.trim() === '' || inner.includes('"'))
    return undefined;
  const edits = [open, close].map(start => ({ start, end: start + 1, text: '"' }));
  return { label: `use \`"${shorten(inner)}"\``, edits, certain: true };
}

function inQuotes(text: string, start: number): Suggestion | undefined {
  const end =
    start + (text.slice(start, start + MAX_CHARACTERS).split(/[\s"()]/, 1)[0] as string).length;
  return /[\p{L}\p{N}\p{So}]/u.test(text.slice(start, end))
    ? quoting(text, { start, end })
    : undefined;
}
