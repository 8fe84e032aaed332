import { checkOptions, type OptionTable, optionError, whole } from '../base/check.js';
import { compileRules, type Rule } from './index/compile-rules.js';
import { checkRule } from './language/check-rule.js';
import { printRule } from './language/print-rule.js';
import type { RuleNode } from './tree.js';

/** Options of `rules.pack`: the maximum size of a packed query. */
export interface PackOptions {
  /** The maximum number of characters of a query, by code points. @default 2048 */
  readonly characters?: number | undefined;
  /**
   * The maximum number of phrases, such as `"new snow"`, and proximities, such as `"new snow"~3`, in a query.
   * The service refuses a query that has too many, but does not document how many are too many. A single rule
   * with more than the maximum becomes a separate query.
   * @default 100
   */
  readonly phrases?: number | undefined;
  /**
   * The maximum number of clauses in a query, including negated clauses. Some contracts limit this number. A
   * single rule with more than the maximum becomes a separate query.
   * @default Infinity
   */
  readonly clauses?: number | undefined;
}

/** A query that matches exactly the posts that match any of its rules. */
export interface PackedQuery {
  readonly query: string;
  /** The rules that the query contains, in the order of the query. Several rules may have the same text. */
  readonly rules: readonly Rule[];
}

const MAX_CHARACTERS = 2048;

export const PACK_OPTIONS = {
  characters: whole('characters of a query', {
    min: 1,
    max: MAX_CHARACTERS,
    default: MAX_CHARACTERS,
  }),
  phrases: whole('phrases of a query', { min: 1, orInfinity: true, default: 100 }),
  clauses: whole('clauses of a query', {
    min: 1,
    orInfinity: true,
    default: Number.POSITIVE_INFINITY,
  }),
} satisfies OptionTable<PackOptions>;

/**
 * Joins rules with `OR` into few queries for the search product. Each query is within the limits. Together,
 * the queries match exactly the posts that the rules match. Each rule is in exactly one query, in parentheses
 * if it has several clauses. A rule that cannot be an alternative of an `OR`, for example because it has
 * `-is:nullcast`, becomes a separate query. The same rules and limits always give the same queries.
 *
 * @throws OptionError If the product refuses any of the rules, or if a rule is longer than a query may be.
 * @example
 * rules.pack([{ value: 'snow lang:en' }, { value: 'rain' }])[0]?.query // '(snow lang:en) OR rain'
 */
export function packRules(rules: readonly Rule[], options: PackOptions = {}): PackedQuery[] {
  const limits = checkOptions('rules.pack', PACK_OPTIONS, options);
  // Throws an error that lists all rules that the product refuses.
  compileRules(rules, { product: 'search' });
  const parts = partsOf(rules);
  for (const { value, size } of parts)
    if (size.characters > limits.characters)
      throw optionError(
        'rules.pack',
        'rules',
        `has one of ${size.characters} characters, and a query may have ${limits.characters}: ${value.slice(0, 60)}...`,
      );
  // This is first fit decreasing: the longest parts are placed first, each in the first query with enough
  // space.
  const queries: Query[] = [];
  for (const part of parts.toSorted((a, b) => b.groupedCharacters - a.groupedCharacters)) {
    const query = queries.find(({ isOpen, size }) => isOpen && fits(sum(size, part), limits));
    if (query === undefined || !part.isAlternative)
      queries.push({
        parts: [part],
        size: { ...part.size, characters: part.groupedCharacters },
        isOpen: part.isAlternative,
      });
    else {
      query.parts.push(part);
      query.size = sum(query.size, part);
    }
  }
  return queries.map(({ parts }) => ({
    query: parts.length === 1 ? parts[0]!.value : parts.map(part => part.grouped).join(OR),
    rules: parts.flatMap(part => part.rules),
  }));
}

function fits({ characters, phrases, clauses }: Size, limits: Size): boolean {
  return characters <= limits.characters && phrases <= limits.phrases && clauses <= limits.clauses;
}

const OR = ' OR ';

interface Size {
  readonly characters: number;
  readonly phrases: number;
  readonly clauses: number;
}

interface Query {
  readonly parts: Part[];
  size: Size;
  readonly isOpen: boolean;
}

interface Part {
  readonly value: string;
  readonly rules: Rule[];
  /** The text as one alternative of an `OR`: in parentheses if it has several clauses. */
  readonly grouped: string;
  readonly size: Size;
  /**
   * The number of characters of `grouped`. Stored, because it is compared with the free space of many
   * queries.
   */
  readonly groupedCharacters: number;
  /** Whether the service accepts the rule as an alternative of an `OR`. */
  readonly isAlternative: boolean;
}

function partsOf(rules: readonly Rule[]): Part[] {
  const parts = new Map<string, Part>();
  for (const rule of rules) {
    const value = rule.value.trim();
    const part = parts.get(value) ?? partOf(value);
    parts.set(value, part);
    part.rules.push(rule);
  }
  return [...parts.values()];
}

function partOf(value: string): Part {
  const tree = checkRule(value, { product: 'search' }).tree as RuleNode;
  const isSingle = tree.kind !== 'and' && tree.kind !== 'or' && printRule(tree) === value;
  const grouped = isSingle ? value : `(${value})`;
  return {
    value,
    grouped,
    rules: [],
    size: {
      characters: charactersIn(value),
      phrases: countClauses(tree, ({ kind }) => kind === 'phrase' || kind === 'proximity'),
      clauses: countClauses(tree, () => true),
    },
    groupedCharacters: charactersIn(grouped),
    isAlternative: checkRule(`${grouped}${OR}x`, { product: 'search' }).tree !== undefined,
  };
}

function charactersIn(text: string): number {
  return [...text].length;
}

function sum(size: Size, part: Part): Size {
  return {
    characters: size.characters + OR.length + part.groupedCharacters,
    phrases: size.phrases + part.size.phrases,
    clauses: size.clauses + part.size.clauses,
  };
}

function countClauses(tree: RuleNode, counts: (clause: RuleNode) => boolean): number {
  switch (tree.kind) {
    case 'not':
      return countClauses(tree.node, counts);
    case 'and':
    case 'or':
      return tree.nodes.reduce((all, node) => all + countClauses(node, counts), 0);
    default:
      return counts(tree) ? 1 : 0;
  }
}
