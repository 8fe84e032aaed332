import { builtIn, definer, type ItemKind } from '../tables/built-in.js';
import { isPostItem } from '../tables/post-columns.js';
import type { Engaged } from './engagement.js';
import type { Count, CountAs, EngagementType } from './engagement-request.js';

/** What `engagement` gives, whatever its options. */
type AnyEngaged = Omit<Engaged, 'totals'> & {
  readonly totals: { readonly [T in EngagementType]?: Count<CountAs> } | undefined;
};

const TOTALS: ItemKind = {
  name: 'engagement totals',
  accepts: item => isPostItem(item) && 'errors' in item && Array.isArray(item.errors),
};

const of = definer<AnyEngaged>();

/** The columns of activities with totals, as `engagement` gives them. */
export const engagementColumns = builtIn(TOTALS, (engaged: AnyEngaged) => engaged, {
  id: of('string', 'Id of the post, digits', ({ activity }) => activity.id),
  favorites: of('int64', 'Likes, exact', ({ totals }) => totals?.favorites),
  retweets: of('int64', 'Retweets, exact', ({ totals }) => totals?.retweets),
  replies: of('int64', 'Replies, exact', ({ totals }) => totals?.replies),
  errors: of(
    'list<string>',
    'Why there are no totals, in the words of the service',
    ({ errors }) => errors,
  ),
});
