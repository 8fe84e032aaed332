import {
  checkOptions,
  checkValue,
  func,
  type OptionTable,
  required,
  special,
} from '../../base/check.js';
import { OptionError } from '../../base/errors.js';
import type { Activity, MatchingRule } from '../../post/activity.js';
import { fieldsOf } from '../../post/read-fields.js';
import { checkRule } from '../language/check-rule.js';
import { serviceMessage } from '../language/problem.js';
import { textRuleProblem } from '../language/render-problem.js';
import { COMPILE_OPTIONS, type CompileRuleOptions } from '../match/compile-rule.js';
import { dialectOf, type RuleProduct } from '../post/dialect.js';
import type { RuleNode } from '../tree.js';
import { RuleIndex } from './rule-index.js';
import { type SharedRules, shareRules } from './shared-rules.js';
import { usualFrequency } from './term-frequency.js';

/** A rule as the service stores it: its text, and an optional tag and id. */
export interface Rule {
  readonly value: string;
  readonly tag?: string | null | undefined;
  /** The id, as digits. A rule without an id is identified by its value and tag. */
  readonly id?: string | undefined;
}

/** Options of `rules.compileAll`: the product that defines how rules match, and how common terms are. */
export interface CompileRulesOptions extends CompileRuleOptions {
  /**
   * Estimates the fraction of posts that have a term (`snow`, `lang:en` ...), from 0 to 1, for example by
   * counting posts of an archive. Rules are indexed under their rarest terms.
   * @default a guess by the term's kind and length
   */
  readonly frequency?: ((term: string) => number) | undefined;
}

export const MATCHER_OPTIONS = {
  ...COMPILE_OPTIONS,
  frequency: func<(term: string) => number>('the fraction of posts that have a term, 0 to 1'),
} satisfies OptionTable<CompileRulesOptions>;

/**
 * Compiles many rules to a matcher, which finds all rules that match an activity of either format. The
 * results are the same as with `rules.compile` for each rule. A post is compared only with the few rules
 * whose rarest terms it has. Hundreds of thousands of rules can therefore be matched together.
 *
 * @throws OptionError If the product refuses any of the rules. The message names each of these rules with its
 *   problems.
 * @example
 * const matcher = rules.compileAll([{ value: 'snow -is:retweet', tag: 'weather' }]);
 * for await (const activity of flow) console.log(activity.id, matcher.match(activity));
 */
export function compileRules(
  rules: readonly Rule[],
  options: CompileRulesOptions = {},
): RuleMatcher {
  const matcher = new RuleMatcher(options);
  matcher.add(rules);
  return matcher;
}

/**
 * A set of compiled rules. Rules can be added and deleted at any time. The cost of a change does not depend
 * on the number of other rules.
 */
export class RuleMatcher {
  readonly #product: RuleProduct;
  readonly #index: RuleIndex;
  /** The entry that `match` returns for each rule, indexed by the rule's number. */
  readonly #entries: (MatchingRule | undefined)[] = [];
  readonly #values: string[] = [];
  readonly #numbers = new Map<string, number>();

  constructor(options: CompileRulesOptions = {}) {
    const checked = checkOptions('rules.compileAll', MATCHER_OPTIONS, options);
    const { product, frequency = usualFrequency } = checked;
    this.#product = product;
    this.#index = new RuleIndex(dialectOf(product), frequency);
  }

  /** The number of rules. */
  get size(): number {
    return this.#numbers.size;
  }

  /**
   * Returns the rules that match, in the order in which they were added. After a deletion, the next added
   * rule may take the place of the deleted rule in this order. In the result, a rule has a `value` only if it
   * has no id.
   */
  match(activity: Activity): readonly MatchingRule[] {
    const found = this.#index.match(fieldsOf(activity));
    return found.map(rule => this.#entries[rule]!);
  }

  /**
   * Adds all rules, or none if one of them is refused. Ignores rules that already exist.
   *
   * @throws OptionError If any of the rules is invalid.
   */
  add(rules: readonly Rule[]): void {
    checkValue('rules.compileAll', 'rules', RULES, rules);
    const trees = this.#checked(rules);
    rules.forEach((rule, i) => {
      const key = keyOf(rule);
      if (this.#numbers.has(key)) return;
      const number = this.#index.add(trees[i]!);
      this.#entries[number] = entryOf(rule);
      this.#values[number] = rule.value;
      this.#numbers.set(key, number);
    });
  }

  /**
   * Deletes rules by id. Rules without an id are deleted by value and tag. Returns how many rules were
   * deleted.
   */
  delete(rules: readonly (Rule | { readonly id: string })[]): number {
    let deleted = 0;
    for (const rule of rules) {
      const key = keyOf(rule);
      const number = this.#numbers.get(key);
      if (number === undefined) continue;
      this.#index.delete(number);
      this.#entries[number] = undefined;
      this.#values[number] = '';
      this.#numbers.delete(key);
      deleted++;
    }
    return deleted;
  }

  /**
   * Copies the rules to shared memory, for the threads of a pipeline. Later changes of the matcher do not
   * affect the copies.
   *
   * @internal
   */
  share(): SharedRules {
    return shareRules(this.#product, this.#index.share(), this.#entries);
  }

  #checked(rules: readonly Rule[]): readonly RuleNode[] {
    const refused: string[] = [];
    const values = new Map<string, string>();
    const trees = rules.flatMap(rule => {
      const checked = this.#check(rule, values);
      if (typeof checked !== 'string') return checked;
      refused.push(`${JSON.stringify(rule.value)}: ${checked}`);
      return [];
    });
    if (refused.length === 0) return trees;
    const shown = refused.slice(0, MAX_SHOWN);
    if (refused.length > MAX_SHOWN) shown.push(`and ${refused.length - MAX_SHOWN} more`);
    throw new OptionError(
      'rules',
      `${refused.length} of ${rules.length} rules cannot be used for ${this.#product}:\n${shown.join('\n')}`,
    );
  }

  #check({ value, tag, id }: Rule, values: Map<string, string>): RuleNode | string {
    if (typeof value !== 'string') return 'a rule has a `value`, its text';
    if (id !== undefined) {
      if (!/^\d+$/.test(id)) return `its id is not digits: ${id}`;
      const other = values.get(id) ?? this.#values[this.#numbers.get(id) ?? -1] ?? value;
      if (other !== value) return `id ${id} is that of another rule`;
      values.set(id, value);
    }
    const { tree, problems } = checkRule(value, { product: this.#product, tag });
    return tree ?? serviceMessage(problems).trim();
  }
}

const RULES = required({
  ...special<readonly Rule[]>(
    'the rules to match',
    'an array of rules, each an object with a `value`',
    value => Array.isArray(value) && value.every(rule => typeof rule === 'object' && rule !== null),
  ),
  explain: textRuleProblem,
});

/** The maximum number of invalid rules that an error lists. */
const MAX_SHOWN = 20;

function keyOf(rule: Rule | { readonly id: string }): string {
  if (rule.id !== undefined) return rule.id;
  const { value, tag } = rule as Rule;
  return JSON.stringify([value, tag ?? null]);
}

function entryOf({ value, tag, id }: Rule): MatchingRule {
  return id === undefined ? { tag: tag ?? null, id, value } : { tag: tag ?? null, id };
}
