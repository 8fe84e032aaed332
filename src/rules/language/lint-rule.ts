import { isAvailable, operatorNames, operators } from '../operators/operators.js';
import { languageKey } from '../operators/value-operators.js';
import type { RuleProduct } from '../post/dialect.js';
import type { OperatorClause, Span, TextClause } from '../tree.js';
import { languageCodes, languageMeant } from './iso-codes.js';
import type { Problem, ProblemCode, Suggestion } from './problem.js';
import type { Draft, Leaf } from './reader.js';
import { isRuleSpace, isWord } from './rule-characters.js';
import { LIST_END, quoting, shorten, suggest, suggestWord } from './syntax-problems.js';

type Warn = (code: ProblemCode, span: Span, explanation: string, suggestion?: Suggestion) => void;

interface LintedRule {
  readonly text: string;
  readonly product: RuleProduct;
  readonly warn: Warn;
}

/** Warns about clauses that the service accepts but that were probably not intended. */
export function lintRule(text: string, draft: Draft, product: RuleProduct): Problem[] {
  const warnings: Problem[] = [];
  const warn: Warn = (code, { start, end }, explanation, suggestion) => {
    const message = explanation;
    warnings.push({ code, severity: 'warning', start, end, message, explanation, suggestion });
  };
  lintNode({ text, product, warn }, draft);
  return warnings;
}

function lintNode(rule: LintedRule, node: Draft): void {
  const { text, warn } = rule;
  switch (node.kind) {
    case 'and':
      lintJoiners(text, node.nodes, warn);
      lintContradictions(text, node.nodes, warn);
      for (const inner of node.nodes) {
        if (inner.kind === 'or') lintNegatedBranches(inner.nodes, warn);
        if (inner.kind === 'not') lintNegatedGroup(text, inner, warn);
        lintNode(rule, inner);
      }
      return;
    case 'or':
      for (const inner of node.nodes) {
        if (inner.kind === 'and' && !inner.nodes.some(isSample)) lintPrecedence(text, inner, warn);
        lintNode(rule, inner);
      }
      return;
    case 'not':
      lintNode(rule, node.node);
      return;
    case 'keyword':
      if (!warnsOfWildcard(rule, node)) lintKeyword(rule, node);
      return;
    case 'phrase':
      lintPhrase(node, warn);
      return;
    case 'hashtag':
    case 'mention':
    case 'cashtag':
      if (!warnsOfWildcard(rule, node)) lintTag(node, warn);
      return;
    case 'operator':
      if (!warnsOfWildcard(rule, node)) lintHandle(text, node, warn);
      lintLanguage(text, node, warn);
  }
}

/**
 * Warns about `cat or dog`, `cat and dog` and `cat not dog`. The service treats the lower-case `or`, `and`
 * and `not` as keywords to match.
 */
function lintJoiners(text: string, nodes: readonly Draft[], warn: Warn): void {
  nodes.forEach((node, i) => {
    const next = nodes[i + 1];
    if (node.kind !== 'keyword' || next === undefined) return;
    const joiner = node.text.toUpperCase();
    const withGap = { start: node.start, end: gapEnd(text, node.end) };
    const warnOf = (meaning: string, suggestion: Suggestion) =>
      warn('R101', node, `\`${node.text}\` is matched as a word; ${meaning}`, suggestion);
    if (joiner === 'NOT' && next.kind !== 'not')
      warnOf('a clause is negated by `-`', suggest('use `-`', withGap, '-'));
    if (i === 0) return;
    if (joiner === 'OR') warnOf('alternatives are joined by `OR`', suggest('use `OR`', node, 'OR'));
    if (joiner === 'AND' && node.text !== 'AND')
      warnOf('clauses are joined by white space', suggest('remove it', withGap, ''));
  });
}

/** Warns about two different languages, or about a clause and its negation, in the same `and`. */
function lintContradictions(text: string, nodes: readonly Draft[], warn: Warn): void {
  const clauses = new Set<string>();
  let language: string | undefined;
  for (const node of nodes) {
    if (node.kind === 'not' || node.kind === 'and' || node.kind === 'or') continue;
    clauses.add(text.slice(node.start, node.end).toLowerCase());
    if (node.kind !== 'operator' || node.name !== 'lang') continue;
    if (language !== undefined && languageKey(language) !== languageKey(node.value))
      warn('R109', node, `no post is in \`${language}\` and \`${node.value}\` at once`);
    language ??= node.value;
  }
  for (const node of nodes) {
    if (node.kind !== 'not') continue;
    const { start, end } = node.node;
    if (clauses.has(text.slice(start, end).toLowerCase()))
      warn('R109', node, 'the rule asks for the same clause, so it matches nothing');
  }
}

function lintNegatedBranches(branches: readonly Draft[], warn: Warn): void {
  // A negated clause of version 1.0 (`unread`) is not reported, because its replacement may not be a
  // negation. For example, the replacement of `-has:lang` is `lang:und`.
  for (const branch of branches)
    if (branch.kind === 'not' && branch.node.kind !== 'unread')
      warn('R103', branch, 'nearly every post passes this alternative, and so the whole group');
}

/** Warns about negated groups, because the service recommends negating each clause separately. */
function lintNegatedGroup(text: string, not: Draft & { kind: 'not' }, warn: Warn): void {
  const group = not.node;
  if (group.kind !== 'or' && group.kind !== 'and') return;
  const simple = group.kind === 'or' && group.nodes.every(({ kind }) => !COMPOUND.has(kind));
  const each = group.nodes.map(({ start, end }) => `-${text.slice(start, end)}`).join(' ');
  const fix = simple ? suggest('negate each clause', not, each, true) : undefined;
  warn('R105', not, 'a negated group; the service advises to negate each clause', fix);
}

const COMPOUND: ReadonlySet<string> = new Set(['and', 'or', 'not']);

/**
 * Returns whether a node is `sample:`. A branch with `sample:` gets no warning about precedence, because
 * `sample:` within an `OR` is already an error.
 */
function isSample(node: Draft): boolean {
  return node.kind === 'operator' && node.name === 'sample';
}

/** Warns about `cat OR dog lang:en`, which means `cat OR (dog lang:en)`. */
function lintPrecedence(text: string, and: Span, warn: Warn): void {
  let before = and.start - 1;
  while (before >= 0 && isRuleSpace(text.charCodeAt(before))) before--;
  if (text[before] === '(' && text[gapEnd(text, and.end)] === ')') return;
  const edits = [
    { start: and.start, end: and.start, text: '(' },
    { start: and.end, end: and.end, text: ')' },
  ];
  const explanation =
    'white space binds tighter than `OR`; write parentheses to show which you mean';
  warn('R106', and, explanation, { label: 'make it a group', edits, certain: true });
}

function lintKeyword({ text, product, warn }: LintedRule, keyword: TextClause): void {
  const plain = keyword.text.replace(/[“”„«»]/g, '');
  // A `#` or `*` that is the base of a keycap emoji does not count as punctuation.
  const bare = plain.replace(/[#*]\ufe0f?\u20e3/g, '');
  if (plain !== keyword.text) {
    const fix = plain === '' ? undefined : suggest('remove them', keyword, plain);
    warn('R102', keyword, 'only `"` makes a phrase, typographic quotes do not', fix);
  } else if (PUNCTUATION.test(bare)) {
    const word = plain.replace(LIST_END, '');
    const fix = PUNCTUATION.test(word)
      ? quoting(text, keyword, QUOTING[product])
      : suggest('remove what ends it', keyword, word);
    warn('R104', keyword, `posts are split into words at punctuation; ${ADVICE[product]}`, fix);
  }
}

const PUNCTUATION = /[!-/;-@\\^`{|}~’‘…–—]/;
const IN_STREAMS = 'to match it too, quote it';
const ADVICE: { readonly [Product in RuleProduct]: string } = {
  search: 'search ignores it in phrases, too',
  historical: IN_STREAMS,
  replay: IN_STREAMS,
};
const QUOTING: { readonly [Product in RuleProduct]?: string } = {
  search: 'to match its words in order, quote them',
};

/**
 * Warns about a `*` at the end of a word, as in `algorithm*`, and returns whether it warned. A `*` inside
 * quotes gets no warning, because it is probably intended.
 */
function warnsOfWildcard({ text, product, warn }: LintedRule, clause: Leaf): boolean {
  const span = clause.kind === 'operator' ? valueSpan(text, clause) : clause;
  const written = text.slice(span.start, span.end);
  const stem = /^([^"]*[^"*])\*+[,;]*$/.exec(written)?.[1];
  if (stem === undefined) return false;
  const fix = suggestPart(clause, span, stem, product);
  warn('R112', span, '`*` is not a wildcard: the service has none', fix);
  return true;
}

/**
 * Suggests a replacement for a word that ends in `*`: an operator that matches parts of words, such as
 * `contains:`, or, if the product has no such operator for the clause, the word without its `*`. Returns
 * `undefined` if the word belongs to an operator whose value is not text.
 */
function suggestPart(
  clause: Leaf,
  span: Span,
  stem: string,
  product: RuleProduct,
): Suggestion | undefined {
  const name = clause.kind === 'operator' ? clause.name : undefined;
  if (name !== undefined && operators[name].value !== 'text') return undefined;
  const part = name === undefined ? 'contains' : name === 'url' ? 'url_contains' : undefined;
  if (part === undefined || !isAvailable(part, product)) return suggest('remove it', span, stem);
  const use = `${part}:${isWord(stem) ? stem : `"${stem}"`}`;
  const label = `to match parts of words, use \`${shorten(use)}\``;
  return suggest(label, { start: clause.start, end: span.end }, use);
}

function lintPhrase(phrase: TextClause, warn: Warn): void {
  const name = /^([a-z_]+):[^\s"]+$/.exec(phrase.text)?.[1] ?? '';
  if (!/^[#@$]\w+$/.test(phrase.text) && !operatorNames.has(name)) return;
  const fix = suggest('remove the quotes', phrase, phrase.text);
  warn('R108', phrase, 'in quotes this is plain text, not an operator', fix);
}

function lintTag(clause: TextClause, warn: Warn): void {
  const form = FORMS[clause.kind];
  if (form === undefined || form.test(clause.text)) return;
  const { start, end, kind } = clause;
  const whole = form.source.slice(0, -1);
  const length = (new RegExp(whole, form.flags).exec(clause.text)?.[0] ?? '').length;
  const rest = { start: start + 1 + length, end };
  const fix = length === 0 ? undefined : suggest('keep what can be one', rest, '');
  warn('R107', clause, `no post has such a ${kind}, so this never matches`, fix);
}

const FORMS: { readonly [kind: string]: RegExp } = {
  hashtag:
    /^[\p{L}\p{M}\p{N}_\u00b7\u05be\u05f3\u05f4\u0f0b\u0f0c\p{Join_Control}\u3003\u301c\u309b\u309c\u30a0\u30fb\uff5e]+$/u,
  mention: /^[A-Za-z0-9_]+$/,
  cashtag: /^[A-Za-z]{1,6}(?:[._][A-Za-z]{1,2})?$/,
};

function lintHandle(text: string, clause: OperatorClause, warn: Warn): void {
  const { name, value } = clause;
  if (operators[name].value !== 'user' || typeof value !== 'string') return;
  if (/^\w+$/.test(value)) return;
  warn('R107', valueSpan(text, clause), 'no handle looks like that, so this never matches');
}

/**
 * Warns about unknown language codes. They are not errors, because the service may know more languages than
 * `languageCodes`.
 */
function lintLanguage(text: string, clause: OperatorClause, warn: Warn): void {
  if (clause.name !== 'lang' || languageCodes.has(clause.value)) return;
  const span = valueSpan(text, clause);
  const explanation = `the service is not known to use the language code \`${clause.value}\``;
  warn('R111', span, explanation, suggestWord(languageMeant(clause.value), span));
}

function valueSpan(text: string, { start, end }: Span): Span {
  return { start: text.indexOf(':', start) + 1, end };
}

function gapEnd(text: string, from: number): number {
  let end = from;
  while (isRuleSpace(text.charCodeAt(end))) end++;
  return end;
}
