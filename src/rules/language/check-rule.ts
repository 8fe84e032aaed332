import { checkOptions, checkValue, type OptionTable, oneOf, special } from '../../check.js';
import { isAvailable, mayStandAlone } from '../operators/operators.js';
import { RULE_PRODUCTS, type RuleProduct } from '../post/dialect.js';
import type { RuleNode } from '../tree.js';
import { applySuggestions } from './apply-suggestions.js';
import { lintRule } from './lint-rule.js';
import { type ParsedRule, parseDraft, RULE_TEXT } from './parse-rule.js';
import type { Problem } from './problem.js';
import { type Draft, type Leaf, MAX_PROBLEMS } from './reader.js';
import {
  misplacedNullcast,
  negatedSample,
  noPositive,
  notAlone,
  notOffered,
  onlyNegated,
  sampledOr,
  tagTooLong,
} from './rule-problems.js';

/** The product for which `rules.check` checks a rule, and the tag to check with it. */
export interface CheckOptions {
  /** The product that the rule is for. @default 'historical' */
  readonly product?: RuleProduct | undefined;
  /** The tag of the rule, which is checked, too. */
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
 * Checks whether a product accepts a rule. Each problem has the message of the service and an
 * explanation for people. A warning is about a rule that the service accepts, but that may not mean
 * what it seems to. An invalid rule is never an exception. There are suggestions only if applying
 * them all, until none is left, gives a valid rule; otherwise their text is in the `note`.
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

/** Whether applying the suggestions, round after round, gives an accepted rule. */
function leadsToRule(text: string, problems: readonly Problem[], product: RuleProduct): boolean {
  if (problems.every(({ suggestion }) => suggestion === undefined)) return true;
  // No suggestion shortens a rule that is too long.
  if (problems[0]?.code === 'R001') return false;
  let rule = text;
  let rest = problems;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const corrected = applySuggestions(rule, rest);
    if (corrected === rule) break;
    rule = corrected;
    rest = check(rule, product, undefined).problems;
  }
  return rest.every(({ severity, code }) => severity === 'warning' || code === 'R023');
}

/** The maximum number of rounds of suggestions. */
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
    const checker = new Check(text, draft, product, problems);
    checker.visit(draft, { negated: false, inOr: false, top: true });
    checker.requireAnchor(draft);
    if (problems[0]?.code !== 'R001')
      problems.push(...worthWarning(problems, lintRule(text, draft)));
  }
  if (tag != null && tag.length > MAX_TAG) problems.push(tagTooLong(text, tag.length, MAX_TAG));
  const accepted = problems.every(problem => problem.severity === 'warning');
  // Without an error, the tree has no unread parts.
  return { tree: accepted ? (draft as RuleNode) : undefined, problems: firstProblems(problems) };
}

/** The problems in the order of the text; if there are too many, only errors. */
function firstProblems(problems: readonly Problem[]): readonly Problem[] {
  const inOrder = problems.toSorted((a, b) => a.start - b.start);
  if (inOrder.length <= MAX_PROBLEMS) return inOrder;
  const errors = inOrder.filter(({ severity }) => severity === 'error');
  return (errors.length > 0 ? errors : inOrder).slice(0, MAX_PROBLEMS);
}

/** Removes warnings about text that the suggestion of an error changes anyway. */
function worthWarning(errors: readonly Problem[], warnings: readonly Problem[]): Problem[] {
  const edits = errors.flatMap(({ suggestion }) => suggestion?.edits ?? []);
  return warnings.filter(
    ({ start, end }) => !edits.some(edit => edit.start < end && start < edit.end),
  );
}

/** The maximum number of characters of a tag. */
const MAX_TAG = 255;

/** The context of a node in the rule. */
interface Context {
  readonly negated: boolean;
  readonly inOr: boolean;
  /** Whether the node is the rule itself or a part of its topmost `and`. */
  readonly top: boolean;
}

/** The facts about a node that the checks of positive clauses need, from one pass over the tree. */
interface Summary {
  /** Whether it consists only of negations. */
  readonly negative: boolean;
  /** Whether each of its alternatives has a positive clause. */
  readonly positive: boolean;
  /** Whether each of its alternatives has a positive clause that may be used alone. */
  readonly anchored: boolean;
  /** The positive operator to name in the message if none may be used alone. */
  readonly operator: Leaf | undefined;
  /** A positive clause that does not count as it is a stop word. */
  readonly stopWord: Leaf | undefined;
}

class Check {
  readonly #text: string;
  readonly #rule: Draft;
  readonly #product: RuleProduct;
  readonly #problems: Problem[];
  readonly #summaries = new Map<Draft, Summary>();

  constructor(text: string, rule: Draft, product: RuleProduct, problems: Problem[]) {
    this.#text = text;
    this.#rule = rule;
    this.#product = product;
    this.#problems = problems;
  }

  /** Checks each clause and group. */
  visit(node: Draft, context: Context): Summary {
    const summary = this.#visit(node, context);
    this.#summaries.set(node, summary);
    return summary;
  }

  #visit(node: Draft, context: Context): Summary {
    switch (node.kind) {
      case 'and':
      case 'or': {
        const isAnd = node.kind === 'and';
        const inOr = context.inOr || !isAnd;
        const top = context.top && isAnd;
        const inner = node.nodes.map(child => {
          const nested = child.kind === 'and' || child.kind === 'or';
          return this.visit(child, { negated: context.negated, inOr, top: top && !nested });
        });
        const negative = inner.every(child => child.negative);
        node.nodes.forEach((child, i) => {
          if (!negative && isAnd && child.kind !== 'not' && inner[i]?.negative)
            this.#refuseNegations(child);
        });
        const holds = (test: (child: Summary) => boolean) =>
          isAnd ? inner.some(test) : inner.every(test);
        const found = inner.flatMap(({ operator }) => operator ?? []);
        return {
          negative,
          positive: holds(child => child.positive),
          anchored: holds(child => child.anchored),
          operator: found.find(leaf => NAMED.has(operatorOf(leaf) as string)) ?? found[0],
          stopWord: inner.find(child => child.stopWord !== undefined)?.stopWord,
        };
      }
      case 'not': {
        if (this.visit(node.node, { ...context, negated: !context.negated }).negative)
          this.#refuseNegations(node.node);
        return {
          negative: true,
          positive: false,
          anchored: false,
          operator: undefined,
          stopWord: undefined,
        };
      }
      default: {
        this.#visitLeaf(node, context);
        const anchored = this.#isAnchor(node);
        const isOperator = operatorOf(node) !== undefined;
        return {
          negative: false,
          positive: true,
          anchored,
          operator: isOperator ? node : undefined,
          stopWord: isOperator || anchored ? undefined : node,
        };
      }
    }
  }

  /**
   * Every branch of a rule must have a positive clause that may be used alone and is not a stop
   * word. Otherwise the rule would match nearly everything.
   */
  requireAnchor(node: Draft): void {
    if (node.kind === 'or') {
      for (const branch of node.nodes) this.requireAnchor(branch);
      return;
    }
    const { anchored, positive, operator, stopWord } = this.#summaries.get(node) as Summary;
    if (anchored) return;
    if (!positive) this.#refuseNegations(node);
    else
      this.#problems.push(
        operator === undefined
          ? noPositive(node)
          : notAlone(operator, operatorOf(operator) as string, {
              product: this.#product,
              stopWord: stopWord && this.#text.slice(stopWord.start, stopWord.end),
            }),
      );
  }

  #visitLeaf(leaf: Leaf, { negated, inOr, top }: Context): void {
    if (leaf.kind !== 'operator') return;
    const { name, value, start } = leaf;
    const colon = this.#text.indexOf(':', start);
    if (!isAvailable(name, value, this.#product)) {
      this.#problems.push(notOffered(this.#text, leaf, colon, this.#product));
      return;
    }
    if (name === 'is' && value === 'nullcast' && !(negated && top))
      this.#problems.push(misplacedNullcast(leaf, negated));
    if (name !== 'sample') return;
    if (inOr) this.#problems.push(sampledOr(this.#text, leaf, this.#rule));
    if (negated) this.#problems.push(negatedSample(leaf));
  }

  #isAnchor(leaf: Leaf): boolean {
    switch (leaf.kind) {
      case 'keyword':
        return !stopWords.has(leaf.text.toLowerCase());
      case 'operator':
        return mayStandAlone(leaf.name, this.#product);
      case 'unread':
        // The intended operator is unknown; only `is:` and `has:` may never be used alone.
        return operatorOf(leaf) === undefined;
      default:
        return true;
    }
  }

  #refuseNegations(node: Draft): void {
    this.#problems.push(onlyNegated(node), noPositive(node));
  }
}

/** The service's message names these three together. */
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
