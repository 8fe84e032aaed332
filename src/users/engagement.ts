import type { Activity } from '../activity/activity.js';
import { checkValue, milliseconds } from '../check.js';
import { OptionError } from '../errors.js';
import { type Operator, operator } from '../flow/flow.js';
import { workAhead } from '../flow/work-ahead.js';
import type { Account } from '../http/account.js';
import { checkNames } from '../http/check-names.js';
import { coalesce } from './coalesce.js';
import { printTree } from './engagement-answer.js';
import {
  engagementBatch,
  engagementUrl,
  MOST_IDS,
  type UserToken,
  userToken,
} from './engagement-batch.js';
import {
  type Count,
  type CountAs,
  checkCountAs,
  checkTypes,
  ENGAGEMENT_TYPES,
  type EngagementType,
} from './engagement-request.js';
import { BY_POST } from './engagement-totals.js';

export interface EngagementOptions<
  Type extends EngagementType = EngagementType,
  As extends CountAs = 'string',
> {
  /** @default all three */
  readonly types?: readonly Type[] | undefined;
  /** Counts as exact strings, as the service has them, or as numbers. @default 'string' */
  readonly counts?: As | undefined;
  /** What `users.signIn` gave. @default the account's `accessToken` and `accessTokenSecret` */
  readonly token?: UserToken | undefined;
  /** Most requests under way at a time. @default 2 */
  readonly concurrency?: number | undefined;
  /** How long activities wait for more to fill a request of 250, in milliseconds. @default 1_000 */
  readonly waitMs?: number | undefined;
}

/** An activity with its engagement totals. */
export interface Engaged<Type extends EngagementType = EngagementType, C = string> {
  readonly activity: Activity;
  /** Absent where the service has none for this post: see `errors`. */
  readonly totals: { readonly [T in Type]?: C } | undefined;
  /** What the service said of this post, in its words; mostly empty. */
  readonly errors: readonly string[];
}

/**
 * Adds engagement totals to activities (service.md 4.8): up to 250 of them in a request, in their
 * order, within the account's limits. Those that are gone, or are not the signed-in user's, go on
 * without totals and with the reason.
 *
 * @throws OptionError at once, for what is missing in the account, and for other options.
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
  checkNames('options', options, ['types', 'counts', 'token', 'concurrency', 'waitMs']);
  const url = engagementUrl(account);
  const types = checkTypes(options.types ?? ENGAGEMENT_TYPES);
  const as = checkCountAs(options.counts ?? 'string');
  const user = userToken(account, options.token);
  const { concurrency = 2, waitMs = 1_000 } = options;
  if (!Number.isSafeInteger(concurrency) || concurrency < 1)
    throw new OptionError(
      'concurrency',
      'Expected `concurrency` to be a whole number of at least 1',
    );
  checkValue('engagement', 'waitMs', milliseconds('how long to wait', { min: 0 }), waitMs);
  const query = { url, user, types, groupings: BY_POST };

  const measure = async (
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
            : (printTree(tree, as) as Engaged<Type, Count<As>>['totals']),
        errors: own.map(({ message }) => message),
      };
    };
  };

  return operator(
    async function* (input, { signal }) {
      const gathering = coalesce(input, { maxItems: MOST_IDS, waitMs });
      const work = ({ items }: { readonly items: readonly Activity[] }) =>
        items.length === 0 ? undefined : measure(items, signal);
      for await (const { item, result } of workAhead(gathering, work, concurrency))
        for (const { items, ...rest } of item.pieces)
          yield { ...rest, items: result === undefined ? [] : items.map(result) };
    },
    { step: { step: 'engagement', types, counts: as } },
  );
}
