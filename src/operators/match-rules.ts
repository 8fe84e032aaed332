import { createHash } from 'node:crypto';
import type { Activity } from '../activity/activity.js';
import { checkActivities } from '../activity/wrong-item.js';
import { checkOptions, flag, type OptionTable } from '../check.js';
import { type Operator, ownOperator } from '../flow/flow.js';
import { withOrigin } from '../flow/with-origin.js';
import {
  type CompileRulesOptions,
  compileRules,
  MATCHER_OPTIONS,
  type Rule,
  RuleMatcher,
} from '../rules/index/compile-rules.js';

/** The product whose rules `matchRules` follows, and what it does with posts that match no rule. */
export interface MatchRulesOptions extends CompileRulesOptions {
  /** Drops posts that match no rule; progress counts them under `unmatched`. @default false */
  readonly dropUnmatched?: boolean | undefined;
}

const OPTIONS = {
  ...MATCHER_OPTIONS,
  dropUnmatched: flag('leave out posts that no rule matches', false),
} satisfies OptionTable<MatchRulesOptions>;

/**
 * Sets the matching rules of each activity to those of the given rules, as if the service had
 * delivered the post for them: an archive can then be routed by tag, or rules be tried on a sample
 * before a job is paid for. A matcher of `rules.compileAll` may change while the pipeline runs. It has its
 * own `product`: the options `product` and `frequency` are used only for a list of rules.
 *
 * @throws OptionError Immediately, when the product refuses a rule.
 * @example
 * pipeline(
 *   localFiles('archive'), gunzip(), jsonLines(), activities(),
 *   matchRules([{ value: 'snow -is:retweet', tag: 'weather' }], { dropUnmatched: true }),
 *   routeByTag(), files({ path: 'out/{tag}.jsonl' }),
 * );
 */
export function matchRules(
  rules: readonly Rule[] | RuleMatcher,
  options: MatchRulesOptions = {},
): Operator<Activity, Activity> {
  const { dropUnmatched, ...compiling } = checkOptions('matchRules', OPTIONS, options);
  const matcher = rules instanceof RuleMatcher ? rules : compileRules(rules, compiling);
  return ownOperator(
    async function* (input, { progress }) {
      for await (const batch of input) {
        checkActivities('matchRules', batch);
        const items: Activity[] = [];
        withOrigin(batch.origin, () => {
          for (const activity of batch.items) {
            const matching = matcher.match(activity);
            if (matching.length > 0 || !dropUnmatched)
              items.push(activity.withMatchingRules(matching));
          }
        });
        progress?.drop('unmatched', batch.items.length - items.length);
        yield { ...batch, items };
      }
    },
    {
      step: {
        step: 'matchRules',
        product: compiling.product,
        dropUnmatched,
        rules: rules instanceof RuleMatcher ? '(a matcher)' : fingerprint(rules),
      },
    },
  );
}

/** What a checkpoint records: there may be hundreds of thousands of rules. */
function fingerprint(rules: readonly Rule[]): string {
  const hash = createHash('sha256');
  for (const { value, tag = null, id = null } of rules)
    hash.update(`${JSON.stringify([value, tag, id])}\n`);
  return `${rules.length} rules, sha256 ${hash.digest('hex').slice(0, 16)}`;
}
