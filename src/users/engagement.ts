import { milliseconds, type OptionTable, whole } from '../base/check.js';
import { DeadlineReader } from '../flow/deadline-reader.js';
import { type Batch, type Batches, type Operator, ownOperator } from '../flow/flow.js';
import { workAhead } from '../flow/read-ahead.js';
import { checkActivities } from '../flow/wrong-item.js';
import { type Account, checkAccountOptions } from '../http/account.js';
import type { Activity } from '../post/activity.js';
import { detached } from '../post/detach-from-block.js';
import { countsAs, engagementBatch, engagementQuery, MAX_IDS } from './engagement-batch.js';
import {
  type Count,
  type CountAs,
  type CountingOptions,
  ENGAGEMENT_OPTIONS,
  type EngagementType,
} from './engagement-request.js';
import { BY_POST } from './engagement-totals.js';

/**
 * Options of `engagement`: the types of engagement, the user, and how activities are grouped into requests.
 */
export interface EngagementOptions<
  Type extends EngagementType = EngagementType,
  As extends CountAs = 'string',
> extends CountingOptions<Type, As> {
  /** The maximum number of concurrent requests. @default 2 */
  readonly concurrency?: number | undefined;
  /**
   * How long activities wait for further activities to fill a request of 250, in milliseconds. @default 1_000
   */
  readonly waitMs?: number | undefined;
}

/** An activity with its engagement totals. */
export interface Engaged<Type extends EngagementType = EngagementType, C = string> {
  readonly activity: Activity;
  /** The totals of the post. Absent if the service has none; `errors` then has the reason. */
  readonly totals: { readonly [T in Type]?: C } | undefined;
  /** The service's messages about this post; usually there are none. */
  readonly errors: readonly string[];
}

const OPTIONS = {
  ...ENGAGEMENT_OPTIONS,
  concurrency: whole('requests at a time', { min: 1, default: 2 }),
  waitMs: milliseconds('how long activities wait for more', { min: 0, default: 1_000 }),
} satisfies OptionTable<EngagementOptions<EngagementType, CountAs>>;

/**
 * Adds engagement totals to activities. Requests the totals of up to 250 activities at a time, within the
 * account's limits, and keeps the order of activities. Deleted posts and posts of other users are delivered
 * without totals; `errors` has the reason.
 *
 * @throws OptionError immediately, for invalid options or missing settings of the account.
 * @throws AuthorizationError, HttpError, ConnectionError, DataError from the flow.
 * @example
 * await pipeline(
 *   search(acme, { product: '30day', query: 'from:luna_reads12' }),
 *   engagement(acme, { token: await users.signIn(acme), counts: 'number' }),
 *   map(({ activity, totals, errors }) => ({ id: activity.id, ...totals, errors })),
 *   files({ path: 'totals.jsonl' }),
 * );
 */
export function engagement<
  const Type extends EngagementType = EngagementType,
  const As extends CountAs = 'string',
>(
  account: Account,
  options: EngagementOptions<Type, As> = {},
): Operator<Activity, Engaged<Type, Count<As>>> {
  const checked = checkAccountOptions<EngagementOptions<EngagementType, CountAs>, typeof OPTIONS>(
    'engagement',
    account,
    OPTIONS,
    options,
  );
  const { counts: as = 'string', concurrency, waitMs } = checked;
  const query = engagementQuery(account, checked, BY_POST);
  const { url, types } = query;

  const measure = async (
    account: Account,
    activities: readonly Activity[],
    signal: AbortSignal,
  ): Promise<(activity: Activity) => Engaged<Type, Count<As>>> => {
    const ids = [...new Set(activities.map(({ id }) => id))];
    const { totals, problems } = await engagementBatch(account, query, ids, signal);
    const byPost = totals.get('byPost');
    return activity => {
      const { id } = activity;
      const tree = typeof byPost === 'object' ? byPost.get(id) : undefined;
      const own = problems.filter(
        problem => problem.id === id || (problem.id === undefined && tree === undefined),
      );
      return {
        activity,
        totals:
          tree === undefined
            ? undefined
            : (countsAs(tree, as) as Engaged<Type, Count<As>>['totals']),
        errors: own.map(({ message }) => message),
      };
    };
  };

  return ownOperator(
    async function* (input, { signal, progress }) {
      const watched = account.withProgress(progress);
      const gathering = coalesce(input, { maxItems: MAX_IDS, waitMs });
      const work = (batches: readonly Batch<Activity>[]) => {
        for (const batch of batches) checkActivities('engagement', batch);
        const items = batches.flatMap(batch => batch.items);
        return items.length === 0 ? undefined : measure(watched, items, signal);
      };
      for await (const { item, result } of workAhead(gathering, work, concurrency))
        for (const { items, ...rest } of item)
          yield { ...rest, items: result === undefined ? [] : items.map(result) };
    },
    { step: { step: 'engagement', types, counts: as, ...account.serviceAt(url) } },
  );
}

/**
 * Yields groups of batches. A group has at most `maxItems` items; a batch that does not fit is split. A group
 * is yielded once it is full, or `waitMs` milliseconds after its first item. The last part of a split batch
 * has the cursor of the batch. If the input fails, its error is thrown after the items that were read before.
 */
export async function* coalesce<T>(
  input: Batches<T>,
  { maxItems, waitMs }: { readonly maxItems: number; readonly waitMs: number },
): AsyncGenerator<readonly Batch<T>[], void, undefined> {
  const timed = new DeadlineReader(input);
  let batches: Batch<T>[] = [];
  let count = 0;
  let deadline = 0;
  const take = () => {
    const taken = batches;
    batches = [];
    count = 0;
    return taken;
  };
  let failure: { readonly error: unknown } | undefined;
  const fail = (error: unknown) => {
    failure = { error };
    return { done: true, value: undefined } as const;
  };

  try {
    while (true) {
      const result = await timed.next(count === 0 ? undefined : deadline).catch(fail);
      if (result === 'late') {
        yield take();
        continue;
      }
      if (result.done) {
        if (batches.length > 0) yield take();
        if (failure !== undefined) throw failure.error;
        return;
      }
      if (count === 0) deadline = performance.now() + waitMs;
      const { items, cursor, ...rest } = result.value;
      let at = 0;
      do {
        const part = detached(items.slice(at, at + maxItems - count));
        at += part.length;
        count += part.length;
        add(
          batches,
          at < items.length ? { ...rest, items: part } : { ...rest, items: part, cursor },
        );
        // If no items are waiting, a batch without items is delivered at once, so that its cursor does not
        // wait.
        if (count === maxItems || count === 0) yield take();
      } while (at < items.length);
    }
  } finally {
    await timed.close();
  }
}

/** Adds a batch. If it has no items, the batch before it, if any, gets its cursor instead. */
function add<T>(batches: Batch<T>[], batch: Batch<T>): void {
  const last = batches.at(-1);
  if (batch.items.length > 0 || last === undefined) batches.push(batch);
  else if (batch.cursor !== undefined)
    batches[batches.length - 1] = { ...last, cursor: batch.cursor };
}
