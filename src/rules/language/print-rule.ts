import { checkValue, made, required } from '../../base/check.js';
import type { Clause, OperatorClause, RuleNode } from '../tree.js';
import { isWord } from './rule-characters.js';

export const TREE = required(
  made<RuleNode>('the tree of a rule', 'the `tree` that `rules.parse` or `rules.check` gave', [
    'kind',
  ]),
);

/**
 * Prints a tree as the text of a rule. Parentheses and quotes are printed only where they are needed, and
 * operators under their current names. Parsing the printed text gives the same tree, except for the
 * positions.
 *
 * @throws OptionError For an argument that is not a tree.
 * @example
 * const { tree } = rules.parse('((cat  OR dog)) user_bio:"vet"');
 * if (tree !== undefined) rules.print(tree) // '(cat OR dog) bio:vet'
 */
export function printRule(tree: RuleNode): string {
  checkValue('rules.print', 'tree', TREE, tree);
  return printNode(tree);
}

function printNode(tree: RuleNode): string {
  switch (tree.kind) {
    case 'and':
      return tree.nodes.map(node => (isJoined(node) ? grouped(node) : printNode(node))).join(' ');
    case 'or':
      return tree.nodes
        .map(node => (node.kind === 'or' ? grouped(node) : printNode(node)))
        .join(' OR ');
    case 'not':
      return `-${isJoined(tree.node) || tree.node.kind === 'not' ? grouped(tree.node) : printNode(tree.node)}`;
    default:
      return printClause(tree);
  }
}

function isJoined({ kind }: RuleNode): boolean {
  return kind === 'and' || kind === 'or';
}

function grouped(node: RuleNode): string {
  return `(${printNode(node)})`;
}

function printClause(clause: Clause): string {
  switch (clause.kind) {
    case 'keyword':
      // The words `OR` and `AND` need quotes, because without quotes they join clauses.
      return isWord(clause.text) && !JOINERS.has(clause.text) ? clause.text : quoted(clause.text);
    case 'phrase':
      return quoted(clause.text);
    case 'hashtag':
      return `#${clause.text}`;
    case 'mention':
      return `@${clause.text}`;
    case 'cashtag':
      return `$${clause.text}`;
    case 'proximity':
      return `${quoted(clause.text)}~${clause.distance}`;
    case 'operator':
      return `${clause.name}:${printValue(clause.value)}`;
  }
}

const JOINERS: ReadonlySet<string> = new Set(['OR', 'AND']);

function printValue(value: OperatorClause['value']): string {
  if (typeof value === 'string') return isWord(value) ? value : quoted(value);
  if (typeof value === 'number') return String(value);
  if ('min' in value)
    return value.max === undefined ? String(value.min) : `${value.min}..${value.max}`;
  if ('radius' in value) {
    const { longitude, latitude, radius, unit } = value;
    return `[${decimal(longitude)} ${decimal(latitude)} ${decimal(radius)}${unit}]`;
  }
  return `[${[value.west, value.south, value.east, value.north].map(decimal).join(' ')}]`;
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

/** Prints a number with all digits, without an exponent. */
function decimal(value: number): string {
  const text = Object.is(value, -0) ? '-0' : String(value);
  const parts = /^(-?)(\d)(?:\.(\d+))?e-(\d+)$/.exec(text);
  if (parts === null) return text;
  const [, sign, first, rest = '', exponent] = parts;
  return `${sign}0.${'0'.repeat(Number(exponent) - 1)}${first}${rest}`;
}
