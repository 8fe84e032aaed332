import { createHash } from 'node:crypto';
import { checkOptions, flag, type OptionTable } from '../base/check.js';
import { stepOperator } from '../files/planned.js';
import type { Rows } from '../files/rows.js';
import type { Operator } from '../flow/flow.js';
import { checkActivities } from '../flow/wrong-item.js';
import type { Activity } from '../post/activity.js';
import {
  type CompileRulesOptions,
  compileRules,
  MATCHER_OPTIONS,
  type Rule,
  RuleMatcher,
} from '../rules/index/compile-rules.js';
import { SharedMatcher, type SharedRules } from '../rules/index/shared-rules.js';

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
 * before a job is paid for. Posts of whole files are matched against a list of rules by all threads of the sink, which share one
 * index. A matcher of `rules.compileAll` may change while the pipeline runs, and is used on one thread. It has its
 * own `product`: the options `product` and `frequency` are used only for a list of rules. A list reads the members that
 * rules ask for from the bytes of a post, so damage in other members is not reported.
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
  const shared = rules instanceof RuleMatcher ? undefined : compileRules(rules, compiling).share();
  const identity = {
    step: 'matchRules',
    product: compiling.product,
    dropUnmatched,
    rules: rules instanceof RuleMatcher ? '(a matcher)' : fingerprint(rules),
  };
  const matched = shared === undefined ? byMatcher(rules as RuleMatcher) : byShared(shared);
  return stepOperator({
    identity,
    fields: { rules: shared && { rules: shared, dropUnmatched } },
    // The rules of a matcher may change between any two posts: it stays on this thread.
    isPlanned: shared !== undefined,
    replaces: true,
    start: ({ resume, progress }) => {
      const passed = (before: number, after: number) => progress?.drop('unmatched', before - after);
      return {
        resume,
        items: (items: readonly Activity[], origin) => {
          checkActivities('matchRules', { items, origin });
          const left = matched(items, dropUnmatched);
          passed(items.length, left.length);
          return left;
        },
        rows: rows => {
          const left = dropUnmatched ? matchedRows(rows) : rows;
          passed(rows.count, left.count);
          return left;
        },
      };
    },
  });
}

/** Gives posts their matching rules, and leaves out those without one where they are dropped. */
type MatchItems = (items: readonly Activity[], dropUnmatched: boolean) => readonly Activity[];

function byMatcher(matcher: RuleMatcher): MatchItems {
  return (items, dropUnmatched) =>
    items.flatMap(activity => {
      const matching = matcher.match(activity);
      return dropUnmatched && matching.length === 0 ? [] : activity.withMatchingRules(matching);
    });
}

function byShared(rules: SharedRules): MatchItems {
  const matcher = SharedMatcher.of(rules);
  return (items, dropUnmatched) =>
    matcher.run(() =>
      items.flatMap(activity => {
        const matching = matcher.match(activity);
        return dropUnmatched && matching.length === 0 ? [] : matcher.withRules(activity, matching);
      }),
    );
}

/** The posts that match a rule. */
function matchedRows(rows: Rows): Rows {
  const { matches } = rows.fields;
  return rows.filter(row => matches[row] !== 0);
}

/** What a checkpoint records: there may be hundreds of thousands of rules. */
function fingerprint(rules: readonly Rule[]): string {
  const hash = createHash('sha256');
  for (const { value, tag = null, id = null } of rules)
    hash.update(`${JSON.stringify([value, tag, id])}\n`);
  return `${rules.length} rules, sha256 ${hash.digest('hex').slice(0, 16)}`;
}
