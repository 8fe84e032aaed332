import type { Activity } from '../post/activity.js';
import { builtIn, definer, type GivenValue, type ItemKind } from './column.js';
import { isPostItem } from './post-columns.js';

/**
 * The members of an item of `engagement` that the columns read. All items have them, whatever the options of
 * `engagement`.
 */
interface ItemWithTotals {
  readonly activity: Activity;
  readonly totals:
    | {
        readonly favorites?: GivenValue<'int64'>;
        readonly retweets?: GivenValue<'int64'>;
        readonly replies?: GivenValue<'int64'>;
      }
    | undefined;
  readonly errors: readonly string[];
}

const TOTALS: ItemKind = {
  name: 'engagement totals',
  accepts: item => isPostItem(item) && 'errors' in item && Array.isArray(item.errors),
};

const of = definer<ItemWithTotals>();

/** The columns for activities with totals, which are the items of `engagement`. */
export const engagementColumns = builtIn(TOTALS, (engaged: ItemWithTotals) => engaged, {
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
