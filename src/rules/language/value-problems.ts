import { closest } from '../../closest.js';
import { hasValues } from '../operators/flag-operators.js';
import type { ValueKind } from '../operators/operator.js';
import type { OperatorName, Span } from '../tree.js';
import { countrySynonyms, languageCodes, languageSynonyms } from './iso-codes.js';
import type { Problem, Suggestion } from './problem.js';
import { isWord } from './rule-characters.js';
import { at, badInput, error, quoting, shorten, suggest, suggestWord } from './syntax-problems.js';

/** The service's message for an operator that exists, but not in this product. */
export function unavailable(operator: string, { start }: Span): string {
  return (
    `Reference to invalid operator '${operator}'. Operator is not available in current product or ` +
    'product packaging. Please refer to complete available operator list at ' +
    `http://t.co/operators. ${at(start)}`
  );
}

/** An operator of version 1.0. */
export function deprecated(
  written: string,
  span: Span,
  replacement: OperatorName | undefined,
): Problem {
  return error(
    'R016',
    span,
    unavailable(written, span),
    replacement === undefined
      ? `\`${written}:\` was removed in version 2.0, without a replacement`
      : `\`${written}:\` was replaced by \`${replacement}:\` in version 2.0`,
    {
      suggestion:
        replacement === undefined
          ? undefined
          : suggest(`use \`${replacement}:\``, [{ ...span, text: replacement }], true),
    },
  );
}

/** A `has:` value of version 1.0; `has:lang` becomes `-lang:und`. */
export function deprecatedHas(text: string, value: string, span: Span): Problem {
  const start = span.start - 'has:'.length;
  const negated = text[start - 1] === '-';
  const use = negated ? 'lang:und' : '-lang:und';
  const edit = { start: negated ? start - 1 : start, end: span.end, text: use };
  return error(
    'R016',
    span,
    unavailable(`has:${value}`, span),
    value === 'lang'
      ? '`has:lang` was replaced by `-lang:und` in version 2.0'
      : `\`has:${value}\` was removed in version 2.0, without a replacement`,
    {
      note: value === 'lang' ? undefined : '`has:profile_geo` matches any profile location',
      suggestion: value === 'lang' ? suggest(`use \`${use}\``, [edit], true) : undefined,
    },
  );
}

/** The service's message lists the allowed values. */
export function unknownValue(
  operator: 'is' | 'has',
  written: string,
  span: Span,
  candidates: readonly string[],
): Problem {
  const allowed = (operator === 'has' ? hasValues : candidates).join(', ');
  const meant = closest(written, candidates);
  return error(
    'R014',
    span,
    `Reference to invalid operator '${operator}:${written}'. Allowed values are ${allowed}. ${at(span.start)}`,
    `unknown value \`${shorten(written)}\` for \`${operator}:\``,
    { note: `allowed: ${allowed}`, suggestion: suggestWord(meant, span) },
  );
}

export function badLanguage(written: string, span: Span): Problem {
  const code = written.toLowerCase();
  const base = code.split(/[-_]/)[0] as string;
  const meant = languageSynonyms.get(code) ?? (languageCodes.has(base) ? base : undefined);
  return error(
    'R014',
    span,
    `Reference to invalid operator 'lang:${written}'. Language code is not supported. ${at(span.start)}`,
    `the service has no language \`${shorten(written)}\``,
    {
      note: 'languages are two-letter codes such as `en`, or `und` if none was recognised',
      suggestion: suggestWord(meant, span),
    },
  );
}

export function badCountry(written: string, span: Span): Problem {
  return error(
    'R014',
    span,
    `Invalid country code '${written}'. Must be an ISO 3166-1 alpha-2 code ${at(span.start)}`,
    `there is no country with the code \`${shorten(written)}\``,
    {
      note: 'countries are two-letter codes such as `US` (ISO 3166-1 alpha-2)',
      suggestion: suggestWord(countrySynonyms.get(written.toUpperCase()), span),
    },
  );
}

export function badId(written: string, span: Span): Problem {
  const digits = /\/status(?:es)?\/(\d+)/.exec(written)?.[1];
  return badInput(span, written, 'the id of a post consists of digits', suggestWord(digits, span));
}

export function badCount(written: string, span: Span): Problem {
  const range = /^(\d+)\D+(\d+)$/.exec(written);
  const fixed =
    range !== null && Number(range[1]) <= Number(range[2]) ? `${range[1]}..${range[2]}` : undefined;
  return error(
    'R020',
    span,
    `no viable alternative at input '${written}' ${at(span.start)}`,
    'a count is a whole number, or a range such as `10..100`',
    { suggestion: /^\d+\.\d+$/.test(written) ? undefined : suggestWord(fixed, span) },
  );
}

export function emptyRange(written: string, span: Span): Problem {
  const swapped = written.split('..').reverse().join('..');
  return error(
    'R020',
    span,
    `Invalid range '${written}'. The lower bound must not exceed the upper bound ${at(span.start)}`,
    'the range is empty: its lower bound is above its upper bound',
    { suggestion: suggestWord(swapped, span) },
  );
}

export function badPercent(written: string, span: Span): Problem {
  return error(
    'R018',
    span,
    `The sample operator requires an integer between 1 and 100 ${at(span.start)}`,
    `\`sample:\` takes a whole percentage from 1 to 100, not \`${shorten(written)}\``,
  );
}

/** A value that starts with `$`, `#`, `@`, `-` or a bracket. */
export function misplacedSymbol(
  text: string,
  span: Span,
  name: OperatorName,
  kind: ValueKind,
): Problem {
  const input = text.slice(span.start, span.end);
  const bare = input.slice(1);
  let fix: Suggestion | undefined;
  if (kind === 'text') fix = quoting(text, span);
  else if (kind === 'user' && input.startsWith('@') && isWord(bare))
    fix = suggest(`use \`${shorten(`${name}:${bare}`)}\``, [{ ...span, text: bare }], true);
  return kind === 'count'
    ? badCount(input, span)
    : badInput(span, input, `\`${input[0]}\` cannot start a value of \`${name}:\``, fix);
}
