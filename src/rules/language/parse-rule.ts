import { checkValue, required, special } from '../../base/check.js';
import { COLON, MINUS } from '../../json/byte-codes.js';
import type { RuleNode } from '../tree.js';
import type { Problem } from './problem.js';
import { readClause } from './read-clause.js';
import { CLOSE, type Draft, MAX_PROBLEMS, OPEN, RuleReader } from './reader.js';
import { isRuleSpace, wordEnd } from './rule-characters.js';
import {
  badInput,
  cannotParse,
  MAX_CHARACTERS,
  MAX_DEPTH,
  quoting,
  strayParenthesis,
  suggest,
  tooDeep,
  tooLong,
  unclosedGroup,
} from './syntax-problems.js';

/** The result of parsing a rule: its tree, if it is valid, and its problems. */
export interface ParsedRule {
  /** The tree; `undefined` if any problem is an error. */
  readonly tree: RuleNode | undefined;
  /** All problems, not only the first, in the order of the text. */
  readonly problems: readonly Problem[];
}

export const RULE_TEXT = required(
  special<string>('the text of the rule', 'a string', value => typeof value === 'string'),
);

/**
 * Parses a rule. Never throws for an invalid rule. `problems` lists the problems that every product has with
 * the rule. `rules.check` also lists the problems that only one product has.
 *
 * @throws OptionError For a rule that is not a string.
 * @example rules.parse('(cat OR dog) -has:links').tree?.kind // 'and'
 */
export function parseRule(text: string): ParsedRule {
  checkValue('rules.parse', 'rule', RULE_TEXT, text);
  const { draft, problems } = parseDraft(text);
  // A rule without problems was read completely, so the draft is a complete tree.
  return { tree: problems.length === 0 ? (draft as RuleNode | undefined) : undefined, problems };
}

/**
 * Parses a rule as far as possible. `draft` is the tree of the parts that could be parsed, or `undefined` if
 * there are none.
 */
export function parseDraft(text: string): { draft: Draft | undefined; problems: Problem[] } {
  const reader = new RuleReader(text);
  if (text.length > MAX_CHARACTERS) {
    const characters = countCharacters(text);
    if (characters > MAX_CHARACTERS) reader.report(tooLong(text, characters));
  }
  const draft = readRule(reader);
  reader.problems.sort((a, b) => a.start - b.start);
  return { draft, problems: reader.problems };
}

/** A group or the whole rule. Contains what was read so far. */
interface Group {
  /** The offset of the group's `(`, and the offset of the `-` before it. -1 if there is no such character. */
  readonly open: number;
  readonly minus: number;
  readonly depth: number;
  readonly outer: Group | undefined;
  /** The branches before the last `OR`. */
  branches: Draft[];
  /** The clauses after the last `OR`. */
  nodes: Draft[];
  /**
   * Offsets in the rule: the start of the first branch, the start of `nodes`, and the end of the last node.
   */
  start: number;
  nodesStart: number;
  end: number;
}

/**
 * Reads the whole rule. Uses a loop with an explicit stack of groups. With recursion, deep nesting could
 * exhaust the call stack.
 */
function readRule(reader: RuleReader): Draft | undefined {
  const { text, problems } = reader;
  let group = openGroup(-1, -1, undefined);
  let minus = -1;
  while (true) {
    while (isRuleSpace(reader.unit)) reader.at++;
    if (problems.length >= MAX_PROBLEMS) return undefined;
    const start = reader.at;
    if (start >= text.length) break;
    const { unit } = reader;
    if (unit === OPEN) {
      if (group.depth === MAX_DEPTH) {
        reader.report(tooDeep({ start, end: start + 1 }));
        return undefined;
      }
      reader.at++;
      group = openGroup(start, minus, group);
      minus = -1;
    } else if (unit === CLOSE) {
      reader.at++;
      if (group.outer === undefined) reader.report(strayParenthesis(start));
      else group = closeGroup(reader, group, group.outer, start);
    } else if (isOr(text, start)) {
      reader.at = start + 2;
      readOr(reader, group, start);
    } else if (unit === MINUS) {
      reader.at++;
      if (isNegation(text, reader.at)) minus = start;
      else addNode(group, skipMinus(reader, start), start, reader.at);
    } else {
      const leaf = readClause(reader);
      addNode(group, negate(leaf, minus, reader.at), minus === -1 ? start : minus, reader.at);
      minus = -1;
    }
  }
  return finish(reader, group);
}

function openGroup(open: number, minus: number, outer: Group | undefined): Group {
  const depth = outer === undefined ? 0 : outer.depth + 1;
  return { open, minus, depth, outer, branches: [], nodes: [], start: 0, nodesStart: 0, end: 0 };
}

function addNode(group: Group, node: Draft, start: number, end: number): void {
  if (group.nodes.length === 0) {
    group.nodesStart = start;
    if (group.branches.length === 0) group.start = start;
  }
  group.nodes.push(node);
  group.end = end;
}

function negate(node: Draft, minus: number, end: number): Draft {
  return minus === -1 ? node : { kind: 'not', node, start: minus, end };
}

function branchOf({ nodes, nodesStart, end }: Group): Draft | undefined {
  return nodes.length <= 1 ? nodes[0] : { kind: 'and', nodes, start: nodesStart, end };
}

function readOr(reader: RuleReader, group: Group, start: number): void {
  const branch = branchOf(group);
  if (branch === undefined) {
    const span = { start, end: start + 2 };
    const fix = suggest('remove it', span, '');
    reader.report(cannotParse(span, 'OR', '`OR` needs a clause before it', fix));
    return;
  }
  group.branches.push(branch);
  group.nodes = [];
}

function nodeOf(reader: RuleReader, group: Group, end: number): Draft {
  const { branches } = group;
  const branch = branchOf(group);
  if (branch !== undefined) {
    if (branches.length === 0) return branch;
    branches.push(branch);
    return { kind: 'or', nodes: branches, start: group.start, end: group.end };
  }
  const { at } = reader;
  reader.at = end;
  if (branches.length > 0) reader.reportEnd('`OR` needs a clause after it');
  else if (reader.problems.length === 0 || group.open !== -1)
    reader.reportEnd(group.open === -1 ? 'the rule is empty' : 'the group is empty');
  const unread = reader.unread(end);
  reader.at = at;
  if (branches.length === 0) return unread;
  branches.push(unread);
  return { kind: 'or', nodes: branches, start: group.start, end };
}

function closeGroup(reader: RuleReader, group: Group, outer: Group, close: number): Group {
  const node = nodeOf(reader, group, close);
  // A group that is never closed ends where the text ends.
  const end = Math.min(close + 1, reader.text.length);
  const start = group.minus === -1 ? group.open : group.minus;
  addNode(outer, negate(node, group.minus, end), start, end);
  return outer;
}

function finish(reader: RuleReader, innermost: Group): Draft {
  const { text, problems } = reader;
  let group = innermost;
  // R008 is an unclosed phrase. It contains all later parentheses, so missing parentheses are not reported.
  if (group.outer !== undefined && problems.at(-1)?.code !== 'R008')
    reader.report(unclosedGroup(text, group.open, group.depth));
  while (group.outer !== undefined) group = closeGroup(reader, group, group.outer, text.length);
  return nodeOf(reader, group, text.length);
}

function isOr(text: string, at: number): boolean {
  return (
    text.charCodeAt(at) === 0x4f &&
    text.charCodeAt(at + 1) === 0x52 &&
    wordEnd(text, at + 2) === at + 2 &&
    text.charCodeAt(at + 2) !== COLON
  );
}

/**
 * Returns whether a `-` before this position is a negation. It is one if a clause or group directly follows.
 */
function isNegation(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return !(
    Number.isNaN(unit) ||
    isRuleSpace(unit) ||
    unit === MINUS ||
    unit === CLOSE ||
    isOr(text, at)
  );
}

function skipMinus(reader: RuleReader, start: number): Draft {
  const { text } = reader;
  const span = { start, end: reader.at };
  const rest = { start, end: wordEnd(text.slice(0, start + MAX_CHARACTERS), reader.at) };
  const fix = rest.end > span.end ? quoting(text, rest) : suggest('remove it', span, '');
  reader.report(badInput(span, '-', '`-` must be right before the clause that it negates', fix));
  return reader.unread(start);
}

/** Counts code points. A surrogate pair is therefore one character. */
function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
