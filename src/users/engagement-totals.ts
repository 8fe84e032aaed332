import { type OptionTable, required, signal as signalOption } from '../base/check.js';
import { type Account, checkAccountOptions } from '../http/account.js';
import {
  addCounts,
  type BatchResponse,
  type CountTree,
  countsAs,
  type EngagementProblem,
  engagementBatch,
  engagementQuery,
  MAX_IDS,
} from './engagement-batch.js';
import {
  type Count,
  type CountAs,
  type CountingOptions,
  distinct,
  ENGAGEMENT_OPTIONS,
  type EngagementType,
  GROUPINGS,
  type Groupings,
  POST_IDS,
  type Totals,
} from './engagement-request.js';

/** The type of the default grouping: by post, then by type of engagement. */
export type ByPost = {
  readonly byPost: { readonly group_by: readonly ['tweet.id', 'engagement.type'] };
};

/** Options of `users.engagementTotals`: the posts, the types of engagement, the groupings, and the user. */
export interface EngagementTotalsOptions<
  G extends Groupings = ByPost,
  Type extends EngagementType = EngagementType,
  As extends CountAs = 'string',
> extends CountingOptions<Type, As> {
  /** The ids of the user's posts, as digits. If there are more than 250 ids, several requests are sent. */
  readonly ids: readonly string[];
  /**
   * Up to three groupings. You choose their names. The order of `group_by` is the order of nesting.
   * @default { byPost: { group_by: ['tweet.id', 'engagement.type'] } }
   */
  readonly groupings?: G | undefined;
  /** A signal that aborts the call. The call then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** The result of `users.engagementTotals`: the totals, and the posts for which the service has none. */
export interface EngagementTotals<
  G extends Groupings = ByPost,
  Type extends EngagementType = EngagementType,
  As extends CountAs = 'string',
> {
  /** The totals of each grouping, by the name of the grouping. Posts without totals are absent. */
  readonly totals: Totals<G, Type, Count<As>>;
  /** The problems that the service returned with the totals, one for each post concerned. */
  readonly errors: readonly EngagementProblem[];
}

export const BY_POST: ByPost = { byPost: { group_by: ['tweet.id', 'engagement.type'] } };

const OPTIONS = {
  ...ENGAGEMENT_OPTIONS,
  ids: required(POST_IDS),
  groupings: GROUPINGS,
  signal: signalOption(),
} satisfies OptionTable<EngagementTotalsOptions<Groupings, EngagementType, CountAs>>;

/**
 * Returns how many likes, retweets and replies the posts of a signed-in user have. Sends the ids in batches
 * of 250, without duplicates, and adds up the totals of all batches. The type of `totals` depends on
 * `group_by`.
 *
 * Posts that are deleted or belong to other users are listed in `errors`; all other posts have totals.
 *
 * @throws OptionError for invalid options or missing settings of the account.
 * @throws AuthorizationError If the service refuses a request. Its failure is `forbidden` if no post is
 * accessible.
 * @throws HttpError, ConnectionError, DataError
 * @example
 * const token = await users.signIn(acme, { store: 'tokens.json' });
 * const { totals, errors } = await users.engagementTotals(acme, {
 *   token,
 *   ids: ['1060976163948904448'],
 *   types: ['favorites'],
 *   groupings: { likes: { group_by: ['tweet.id', 'engagement.type'] } },
 * });
 * console.log(totals.likes['1060976163948904448']?.favorites, errors);
 */
export async function engagementTotals<
  const G extends Groupings = ByPost,
  const Type extends EngagementType = EngagementType,
  const As extends CountAs = 'string',
>(
  account: Account,
  options: EngagementTotalsOptions<G, Type, As>,
): Promise<EngagementTotals<G, Type, As>> {
  const checked = checkAccountOptions<
    EngagementTotalsOptions<Groupings, EngagementType, CountAs>,
    typeof OPTIONS
  >('users.engagementTotals', account, OPTIONS, options);
  const { groupings = BY_POST, counts: as = 'string', signal } = checked;
  const query = engagementQuery(account, checked, groupings);
  const ids = distinct(checked.ids);

  const responses: BatchResponse[] = [];
  for (let at = 0; at < ids.length; at += MAX_IDS) {
    const batch = ids.slice(at, at + MAX_IDS);
    responses.push(await engagementBatch(account, query, batch, signal));
  }
  const forbidden = responses.find(({ refused }) => refused?.failure === 'forbidden');
  if (forbidden?.refused && responses.every(({ refused }) => refused !== undefined))
    throw forbidden.refused;

  const none: CountTree = new Map(Object.keys(groupings).map(name => [name, new Map()]));
  const sum = responses.reduce<CountTree>((all, { totals }) => addCounts(all, totals), none);
  return {
    totals: countsAs(sum, as) as Totals<G, Type, Count<As>>,
    errors: responses.flatMap(({ problems }) => problems),
  };
}
