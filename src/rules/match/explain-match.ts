import { checkOptions, checkValue, made, required, special } from '../../base/check.js';
import { OptionError } from '../../base/errors.js';
import { Activity } from '../../post/activity.js';
import { checkRule } from '../language/check-rule.js';
import { RULE_TEXT } from '../language/parse-rule.js';
import { serviceMessage } from '../language/problem.js';
import { type RulePost, rulePost } from '../post/rule-post.js';
import type { RuleNode } from '../tree.js';
import { COMPILE_OPTIONS, type CompileRuleOptions, compileTree } from './compile-rule.js';

/** The result of matching a rule or a part of a rule with a post. */
export interface Explanation {
  /** The text of this part of the rule. */
  readonly text: string;
  readonly matched: boolean;
  /**
   * Whether this part decided the result of the whole rule, such as the part of an `and` that did not match.
   */
  readonly decided: boolean;
  /** The subparts of this part, in the order of the text; empty for a single clause. */
  readonly parts: readonly Explanation[];
}

const ACTIVITY = required(
  special<Activity>(
    'the post to explain the rule with',
    'an Activity, as `activities()` makes them',
    value => value instanceof Activity,
  ),
);
const EXPLANATION = required(
  made<Explanation>('the explanation to show', 'what `rules.explain` gave', ['text', 'parts']),
);

/**
 * Explains why a rule matches or does not match a post. The explanation shows which clauses decided the
 * result.
 *
 * @throws OptionError If the product refuses the rule, or if the arguments are not a rule and an activity.
 * @example
 * console.log(rules.renderExplanation(rules.explain('snow (has:images OR from:karl)', activity)));
 * // no   snow (has:images OR from:karl)
 * //   yes  snow
 * // > no   has:images OR from:karl
 * // >   no   has:images
 * // >   no   from:karl
 */
export function explainMatch(
  rule: string,
  activity: Activity,
  options: CompileRuleOptions = {},
): Explanation {
  checkValue('rules.explain', 'rule', RULE_TEXT, rule);
  checkValue('rules.explain', 'activity', ACTIVITY, activity);
  const { product } = checkOptions('rules.explain', COMPILE_OPTIONS, options);
  const { tree, problems } = checkRule(rule, { product });
  if (tree === undefined)
    throw new OptionError(
      'rule',
      `Not a rule for ${product}: ${JSON.stringify(rule)}: ${serviceMessage(problems).trim()}`,
    );
  const post = rulePost(activity, product);
  return explainNode(tree, rule, post, matches(tree, post));
}

/**
 * Formats an explanation as lines of text, with `>` before the parts that decided the result.
 *
 * @throws OptionError For an argument that is not an explanation.
 * @example
 * console.log(rules.renderExplanation(rules.explain('snow lang:en', activity)));
 */
export function renderExplanation(explanation: Explanation): string {
  checkValue('rules.renderExplanation', 'explanation', EXPLANATION, explanation);
  return linesOf(explanation, '').join('\n');
}

function linesOf({ text, matched, decided, parts }: Explanation, indent: string): string[] {
  const mark = indent === '' ? '' : decided ? '> ' : '  ';
  const line = `${mark}${indent.slice(2)}${matched ? 'yes' : 'no '}  ${text.replace(/\s+/g, ' ')}`;
  return [line, ...parts.flatMap(part => linesOf(part, `${indent}  `))];
}

function explainNode(
  node: RuleNode,
  rule: string,
  post: RulePost,
  matched: boolean,
  decided = true,
): Explanation {
  const text = rule.slice(node.start, node.end);
  const children = childrenOf(node).map(child => ({ child, matched: matches(child, post) }));
  // A single part can decide a group: a part that fails decides an `and`, and a part that matches decides an
  // `or`. If there is no such part, all parts together decide.
  const decisive = node.kind === 'and' ? false : node.kind === 'or' ? true : undefined;
  const single = children.some(part => part.matched === decisive);
  const parts = children.map(part =>
    explainNode(
      part.child,
      rule,
      post,
      part.matched,
      decided && (!single || part.matched === decisive),
    ),
  );
  return { text, matched, decided, parts };
}

function childrenOf(node: RuleNode): readonly RuleNode[] {
  if (node.kind === 'and' || node.kind === 'or') return node.nodes;
  return node.kind === 'not' ? [node.node] : [];
}

function matches(node: RuleNode, post: RulePost): boolean {
  return compileTree(node, post.dialect)(post);
}
