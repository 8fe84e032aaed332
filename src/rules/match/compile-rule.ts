import { checkOptions, checkValue, type OptionTable, oneOf } from '../../base/check.js';
import type { Activity } from '../../post/activity.js';
import type { Person } from '../../post/post-fields.js';
import { fieldsOf } from '../../post/read-fields.js';
import { TREE } from '../language/print-rule.js';
import type { PostTest, RuleOperator } from '../operators/operator.js';
import { ruleOperators } from '../operators/operators.js';
import { type Dialect, dialectOf, RULE_PRODUCTS, type RuleProduct } from '../post/dialect.js';
import { clausePhrase, holdsPhrase, holdsProximity, wordsOf } from '../post/phrase.js';
import { RulePost } from '../post/rule-post.js';
import { fold } from '../post/tokeniser.js';
import type { Clause, RuleNode } from '../tree.js';

/** Options of `rules.compile` and `rules.explain`: the product whose matching to follow. */
export interface CompileRuleOptions {
  /**
   * The product whose matching to follow. Search treats punctuation in phrases as white space, ignores
   * accents and does not match the text of quoted posts. Historical jobs and replay compare punctuation in
   * phrases, distinguish accents and match the text of quoted posts.
   * @default 'historical'
   */
  readonly product?: RuleProduct | undefined;
}

export const COMPILE_OPTIONS = {
  product: oneOf('the product whose matching to follow', RULE_PRODUCTS, 'historical'),
} satisfies OptionTable<CompileRuleOptions>;

/**
 * Compiles a rule to a function that tests whether the rule matches an activity of either format. This
 * function defines the meaning of the rule language. For many rules at once, `rules.compileAll` gives the
 * same results.
 *
 * @example
 * const { tree } = rules.parse('snow (has:images OR from:karl)');
 * if (tree !== undefined) posts.filter(rules.compile(tree, { product: 'search' }));
 */
export function compileRule(
  tree: RuleNode,
  options: CompileRuleOptions = {},
): (activity: Activity) => boolean {
  checkValue('rules.compile', 'tree', TREE, tree);
  const { product } = checkOptions('rules.compile', COMPILE_OPTIONS, options);
  const dialect = dialectOf(product);
  const matches = compileTree(tree, dialect);
  return activity => matches(readPost(activity, dialect));
}

let last: { readonly activity: Activity; readonly post: RulePost } | undefined;

/**
 * Returns a post in the form that rules read. Caches the last post, because several rules are often tested on
 * the same post.
 */
function readPost(activity: Activity, dialect: Dialect): RulePost {
  if (last?.activity !== activity || last.post.dialect !== dialect)
    last = { activity, post: new RulePost(fieldsOf(activity), dialect) };
  return last.post;
}

export function compileTree(node: RuleNode, dialect: Dialect): PostTest {
  switch (node.kind) {
    case 'and': {
      const all = node.nodes.map(child => compileTree(child, dialect));
      return post => all.every(matches => matches(post));
    }
    case 'or': {
      const any = node.nodes.map(child => compileTree(child, dialect));
      return post => any.some(matches => matches(post));
    }
    case 'not': {
      const matches = compileTree(node.node, dialect);
      return post => !matches(post);
    }
    default:
      return compileClause(node, dialect);
  }
}

export function compileClause(clause: Clause, dialect: Dialect): PostTest {
  switch (clause.kind) {
    case 'keyword':
    case 'phrase': {
      const phrase = clausePhrase(clause, dialect);
      return ({ texts, addresses, displays }) =>
        [texts, addresses, displays].some(all => all.some(tokens => holdsPhrase(tokens, phrase)));
    }
    case 'proximity': {
      const { words } = wordsOf(clause.text, dialect);
      return ({ texts }) =>
        texts.some(tokens => holdsProximity(tokens.words, words, clause.distance));
    }
    case 'hashtag':
    case 'cashtag': {
      const tags = clause.kind === 'hashtag' ? 'hashtags' : 'cashtags';
      const tag = fold(clause.text, dialect.accents);
      return ({ parts }) =>
        parts.some(part => part[tags].some(other => fold(other, dialect.accents) === tag));
    }
    case 'mention': {
      const isThem = isPerson(clause.text);
      return ({ parts }) => parts.some(part => part.mentions.some(isThem));
    }
    case 'operator': {
      const operator: RuleOperator<never> = ruleOperators[clause.name];
      return operator.test(clause.value as never, dialect);
    }
  }
}

function isPerson(text: string): (person: Person) => boolean {
  const name = text.toLowerCase();
  return ({ handle, id }) => handle === name || id === name;
}
