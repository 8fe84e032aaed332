import type { Engaged } from '../users/engagement.js';
import type { Count, CountAs, EngagementType } from '../users/engagement-request.js';
import { builtIn, type ItemKind } from './built-in.js';
import { isPostItem } from './post-columns.js';

/** What `engagement` gives, whatever its options. */
type AnyEngaged = Omit<Engaged, 'totals'> & {
  readonly totals: { readonly [T in EngagementType]?: Count<CountAs> } | undefined;
};

const TOTALS: ItemKind = {
  name: 'engagement totals',
  accepts: item => isPostItem(item) && 'errors' in item && Array.isArray(item.errors),
};

/** The columns of activities with totals, as `engagement` gives them. */
export const engagementColumns = builtIn(TOTALS, (engaged: AnyEngaged) => engaged, {
  id: { type: 'string', meaning: 'Id of the post, digits', value: ({ activity }) => activity.id },
  favorites: { type: 'int64', meaning: 'Likes, exact', value: ({ totals }) => totals?.favorites },
  retweets: { type: 'int64', meaning: 'Shares, exact', value: ({ totals }) => totals?.retweets },
  replies: { type: 'int64', meaning: 'Replies, exact', value: ({ totals }) => totals?.replies },
  errors: {
    type: 'list<string>',
    meaning: 'Why there are no totals, in the words of the service',
    value: ({ errors }) => errors,
  },
});
