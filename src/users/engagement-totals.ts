import { type OptionTable, required, signal as signalOption } from '../check.js';
import { type Account, checkAccountOptions } from '../http/account.js';
import {
  type BatchResponse,
  engagementBatch,
  engagementUrl,
  MAX_IDS,
  userToken,
} from './engagement-batch.js';
import {
  type Count,
  type CountAs,
  distinct,
  ENGAGEMENT_OPTIONS,
  ENGAGEMENT_TYPES,
  type EngagementType,
  GROUPINGS,
  type Groupings,
  POST_IDS,
  type Totals,
  type UserToken,
} from './engagement-request.js';
import {
  addCounts,
  type CountTree,
  countsAs,
  type EngagementProblem,
} from './engagement-response.js';

/** What is grouped by where nothing else is said. */
export type ByPost = {
  readonly byPost: { readonly group_by: readonly ['tweet.id', 'engagement.type'] };
};

/** Options of `users.engagementTotals`. */
export interface EngagementTotalsOptions<
  G extends Groupings = ByPost,
  Type extends EngagementType = EngagementType,
  As extends CountAs = 'string',
> {
  /** Of posts of the user, strings of digits; as many requests are made as they take. */
  readonly ids: readonly string[];
  /** @default all three */
  readonly types?: readonly Type[] | undefined;
  /**
   * Up to three, by names of your own; the order of `group_by` is that of the nesting.
   * @default { byPost: { group_by: ['tweet.id', 'engagement.type'] } }
   */
  readonly groupings?: G | undefined;
  /** Counts as exact strings, as the service has them, or as numbers. @default 'string' */
  readonly counts?: As | undefined;
  /** What `users.signIn` gave. @default the account's `accessToken` and `accessTokenSecret` */
  readonly token?: UserToken | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What `users.engagementTotals` resolves to. */
export interface EngagementTotals<
  G extends Groupings = ByPost,
  Type extends EngagementType = EngagementType,
  As extends CountAs = 'string',
> {
  /** By the names of the groupings; a post without totals is not there. */
  readonly totals: Totals<G, Type, Count<As>>;
  /** Errors that the service returned with the totals, one for each post concerned. */
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
 * How often posts were liked, shared and answered, for posts of the user who signed
 * in. Ids go out 250 at a time, each once, and totals of several requests add up. The type of
 * `totals` follows from `group_by`.
 *
 * Posts that are gone or of other users are in `errors`, and the others have totals.
 *
 * @throws OptionError for options that cannot work or settings that the account lacks.
 * @throws AuthorizationError when the service refuses a request; `forbidden` when no post may be seen.
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
  const url = engagementUrl(account);
  const ids = distinct(checked.ids);
  const types = distinct(checked.types ?? ENGAGEMENT_TYPES);
  const user = userToken(account, checked.token);
  const query = { url, user, types, groupings };

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
