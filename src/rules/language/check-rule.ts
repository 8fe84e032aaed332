import {
  checkOptions,
  checkValue,
  type OptionTable,
  oneOf,
  required,
  special,
} from '../../check.js';
import { isAvailable, mayStandAlone } from '../operators/operators.js';
import { RULE_PRODUCTS, type RuleProduct } from '../post/dialect.js';
import type { RuleNode } from '../tree.js';
import { applySuggestions } from './apply-suggestions.js';
import { stopWords } from './codes.js';
import { lintRule } from './lint-rule.js';
import { type ParsedRule, parseDraft } from './parse-rule.js';
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

const OPTIONS = {
  product: oneOf('whose rule it is', RULE_PRODUCTS, 'historical'),
  tag: special<string | null>(
    'the tag of the rule',
    'a string or null',
    value => value === null || typeof value === 'string',
  ),
} satisfies OptionTable<CheckOptions>;

const TEXT = required(
  special<string>('the text of the rule', 'a string', value => typeof value === 'string'),
);

/**
 * Says whether a product accepts a rule, and if not, all the reasons, as the service words them and
 * as people understand them. Warnings are rules that the service accepts, but that may not mean what
 * they seem to. Whatever the rule, it does not throw. Suggestions come only where all of them,
 * applied until none is left, give a rule that is accepted; else what they say is in the `note`.
 *
 * @throws OptionError for a rule that is not a string, and for options that cannot work.
 *
 * @example
 * const { problems } = rules.check('cat has:vidoes', { product: 'replay' });
 * problems[0].suggestion.label // 'did you mean `videos`?'
 */
export function checkRule(text: string, options: CheckOptions = {}): ParsedRule {
  checkValue('rules.check', 'rule', TEXT, text);
  const { product, tag } = checkOptions('rules.check', OPTIONS, options);
  const { tree, problems } = check(text, product, tag);
  return leadsToRule(text, problems, product)
    ? { tree, problems }
    : { tree, problems: problems.map(withoutSuggestion) };
}

/** Whether the suggestions, those of the rule that they give included, end in an accepted rule. */
function leadsToRule(text: string, problems: readonly Problem[], product: RuleProduct): boolean {
  if (problems.every(({ suggestion }) => suggestion === undefined)) return true;
  // No suggestion makes a rule shorter on purpose.
  if (problems[0]?.code === 'R001') return false;
  let rule = text;
  let rest = problems;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const mended = applySuggestions(rule, rest);
    if (mended === rule) break;
    rule = mended;
    rest = check(rule, product, undefined).problems;
  }
  return rest.every(({ severity, code }) => severity === 'warning' || code === 'R023');
}

/** Rounds of suggestions that a rule may take. */
const MAX_ROUNDS = 8;

function withoutSuggestion(problem: Problem): Problem {
  const { suggestion, note } = problem;
  if (suggestion === undefined) return problem;
  const alone = `${suggestion.label}; more of the rule has to change than that`;
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
  // Without an error nothing was left unread.
  return { tree: accepted ? (draft as RuleNode) : undefined, problems: theFirst(problems) };
}

/** In the order of the text; of too many, the errors. */
function theFirst(problems: readonly Problem[]): readonly Problem[] {
  const inOrder = problems.toSorted((a, b) => a.start - b.start);
  if (inOrder.length <= MAX_PROBLEMS) return inOrder;
  const errors = inOrder.filter(({ severity }) => severity === 'error');
  return (errors.length > 0 ? errors : inOrder).slice(0, MAX_PROBLEMS);
}

/** What the suggestion of an error mends anyway is not worth a warning. */
function worthWarning(errors: readonly Problem[], warnings: readonly Problem[]): Problem[] {
  const edits = errors.flatMap(({ suggestion }) => suggestion?.edits ?? []);
  return warnings.filter(
    ({ start, end }) => !edits.some(edit => edit.start < end && start < edit.end),
  );
}

/** Characters of a tag. */
const MAX_TAG = 255;

/** The context of a node in the rule. */
interface Context {
  readonly negated: boolean;
  readonly inOr: boolean;
  /** The rule itself, or joined to the rest of it by white space alone. */
  readonly top: boolean;
}

/** What the rules about positive clauses need to know of a node, from one pass over the tree. */
interface Summary {
  /** Whether it is nothing but negations. */
  readonly negative: boolean;
  /** Whether each of its alternatives has a clause that is not negated. */
  readonly positive: boolean;
  /** Whether each of its alternatives has a positive clause that may stand alone. */
  readonly anchored: boolean;
  /** Of its positive operators, the one to name where none may stand alone. */
  readonly operator: Leaf | undefined;
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
        };
      }
      case 'not': {
        if (this.visit(node.node, { ...context, negated: !context.negated }).negative)
          this.#refuseNegations(node.node);
        return { negative: true, positive: false, anchored: false, operator: undefined };
      }
      default:
        this.#visitLeaf(node, context);
        return {
          negative: false,
          positive: true,
          anchored: this.#isAnchor(node),
          operator: operatorOf(node) === undefined ? undefined : node,
        };
    }
  }

  /**
   * Every branch of a rule must hold a positive clause that may stand alone and is not a stop
   * word. Otherwise the rule would match nearly everything.
   */
  requireAnchor(node: Draft): void {
    if (node.kind === 'or') {
      for (const branch of node.nodes) this.requireAnchor(branch);
      return;
    }
    const { anchored, positive, operator } = this.#summaries.get(node) as Summary;
    if (anchored) return;
    if (!positive) this.#refuseNegations(node);
    else
      this.#problems.push(
        operator === undefined
          ? noPositive(node)
          : notAlone(operator, operatorOf(operator) as string, this.#product),
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
        // What it was meant to be is not known; only `is:` and `has:` never stand alone.
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
