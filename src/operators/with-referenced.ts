import { checkOptions, flag, type OptionTable } from '../base/check.js';
import { withOrigin } from '../base/errors.js';
import { type Operator, ownOperator } from '../flow/flow.js';
import { checkActivities } from '../flow/wrong-item.js';
import type { Activity } from '../post/activity.js';

/** Options of `withReferenced`: whether it delivers only the referenced posts. */
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
 * Delivers each post and, after it, the posts that it contains. A post contains the post that it retweets,
 * and the posts that it or the retweeted post quotes. Each contained post becomes a separate `Activity`, with
 * its original bytes and without matching rules. A reply does not contain the post that it answers, so that
 * post is not delivered.
 *
 * Many posts may refer to the same post, and the source may also deliver that post itself. With `dedupe`
 * after this stage, only the first copy passes.
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
 * Returns the posts that a post contains. Two levels are enough: the service nests a retweeted post, and a
 * quoted post within it, but nothing deeper.
 */
function referencedBy(post: Activity): Activity[] {
  const { retweeted, quoted } = post;
  const found = new Map<string, Activity>();
  for (const one of [retweeted, retweeted?.quoted, quoted])
    if (one !== undefined && !found.has(one.id)) found.set(one.id, one);
  return [...found.values()];
}
