import { closest } from '../../base/closest.js';
import { QUOTE } from '../../json/byte-codes.js';
import { deprecatedHasValues } from '../operators/deprecated-operators.js';
import { hasAliases, hasValues, isValues } from '../operators/flag-operators.js';
import type { ValueKind } from '../operators/operator.js';
import type { CountRange, OperatorName, OperatorValues, Span } from '../tree.js';
import { countryCodes, countrySynonyms, languageMeant } from './iso-codes.js';
import type { Problem, Suggestion } from './problem.js';
import { readBox, readRadius } from './read-geo.js';
import { CLOSE, OPEN, type RuleReader, UNDERSCORE } from './reader.js';
import { isRuleSpace, isWord, startsWord, wordEnd } from './rule-characters.js';
import {
  badInput,
  error,
  quoting,
  shorten,
  suggest,
  suggestWord,
  unavailable,
} from './syntax-problems.js';

type Value = OperatorValues[OperatorName];

/** If the value cannot be read, reports a problem and returns `undefined`. */
export function readValue(
  reader: RuleReader,
  name: OperatorName,
  kind: ValueKind,
): Value | undefined {
  const { unit, at: start } = reader;
  if (Number.isNaN(unit) || isRuleSpace(unit) || unit === OPEN || unit === CLOSE) {
    reader.reportEnd(`\`${name}:\` needs a value right after the colon`);
    return undefined;
  }
  if (kind === 'radius') return readRadius(reader, name);
  if (kind === 'box') return readBox(reader, name);
  const written = readPlain(reader, name, kind);
  const syntax = SYNTAX[kind];
  if (written === undefined || syntax === undefined) return written;
  const span = { start, end: reader.at };
  return syntax.parse(written) ?? reader.report(syntax.problem(written, span, reader.text));
}

function readPlain(reader: RuleReader, name: OperatorName, kind: ValueKind): string | undefined {
  const { text, at: start, unit } = reader;
  if (unit === QUOTE) return readQuotedValue(reader, name);
  if (startsWord(text, start) || (kind === 'user' && unit === UNDERSCORE)) {
    reader.at = wordEnd(text, start + 1);
    return text.slice(start, reader.at);
  }
  if (unit < 0x80 && '$#@-[]'.includes(text[start]!)) {
    reader.skipRun();
    const span = { start, end: reader.at };
    return reader.report(misplacedSymbol(text, span, name, kind));
  }
  reader.skipBadCharacter();
  reader.skipRun();
  return undefined;
}

function readQuotedValue(reader: RuleReader, name: OperatorName): string | undefined {
  const start = reader.at;
  const value = reader.readQuoted();
  if (value === undefined || value.trim() !== '') return value;
  const span = { start, end: reader.at };
  const input = reader.text.slice(start, reader.at);
  return reader.report(badInput(span, input, `\`${name}:\` needs a value`));
}

/** Returns the problem of a value that starts with `$`, `#`, `@`, `-` or a bracket. */
function misplacedSymbol(text: string, span: Span, name: OperatorName, kind: ValueKind): Problem {
  const input = text.slice(span.start, span.end);
  if (kind === 'count') return badCount(input, span);
  const bare = input.slice(1);
  let fix: Suggestion | undefined;
  if (kind === 'text') fix = quoting(text, span);
  else if (kind === 'user' && input.startsWith('@') && isWord(bare))
    fix = suggest(`use \`${shorten(`${name}:${bare}`)}\``, span, bare, true);
  return badInput(span, input, `\`${input[0]}\` cannot start a value of \`${name}:\``, fix);
}

interface ValueSyntax {
  /** Returns the value, or `undefined` if the text is not a value of this kind. */
  parse(written: string): Value | undefined;
  problem(written: string, span: Span, rule: string): Problem;
}

/** Kinds of values that are not listed accept any text. */
const SYNTAX: { readonly [Kind in ValueKind]?: ValueSyntax } = {
  id: {
    parse: written => (/^\d+$/.test(written) ? written : undefined),
    problem(written, span) {
      const digits = /\/status(?:es)?\/(\d+)/.exec(written)?.[1];
      const fix = suggestWord(digits, span);
      return badInput(span, written, 'the id of a post consists of digits', fix);
    },
  },
  count: {
    parse(written) {
      const range = rangeIn(written);
      return range !== undefined && range.min <= (range.max ?? range.min) ? range : undefined;
    },
    problem: (written, span) =>
      rangeIn(written) === undefined ? badCount(written, span) : emptyRange(written, span),
  },
  percent: {
    parse(written) {
      const percent = /^\d+$/.test(written) ? Number(written) : 0;
      return percent >= 1 && percent <= 100 ? percent : undefined;
    },
    problem: (written, span) =>
      error(
        'R018',
        span,
        'The sample operator requires an integer between 1 and 100',
        `\`sample:\` takes a whole percentage from 1 to 100, not \`${shorten(written)}\``,
      ),
  },
  language: {
    parse: written => (LANGUAGE.test(written) ? written.toLowerCase() : undefined),
    problem: badLanguage,
  },
  country: {
    parse(written) {
      const code = written.toUpperCase();
      return countryCodes.has(code) ? code : undefined;
    },
    problem: (written, span) =>
      error(
        'R014',
        span,
        `Invalid country code '${written}'. Must be an ISO 3166-1 alpha-2 code`,
        `there is no country with the code \`${shorten(written)}\``,
        {
          note: 'countries are two-letter codes such as `US` (ISO 3166-1 alpha-2)',
          suggestion: suggestWord(countrySynonyms.get(written.toUpperCase()), span),
        },
      ),
  },
  is: {
    parse: written => isValues.find(value => value === written.toLowerCase()),
    problem: (written, span) => unknownValue('is', written, span, isValues),
  },
  has: {
    parse(written) {
      const lower = written.toLowerCase();
      return hasAliases.get(lower) ?? hasValues.find(value => value === lower);
    },
    problem: (written, span, rule) =>
      deprecatedHasValues.has(written.toLowerCase())
        ? deprecatedHas(rule, written.toLowerCase(), span)
        : unknownValue('has', written, span, [...hasValues, ...hasAliases.keys()]),
  },
};

/**
 * A language code of ISO 639, optionally followed by BCP 47 subtags. A valid code that is not in the table of
 * languages only causes a warning.
 */
const LANGUAGE = /^[a-z]{2,3}(?:-[a-z0-9]{2,8})*$/i;

/** Parses a single count, or a range such as `10..20`. Accepts a range whose minimum exceeds its maximum. */
function rangeIn(written: string): CountRange | undefined {
  const parts = /^(\d+)(?:\.\.(\d+))?$/.exec(written);
  if (parts === null) return undefined;
  const min = Number(parts[1]);
  const max = parts[2] === undefined ? undefined : Number(parts[2]);
  if (!Number.isSafeInteger(min) || !Number.isSafeInteger(max ?? 0)) return undefined;
  return max === undefined ? { min } : { min, max };
}

function badCount(written: string, span: Span): Problem {
  const range = /^(\d+)\D+(\d+)$/.exec(written);
  const fixed =
    range !== null && Number(range[1]) <= Number(range[2]) ? `${range[1]}..${range[2]}` : undefined;
  return error(
    'R020',
    span,
    `no viable alternative at input '${written}'`,
    'a count is a whole number, or a range such as `10..100`',
    { suggestion: /^\d+\.\d+$/.test(written) ? undefined : suggestWord(fixed, span) },
  );
}

function emptyRange(written: string, span: Span): Problem {
  const swapped = written.split('..').reverse().join('..');
  return error(
    'R020',
    span,
    `Invalid range '${written}'. The lower bound must not exceed the upper bound`,
    'the range is empty: its lower bound is above its upper bound',
    { suggestion: suggestWord(swapped, span) },
  );
}

function badLanguage(written: string, span: Span): Problem {
  return error(
    'R014',
    span,
    `Reference to invalid operator 'lang:${written}'. Language code is not supported.`,
    `\`${shorten(written)}\` is not the code of a language`,
    {
      note: 'languages are two-letter codes such as `en`, or `und` if none was recognised',
      suggestion: suggestWord(languageMeant(written), span),
    },
  );
}

/** Returns the problem of an unknown value. Lists the allowed values, as the service's message does. */
function unknownValue(
  operator: 'is' | 'has',
  written: string,
  span: Span,
  candidates: readonly string[],
): Problem {
  const allowed = (operator === 'has' ? hasValues : candidates).join(', ');
  return error(
    'R014',
    span,
    `Reference to invalid operator '${operator}:${written}'. Allowed values are ${allowed}.`,
    `unknown value \`${shorten(written)}\` for \`${operator}:\``,
    { note: `allowed: ${allowed}`, suggestion: suggestWord(closest(written, candidates), span) },
  );
}

/**
 * Returns the problem of a `has:` value that only version 1.0 of the rule language had. For `has:lang`, the
 * message suggests `-lang:und`.
 */
function deprecatedHas(rule: string, value: string, span: Span): Problem {
  if (value !== 'lang')
    return error(
      'R016',
      span,
      unavailable(`has:${value}`),
      `\`has:${value}\` was removed in version 2.0, without a replacement`,
      { note: '`has:profile_geo` matches any profile location' },
    );
  const start = span.start - 'has:'.length;
  const negated = rule[start - 1] === '-';
  const use = negated ? 'lang:und' : '-lang:und';
  const whole = { start: negated ? start - 1 : start, end: span.end };
  return error(
    'R016',
    span,
    unavailable('has:lang'),
    '`has:lang` was replaced by `-lang:und` in version 2.0',
    { suggestion: suggest(`use \`${use}\``, whole, use, true) },
  );
}
