import type { RuleProduct } from '../post/dialect.js';
import type { OperatorClause, Span } from '../tree.js';
import type { Problem, Suggestion } from './problem.js';
import type { Draft } from './reader.js';
import { at, error, suggest } from './syntax-problems.js';
import { unavailable } from './value-problems.js';

export function onlyNegated({ start, end }: Span): Problem {
  return error(
    'R010',
    { start, end },
    `Rules must contain a non-negation term ${at(start)}`,
    'the rule says only what not to match',
    { note: 'each alternative and each group needs a clause without `-`' },
  );
}

export function noPositive({ start, end }: Span): Problem {
  return error(
    'R011',
    { start, end },
    `Rules must contain at least one positive, non-stopword clause ${at(start)}`,
    'the rule needs a positive clause that is not a stop word',
    {
      note: 'stop words are common words such as `the` and `in`; in quotes they may be used alone',
    },
  );
}

/** @param where The product, and the text of a stop word in the rule, which does not count. */
export function notAlone(
  { start, end }: Span,
  name: string,
  where: { readonly product: RuleProduct; readonly stopWord: string | undefined },
): Problem {
  const { product, stopWord } = where;
  const named = ['is', 'has', 'lang'].includes(name) ? 'is/has/lang' : name;
  return error(
    'R012',
    { start, end },
    `${named} cannot be used as a standalone operator ${at(start)}`,
    `\`${name}:\` may not be used alone`,
    {
      note: `${inProduct(product)} it needs a keyword or another operator${
        stopWord === undefined ? '' : `; \`${stopWord}\` is a stop word, which does not count`
      }`,
    },
  );
}

/**
 * The service reports the position of the value for `is:` and `has:`, and of the name for all others.
 */
export function notOffered(
  text: string,
  clause: OperatorClause,
  colon: number,
  product: RuleProduct,
): Problem {
  const valued = clause.name === 'is' || clause.name === 'has';
  const start = valued ? colon + 1 : clause.start;
  const written = text.slice(clause.start, valued ? clause.end : colon);
  const span = { start, end: valued ? clause.end : colon };
  return error(
    'R015',
    span,
    unavailable(written, span),
    `\`${valued ? written : `${written}:`}\` does not exist ${inProduct(product)}`,
  );
}

export function sampledOr(text: string, { start, end }: Span, rule: Draft): Problem {
  return error(
    'R017',
    { start, end },
    'The sample operator cannot be used with an OR. To use the sample operator with an OR in the ' +
      'rule, the ORed clauses must be grouped together with parenthesis.  For example, to get 10% of ' +
      'activites that have term1 or term2, the rule should be (excluding the single quotes) ' +
      `'(term1 OR term2) sample:10' ${at(start)}`,
    '`sample:` applies to a whole rule, not to one of its alternatives',
    {
      note: 'put the alternatives in parentheses: `(a OR b) sample:10`',
      suggestion: groupAlternatives(text, { start, end }, rule),
    },
  );
}

/** At the end of a rule that is one `OR`, the sample is probably meant for the whole rule. */
function groupAlternatives(text: string, sample: Span, rule: Draft): Suggestion | undefined {
  if (rule.kind !== 'or' || rule.end !== sample.end || rule.nodes.at(-1)?.kind !== 'and')
    return undefined;
  const end = rule.start + text.slice(rule.start, sample.start).trimEnd().length;
  const edits = [
    { start: rule.start, end: rule.start, text: '(' },
    { start: end, end: sample.start, text: ') ' },
  ];
  return suggest('group the alternatives', edits, true);
}

export function negatedSample({ start, end }: Span): Problem {
  return error(
    'R018',
    { start, end },
    `The sample operator cannot be negated ${at(start)}`,
    'a sample cannot be negated',
  );
}

export function misplacedNullcast({ start, end }: Span, negated: boolean): Problem {
  return error(
    'R022',
    { start, end },
    `The is:nullcast operator can only be used negated and at the top level of a rule ${at(start)}`,
    '`is:nullcast` may only be negated, at the top level of a rule',
    {
      suggestion: negated
        ? undefined
        : suggest('use `-is:nullcast`', [{ start, end: start, text: '-' }]),
    },
  );
}

export function tagTooLong(text: string, length: number, max: number): Problem {
  const span = { start: text.length, end: text.length };
  return error(
    'R023',
    span,
    `Tag is too long - ${length} characters.  The maximum allowed is ${max} ${at(0)}`,
    `the tag has ${length} characters; the maximum is ${max}`,
  );
}

function inProduct(product: RuleProduct): string {
  if (product === 'search') return 'in search';
  return product === 'historical' ? 'in historical jobs' : 'in replay streams';
}
