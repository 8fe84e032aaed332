import { checkOptions, flag, type OptionTable } from '../base/check.js';
import { withOrigin } from '../base/errors.js';
import { type Operator, ownOperator } from '../flow/flow.js';
import { checkActivities } from '../flow/wrong-item.js';
import type { Activity } from '../post/activity.js';

/** Options of `withReferenced`: whether it also delivers the referring posts. */
export interface WithReferencedOptions {
  /**
   * Whether to deliver only the referenced posts, without the posts that refer to them.
   * @default false
   */
  readonly only?: boolean | undefined;
}

const OPTIONS = {
  only: flag('whether only referenced posts pass', false),
} satisfies OptionTable<WithReferencedOptions>;

/**
 * Passes each post and, after it, the posts inside it: the post that it retweets, and the posts that it or
 * the retweeted post quotes. Each is a separate `Activity`, with its original bytes and without matching
 * rules. A reply does not contain the post that it answers, so that post is not delivered.
 *
 * The same post may be referenced many times and also be delivered on its own; `dedupe` after this stage
 * passes only the first.
 *
 * @throws OptionError Immediately, if an option is invalid.
 * @throws DataError From the flow, for an item that is not an activity.
 *
 * @example
 * pipeline(
 *   search(account(), query),
 *   withReferenced(),
 *   dedupe(),
 *   csv({ path: 'out/{day}.csv', columns: tables.posts }),
 * );
 */
export function withReferenced(options: WithReferencedOptions = {}): Operator<Activity, Activity> {
  const { only } = checkOptions('withReferenced', OPTIONS, options);
  return ownOperator(
    async function* (input) {
      for await (const batch of input) {
        checkActivities('withReferenced', batch);
        const items = withOrigin(batch.origin, () =>
          batch.items.flatMap(post => {
            const referenced = referencedBy(post);
            return only ? referenced : [post, ...referenced];
          }),
        );
        yield { ...batch, items };
      }
    },
    { step: { step: 'withReferenced', only } },
  );
}

/**
 * The nested posts of a post. Two levels are enough: the service nests a retweet and a quote within it,
 * nothing deeper.
 */
function referencedBy(post: Activity): Activity[] {
  const { retweeted, quoted } = post;
  const found = new Map<string, Activity>();
  for (const one of [retweeted, retweeted?.quoted, quoted])
    if (one !== undefined && !found.has(one.id)) found.set(one.id, one);
  return [...found.values()];
}
