import { createHash } from 'node:crypto';
import { checkOptions, flag, type OptionTable } from '../base/check.js';
import type { FileRows } from '../files/file-rows.js';
import { stepOperator } from '../files/planned.js';
import type { RecordColumn, RecordColumnKind } from '../files/record-columns.js';
import type { Rows } from '../files/rows.js';
import type { Operator } from '../flow/flow.js';
import { checkActivities } from '../flow/wrong-item.js';
import { releaseMemory } from '../gzip/release-memory.js';
import { LF } from '../json/json-bytes.js';
import { Activity } from '../post/activity.js';
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
  const column: RecordColumn<Uint32Array, RowRules> | undefined = shared && {
    kind: MATCHES,
    options: { rules: shared, dropUnmatched },
  };
  const matched = shared === undefined ? byMatcher(rules as RuleMatcher) : byShared(shared);
  return stepOperator({
    identity,
    columns: column === undefined ? [] : [column],
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
          const left = dropUnmatched && column !== undefined ? matchedRows(rows, column) : rows;
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

/** The rows that match a rule. */
function matchedRows(rows: Rows, column: RecordColumn<Uint32Array, RowRules>): Rows {
  const matches = rows.column(column);
  return rows.filter(row => matches[row] !== 0);
}

/** Rules that rows are matched against. */
interface RowRules {
  readonly rules: SharedRules;
  /** Whether posts that match none are dropped. */
  readonly dropUnmatched: boolean;
}

/** The number of rules that each row matches. Reading it puts the rules into the posts, as `matchRules` does to items. */
export const MATCHES: RecordColumnKind<Uint32Array, RowRules> = {
  name: 'matches',
  create: options => rows => matchRows(rows, options),
  moved: matches => [matches],
  isFirst: true,
};

/** @throws DataError for a post that rules cannot be put into, or that is not JSON as far as it is read. */
function matchRows(rows: FileRows, { rules, dropUnmatched }: RowRules): Uint32Array {
  const matcher = SharedMatcher.of(rules);
  const posts = new MatchedPosts(rows, matcher);
  const matches = matcher.run(() => {
    const counts = new Uint32Array(rows.count);
    for (let row = 0; row < rows.count; row++) counts[row] = posts.match(row, dropUnmatched);
    return counts;
  });
  releaseMemory(rows.content);
  rows.content = posts.content;
  rows.forgetItems();
  return matches;
}

/** Most lists of rules are shorter than that part of the posts. */
const EXPECTED_PART = 8;

/** Copies posts with their matching rules to new content. */
class MatchedPosts {
  readonly #rows: FileRows;
  readonly #matcher: SharedMatcher;
  #out: Buffer;
  #end = 0;

  constructor(rows: FileRows, matcher: SharedMatcher) {
    this.#rows = rows;
    this.#matcher = matcher;
    const { length } = rows.content;
    // The system gives memory only for pages that are written. Not from Node's pool: it may be transferred.
    this.#out = Buffer.allocUnsafeSlow(length + Math.ceil(length / EXPECTED_PART));
  }

  get content(): Buffer {
    return this.#out.subarray(0, this.#end);
  }

  /** Returns how many rules match. */
  match(row: number, dropUnmatched: boolean): number {
    const { content, starts, lengths } = this.#rows;
    const from = starts[row]!;
    const to = from + lengths[row]!;
    const matcher = this.#matcher;
    const found =
      matcher.matchBytes(content, from, to) ??
      matcher.matchParsed(new Activity(content.subarray(from, to)));
    const isDropped = found.length === 0 && dropUnmatched;
    starts[row] = this.#end;
    if (!isDropped) this.#write(from, to, found);
    lengths[row] = isDropped ? 0 : this.#end - 1 - starts[row]!;
    return found.length;
  }

  #write(from: number, to: number, found: readonly number[]): void {
    const matcher = this.#matcher;
    this.#reserve(matcher.lengthWith(to - from, found) + 1);
    const end = matcher.write(this.#rows.content, from, to, found, this.#out, this.#end);
    this.#out[end] = LF;
    this.#end = end + 1;
  }

  #reserve(more: number): void {
    if (this.#end + more <= this.#out.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.ceil(1.5 * (this.#end + more)));
    this.#out.copy(grown, 0, 0, this.#end);
    releaseMemory(this.#out);
    this.#out = grown;
  }
}

/** What a checkpoint records: there may be hundreds of thousands of rules. */
function fingerprint(rules: readonly Rule[]): string {
  const hash = createHash('sha256');
  for (const { value, tag = null, id = null } of rules)
    hash.update(`${JSON.stringify([value, tag, id])}\n`);
  return `${rules.length} rules, sha256 ${hash.digest('hex').slice(0, 16)}`;
}
