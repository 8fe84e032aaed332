import { createHash } from 'node:crypto';
import { checkOptions, flag, type OptionTable } from '../base/check.js';
import type { Records } from '../files/file-records.js';
import { stepOperator } from '../files/plan.js';
import type { RecordColumn, RecordColumnKind } from '../files/record-columns.js';
import type { Rows } from '../files/rows.js';
import type { Batch, Operator } from '../flow/flow.js';
import { checkActivities } from '../flow/wrong-item.js';
import { releaseMemory } from '../gzip/release-memory.js';
import { LF } from '../json/byte-codes.js';
import { Activity } from '../post/activity.js';
import {
  type CompileRulesOptions,
  compileRules,
  MATCHER_OPTIONS,
  type Rule,
  RuleMatcher,
} from '../rules/index/compile-rules.js';
import { SharedMatcher, type SharedRules } from '../rules/index/shared-rules.js';

/**
 * Options of `matchRules`: the product whose rule language applies, and what to do with posts that match no
 * rule.
 */
export interface MatchRulesOptions extends CompileRulesOptions {
  /** Whether to drop the posts that match no rule. Progress counts them under `unmatched`. @default false */
  readonly dropUnmatched?: boolean | undefined;
}

const OPTIONS = {
  ...MATCHER_OPTIONS,
  dropUnmatched: flag('drop posts that no rule matches', false),
} satisfies OptionTable<MatchRulesOptions>;

/**
 * Matches each activity with the given rules, and sets its matching rules as if the service had delivered the
 * post for these rules. Use it to route an archive by tag, or to try rules on a sample before paying for a
 * job.
 *
 * If `rules` is a list, the threads of the sink match the posts of stored files. Only the members of a post
 * that the rules need are read from its bytes, so damage in other members is not reported.
 *
 * If `rules` is a matcher from `rules.compileAll`, its rules may change while the pipeline runs, and posts
 * are matched on the main thread. The options `product` and `frequency` do not apply, because the matcher was
 * created with its own.
 *
 * @throws OptionError Immediately, if the product does not accept a rule.
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
  const check = (batch: Batch<unknown>) => checkActivities('matchRules', batch);
  const column: RecordColumn<Uint32Array, RowRules> | undefined = shared && {
    kind: MATCHES,
    options: { rules: shared, dropUnmatched },
  };
  return stepOperator({
    identity,
    columns: column === undefined ? [] : [column],
    // A matcher has no `column`, and is always used on the main thread, because its rules may change between
    // two posts.
    isPlanned: column !== undefined,
    replaces: true,
    check,
    start: ({ resume, progress }) => ({
      resume,
      pass: async rows => {
        const { matches, matched } =
          column === undefined
            ? await matchedBy(rules as RuleMatcher, rows)
            : { matches: rows.column(column), matched: rows };
        const left = dropUnmatched ? matched.filter(row => matches[row] !== 0) : matched;
        progress?.drop('unmatched', rows.count - left.count);
        return left;
      },
    }),
  });
}

async function matchedBy(matcher: RuleMatcher, rows: Rows) {
  const matches = new Uint32Array(rows.count);
  const posts = new Map<number, Activity>();
  for (const row of rows.rows) {
    const post = rows.item(row) as Activity;
    const matching = matcher.match(post);
    matches[row] = matching.length;
    posts.set(row, post.withMatchingRules(matching));
  }
  return { matches, matched: await rows.replaced(posts) };
}

interface RowRules {
  readonly rules: SharedRules;
  readonly dropUnmatched: boolean;
}

/**
 * The column of the rules that each post matches. Reading the column also writes these rules into the posts.
 */
export const MATCHES: RecordColumnKind<Uint32Array, RowRules> = {
  name: 'matches',
  create: options => rows => matchRows(rows, options),
  moved: matches => [matches],
  isFirst: true,
};

/** @throws DataError if a post has no place for rules, or if the members that the rules need are not JSON */
function matchRows(rows: Records, { rules, dropUnmatched }: RowRules): Uint32Array {
  const matcher = SharedMatcher.of(rules);
  const posts = new MatchedPosts(rows, matcher);
  const matches = matcher.run(() => {
    const counts = new Uint32Array(rows.count);
    rows.each((row, content, start, end) => {
      counts[row] = posts.match(row, { content, start, end }, dropUnmatched);
    });
    return counts;
  });
  rows.rewrite(posts, record => new Activity(record));
  return matches;
}

/**
 * The memory to reserve for the inserted rules is the size of the posts divided by `EXPECTED_PART`, plus
 * `EXPECTED_BYTES`, which matters only for a few posts. Most lists of matching rules need less.
 */
const EXPECTED_PART = 8;
const EXPECTED_BYTES = 512;

interface PostBytes {
  readonly content: Buffer;
  readonly start: number;
  readonly end: number;
}

/** Copies posts to a new buffer, and inserts their matching rules. */
class MatchedPosts {
  readonly starts: Uint32Array;
  /** The length of each record. 0 for a dropped post. */
  readonly lengths: Uint32Array;
  readonly #matcher: SharedMatcher;
  #out: Buffer;
  #end = 0;

  constructor({ count, byteLength }: Records, matcher: SharedMatcher) {
    this.starts = new Uint32Array(count);
    this.lengths = new Uint32Array(count);
    this.#matcher = matcher;
    // Reserving too much memory costs nothing, because the system allocates only pages that are written. The
    // buffer may be transferred to another thread, so it must not be a part of Node's shared pool.
    const expected = Math.ceil(byteLength / EXPECTED_PART) + EXPECTED_BYTES;
    this.#out = Buffer.allocUnsafeSlow(byteLength + expected);
  }

  get content(): Buffer {
    return this.#out.subarray(0, this.#end);
  }

  match(row: number, post: PostBytes, dropUnmatched: boolean): number {
    const { content, start, end } = post;
    const matcher = this.#matcher;
    const found =
      matcher.matchBytes(content, start, end) ??
      matcher.matchParsed(new Activity(content.subarray(start, end)));
    this.starts[row] = this.#end;
    if (found.length > 0 || !dropUnmatched) {
      this.#write(post, found);
      this.lengths[row] = this.#end - 1 - this.starts[row]!;
    }
    return found.length;
  }

  #write({ content, start, end }: PostBytes, found: readonly number[]): void {
    const matcher = this.#matcher;
    this.#reserve(matcher.lengthWith(end - start, found) + 1);
    const to = matcher.write(content, start, end, found, this.#out, this.#end);
    this.#out[to] = LF;
    this.#end = to + 1;
  }

  #reserve(more: number): void {
    if (this.#end + more <= this.#out.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.ceil(1.5 * (this.#end + more)));
    this.#out.copy(grown, 0, 0, this.#end);
    releaseMemory(this.#out);
    this.#out = grown;
  }
}

/**
 * Identifies a list of rules in a checkpoint. Uses a hash, because there may be hundreds of thousands of
 * rules.
 */
function fingerprint(rules: readonly Rule[]): string {
  const hash = createHash('sha256');
  for (const { value, tag = null, id = null } of rules)
    hash.update(`${JSON.stringify([value, tag, id])}\n`);
  return `${rules.length} rules, sha256 ${hash.digest('hex').slice(0, 16)}`;
}
