import { checkOptions, checkValue, type OptionTable, oneOf, special } from '../../base/check.js';
import { isAvailable, mayStandAlone } from '../operators/operators.js';
import { RULE_PRODUCTS, type RuleProduct } from '../post/dialect.js';
import type { RuleNode, Span } from '../tree.js';
import { applySuggestions, spansOverlap } from './apply-suggestions.js';
import { lintRule } from './lint-rule.js';
import { type ParsedRule, parseDraft, RULE_TEXT } from './parse-rule.js';
import type { Problem, Suggestion } from './problem.js';
import { type Draft, type Leaf, MAX_PROBLEMS } from './reader.js';
import { at, error, errorSaying, shorten, suggest, unavailable } from './syntax-problems.js';

/** Options of `rules.check`: the product that the rule is for, and the rule's tag. */
export interface CheckOptions {
  /** The product that the rule is for. @default 'historical' */
  readonly product?: RuleProduct | undefined;
  /** The tag of the rule. It is checked together with the rule. */
  readonly tag?: string | null | undefined;
}

export const CHECK_OPTIONS = {
  product: oneOf('the product that the rule is for', RULE_PRODUCTS, 'historical'),
  tag: special<string | null>(
    'the tag of the rule',
    'a string or null',
    value => value === null || typeof value === 'string',
  ),
} satisfies OptionTable<CheckOptions>;

/**
 * Checks whether a product accepts a rule. Each problem has the service's message and an explanation in plain
 * words. A warning means that the service accepts the rule, but the rule may not mean what it seems to mean.
 * Never throws for an invalid rule. The problems have suggestions only if applying all of them, in several
 * rounds if necessary, makes the rule valid, and no round adds errors. Otherwise, the `note` of a problem
 * contains the label of its suggestion instead.
 *
 * @throws OptionError For a rule that is not a string, and for invalid options.
 *
 * @example
 * const { problems } = rules.check('cat has:vidoes', { product: 'replay' });
 * problems[0]?.suggestion?.label // 'did you mean `videos`?'
 */
export function checkRule(text: string, options: CheckOptions = {}): ParsedRule {
  checkValue('rules.check', 'rule', RULE_TEXT, text);
  const { product, tag } = checkOptions('rules.check', CHECK_OPTIONS, options);
  const { tree, problems } = check(text, product, tag);
  return leadsToRule(text, problems, product)
    ? { tree, problems }
    : { tree, problems: problems.map(withoutSuggestion) };
}

/**
 * Applies the suggestions, then the suggestions for the corrected rule, and so on. Returns whether the final
 * rule has no errors. Also returns false if a correction adds errors, and true if there are no suggestions.
 */
function leadsToRule(text: string, problems: readonly Problem[], product: RuleProduct): boolean {
  if (problems.every(({ suggestion }) => suggestion === undefined)) return true;
  // No suggestion can shorten a rule that is too long (R001).
  if (problems[0]?.code === 'R001') return false;
  let rule = text;
  let rest = problems;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const corrected = applySuggestions(rule, rest);
    if (corrected === rule) break;
    rule = corrected;
    const left = check(rule, product, undefined).problems;
    if (ruleErrorsIn(left) > ruleErrorsIn(rest)) return false;
    rest = left;
  }
  return ruleErrorsIn(rest) === 0;
}

/**
 * Returns the number of errors in the rule. Errors in the tag are not counted, because suggestions never
 * change the tag.
 */
function ruleErrorsIn(problems: readonly Problem[]): number {
  return problems.filter(({ severity, code }) => severity === 'error' && code !== 'R023').length;
}

const MAX_ROUNDS = 8;

function withoutSuggestion(problem: Problem): Problem {
  const { suggestion, note } = problem;
  if (suggestion === undefined) return problem;
  const alone = `${suggestion.label}; more of the rule must change`;
  return {
    ...problem,
    suggestion: undefined,
    note: note === undefined ? alone : `${alone}; ${note}`,
  };
}

function check(text: string, product: RuleProduct, tag: string | null | undefined): ParsedRule {
  const { draft, problems } = parseDraft(text);
  if (draft !== undefined) {
    const rule = { text, draft, product, problems };
    requireAnchor(rule, checkNode(rule, draft, { negated: false, inOr: false, top: true }));
    if (problems[0]?.code !== 'R001')
      problems.push(...worthWarning(problems, lintRule(text, draft, product)));
  }
  if (tag != null && tag.length > MAX_TAG) problems.push(tagTooLong(text, tag.length));
  const accepted = problems.every(problem => problem.severity === 'warning');
  // A rule without errors was read completely, so the draft is a complete tree.
  return { tree: accepted ? (draft as RuleNode) : undefined, problems: firstProblems(problems) };
}

/**
 * Sorts by position and returns at most `MAX_PROBLEMS` problems. If there are more, drops all warnings,
 * unless there are only warnings.
 */
function firstProblems(problems: readonly Problem[]): readonly Problem[] {
  const inOrder = problems.toSorted((a, b) => a.start - b.start);
  if (inOrder.length <= MAX_PROBLEMS) return inOrder;
  const errors = inOrder.filter(({ severity }) => severity === 'error');
  return (errors.length > 0 ? errors : inOrder).slice(0, MAX_PROBLEMS);
}

/** Removes warnings about text that the suggested fix of an error changes anyway. */
function worthWarning(errors: readonly Problem[], warnings: readonly Problem[]): Problem[] {
  const edits = errors.flatMap(({ suggestion }) => suggestion?.edits ?? []);
  return warnings.filter(warning => !edits.some(edit => spansOverlap(edit, warning)));
}

/** The maximum length of a tag in characters. */
const MAX_TAG = 255;

function tagTooLong(text: string, length: number): Problem {
  return errorSaying(
    'R023',
    { start: text.length, end: text.length },
    `Tag is too long - ${length} characters.  The maximum allowed is ${MAX_TAG} ${at(0)}`,
    `the tag has ${length} characters; the maximum is ${MAX_TAG}`,
  );
}

interface Context {
  readonly negated: boolean;
  readonly inOr: boolean;
  /** Whether the node is the whole rule or a direct part of its outermost `and`. */
  readonly top: boolean;
}

/** What `requireAnchor` needs to know about a node. `checkNode` computes it in one pass over the tree. */
interface Summary {
  readonly node: Draft;
  /** Whether the node consists only of negations. */
  readonly negative: boolean;
  /** Whether each alternative of the node has a positive clause, which is a clause that is not negated. */
  readonly positive: boolean;
  /** Whether each alternative of the node has a positive clause that may be used alone. */
  readonly anchored: boolean;
  /**
   * Whether each alternative of the node has a positive clause that may be used alone according to every page
   * of the service's documentation.
   */
  readonly undisputed: boolean;
  /**
   * The operator that a problem of the node names: the first one that is not negated, but preferably `is`,
   * `has` or `lang`. Absent if there is none.
   */
  readonly operator?: Leaf | undefined;
  readonly stopWord?: Leaf | undefined;
  readonly inner?: readonly Summary[];
}

interface CheckedRule {
  readonly text: string;
  readonly draft: Draft;
  readonly product: RuleProduct;
  readonly problems: Problem[];
}

function checkNode(rule: CheckedRule, node: Draft, context: Context): Summary {
  switch (node.kind) {
    case 'and':
    case 'or': {
      const isAnd = node.kind === 'and';
      const inOr = context.inOr || !isAnd;
      const top = context.top && isAnd;
      const inner = node.nodes.map(child => {
        const nested = child.kind === 'and' || child.kind === 'or';
        return checkNode(rule, child, { negated: context.negated, inOr, top: top && !nested });
      });
      const negative = inner.every(child => child.negative);
      if (!negative && isAnd)
        for (const child of inner)
          if (child.node.kind !== 'not' && child.negative) refuseNegations(rule, child.node);
      const holds = (test: (child: Summary) => boolean) =>
        isAnd ? inner.some(test) : inner.every(test);
      const found = inner.flatMap(({ operator }) => operator ?? []);
      return {
        node,
        negative,
        positive: holds(child => child.positive),
        anchored: holds(child => child.anchored),
        undisputed: holds(child => child.undisputed),
        operator: found.find(leaf => NAMED.has(operatorOf(leaf) as string)) ?? found[0],
        stopWord: inner.find(child => child.stopWord !== undefined)?.stopWord,
        inner,
      };
    }
    case 'not': {
      if (checkNode(rule, node.node, { ...context, negated: !context.negated }).negative)
        refuseNegations(rule, node.node);
      return { node, negative: true, positive: false, anchored: false, undisputed: false };
    }
    default: {
      checkLeaf(rule, node, context);
      const anchored = isAnchor(node, rule.product);
      const undisputed = anchored && !isDisputed(node);
      const isOperator = operatorOf(node) !== undefined;
      const operator = isOperator ? node : undefined;
      const stopWord = isOperator || anchored ? undefined : node;
      return { node, negative: false, positive: true, anchored, undisputed, operator, stopWord };
    }
  }
}

/**
 * Requires that every branch of a rule has a positive clause that may be used alone and is not a stop word.
 * Without such a clause, the branch could match nearly every post.
 */
function requireAnchor(rule: CheckedRule, summary: Summary): void {
  const { node, inner = [], anchored, undisputed, positive, operator, stopWord } = summary;
  if (node.kind === 'or') for (const branch of inner) requireAnchor(rule, branch);
  else if (undisputed) return;
  else if (anchored) rule.problems.push(disputed(operator ?? node, rule.text));
  else if (!positive) refuseNegations(rule, node);
  else if (operator === undefined) rule.problems.push(noPositive(node));
  else {
    const name = operatorOf(operator) as string;
    const word = stopWord && rule.text.slice(stopWord.start, stopWord.end);
    rule.problems.push(notAlone(operator, name, rule.product, word));
  }
}

function checkLeaf(rule: CheckedRule, leaf: Leaf, { negated, inOr, top }: Context): void {
  if (leaf.kind !== 'operator') return;
  const { name, value, start } = leaf;
  const { text, draft, product, problems } = rule;
  if (!isAvailable(name, product)) {
    problems.push(notOffered(leaf, text.slice(start, text.indexOf(':', start)), product));
    return;
  }
  if (name === 'is' && value === 'nullcast' && !(negated && (top || product !== 'search')))
    problems.push(misplacedNullcast(leaf, negated, product));
  if (name !== 'sample') return;
  if (inOr) problems.push(sampledOr(text, leaf, draft));
  if (negated)
    problems.push(
      error('R018', leaf, 'The sample operator cannot be negated', 'a sample cannot be negated'),
    );
}

function isAnchor(leaf: Leaf, product: RuleProduct): boolean {
  switch (leaf.kind) {
    case 'keyword':
      return !stopWords.has(leaf.text.toLowerCase());
    case 'operator':
      return mayStandAlone(leaf.name, product);
    case 'unread':
      // A clause that could not be read counts as allowed alone. The exceptions are `is:` and `has:` in
      // search, which never allows them alone.
      return product !== 'search' || operatorOf(leaf) === undefined;
    default:
      return true;
  }
}

/**
 * Returns whether a clause is disputed. One page of the service's documentation forbids such a clause as the
 * only clause in every product. Other pages forbid this only in search.
 */
function isDisputed(leaf: Leaf): boolean {
  if (leaf.kind !== 'operator') return false;
  return leaf.name === 'has' || (leaf.name === 'is' && leaf.value !== 'reply');
}

function refuseNegations({ problems }: CheckedRule, node: Draft): void {
  problems.push(onlyNegated(node), noPositive(node));
}

/**
 * The operators that the service's message names together, as `is/has/lang`, if one of them is used alone.
 */
const NAMED: ReadonlySet<string> = new Set(['is', 'has', 'lang']);

function operatorOf(leaf: Leaf): string | undefined {
  if (leaf.kind === 'operator') return leaf.name;
  return leaf.kind === 'unread' && (leaf.name === 'is' || leaf.name === 'has')
    ? leaf.name
    : undefined;
}

/** Words that are too common to be the only condition of a rule. */
const stopWords: ReadonlySet<string> = new Set(
  (
    'a an and at but by com from http https if in is it its me my not or rt the this to too via we ' +
    'www you'
  ).split(' '),
);

function onlyNegated(node: Span): Problem {
  return error(
    'R010',
    node,
    'Rules must contain a non-negation term',
    'the rule says only what not to match',
    { note: 'each alternative and each group needs a clause without `-`' },
  );
}

function noPositive(node: Span): Problem {
  return error(
    'R011',
    node,
    'Rules must contain at least one positive, non-stopword clause',
    'the rule needs a positive clause that is not a stop word',
    {
      note: 'stop words are common words such as `the` and `in`; in quotes they may be used alone',
    },
  );
}

/**
 * Returns the problem of a rule that has only operators that must not be used alone.
 *
 * @param stopWord A stop word in the rule, if there is one. The note says that it does not count.
 */
function notAlone(
  clause: Span,
  name: string,
  product: RuleProduct,
  stopWord: string | undefined,
): Problem {
  const named = NAMED.has(name) ? 'is/has/lang' : name;
  const why = stopWord && `; \`${stopWord}\` is a stop word, which does not count`;
  return error(
    'R012',
    clause,
    `${named} cannot be used as a standalone operator`,
    `\`${name}:\` may not be used alone`,
    { note: `${IN_PRODUCT[product]} it needs a keyword or another operator${why ?? ''}` },
  );
}

function disputed({ start, end }: Span, text: string): Problem {
  const explanation = `the pages of the service differ on whether \`${shorten(text.slice(start, end))}\` may be used alone`;
  const note = 'with a keyword or another operator the rule is accepted in any case';
  return { code: 'R110', severity: 'warning', start, end, message: explanation, explanation, note };
}

function notOffered({ start }: Span, written: string, product: RuleProduct): Problem {
  return error(
    'R015',
    { start, end: start + written.length },
    unavailable(written),
    `\`${written}:\` does not exist ${IN_PRODUCT[product]}`,
  );
}

function sampledOr(text: string, sample: Span, rule: Draft): Problem {
  return error(
    'R017',
    sample,
    'The sample operator cannot be used with an OR. To use the sample operator with an OR in the ' +
      'rule, the ORed clauses must be grouped together with parenthesis.  For example, to get 10% of ' +
      'activites that have term1 or term2, the rule should be (excluding the single quotes) ' +
      "'(term1 OR term2) sample:10'",
    '`sample:` applies to a whole rule, not to one of its alternatives',
    {
      note: 'put the alternatives in parentheses: `(a OR b) sample:10`',
      suggestion: groupAlternatives(text, sample, rule),
    },
  );
}

/**
 * Suggests parentheses for a rule such as `cat OR dog sample:10`. The `sample:` was probably meant for the
 * whole rule.
 */
function groupAlternatives(text: string, sample: Span, rule: Draft): Suggestion | undefined {
  if (rule.kind !== 'or' || rule.end !== sample.end || rule.nodes.at(-1)?.kind !== 'and')
    return undefined;
  const end = rule.start + text.slice(rule.start, sample.start).trimEnd().length;
  const edits = [
    { start: rule.start, end: rule.start, text: '(' },
    { start: end, end: sample.start, text: ') ' },
  ];
  return { label: 'group the alternatives', edits, certain: true };
}

function misplacedNullcast(clause: Span, negated: boolean, product: RuleProduct): Problem {
  const { start } = clause;
  const inSearch = product === 'search';
  return error(
    'R022',
    clause,
    `The is:nullcast operator can only be used negated${inSearch ? ' and at the top level of a rule' : ''}`,
    `\`is:nullcast\` may only be negated${inSearch ? ', at the top level of a rule' : ''}`,
    { suggestion: negated ? undefined : suggest('use `-is:nullcast`', { start, end: start }, '-') },
  );
}

const IN_PRODUCT: { readonly [Product in RuleProduct]: string } = {
  search: 'in search',
  historical: 'in historical jobs',
  replay: 'in replay streams',
};
