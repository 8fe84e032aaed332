import type { Activity } from '../activity/activity.js';
import { checkActivities } from '../activity/wrong-item.js';
import { checkOptions, flag, type OptionTable, oneOf, optionError, special } from '../check.js';
import { type Operator, ownOperator } from '../flow/flow.js';
import { withOrigin } from '../flow/with-origin.js';
import { type RedactOptions, redact } from './redact.js';
import { Tombstones } from './tombstones.js';

export const REDACT_OPTIONS = {
  country: special<string>(
    'where posts are shown',
    "two letters such as 'DE'",
    value => typeof value === 'string' && /^[a-z]{2}$/i.test(value),
  ),
  earlierVersions: oneOf(
    'whether earlier versions of an edited post stay',
    ['hide', 'keep'],
    'hide',
  ),
  mask: flag('leave the id and time of a hidden post in its place', false),
} satisfies OptionTable<RedactOptions>;

/**
 * Removes posts that must no longer be shown: deleted or dropped ones and those that share
 * them, those of users who are deleted, protected or suspended, those that are withheld in a country,
 * earlier versions of an edited post. A post whose author removed its location is passed on without
 * it, and one that quotes a hidden post without the quote; all others keep their bytes.
 *
 * Uses the tombstones at the time when a post passes: posts that are deleted later must be removed from
 * stored files, with `applyCompliance`.
 *
 * @example
 * const posts = replay(account(), { streamType: 'rulestream', fromDate, toDate });
 * await pipeline(posts, withoutDeleted(tombstones, { country: 'DE' }), files({ path: 'out/{day}.jsonl' }));
 */
export function withoutDeleted(
  tombstones: Tombstones,
  options: RedactOptions = {},
): Operator<Activity, Activity> {
  checkTombstones('withoutDeleted', tombstones);
  const redacting = checkOptions('withoutDeleted', REDACT_OPTIONS, options);
  return ownOperator(
    async function* (input, { progress }) {
      for await (const batch of input) {
        checkActivities('withoutDeleted', batch);
        const items = withOrigin(batch.origin, () =>
          batch.items
            .map(activity => redact(tombstones, activity, redacting).activity)
            .filter(activity => activity !== undefined),
        );
        progress?.drop('deleted', batch.items.length - items.length);
        yield { ...batch, items };
      }
    },
    {
      step: {
        step: 'withoutDeleted',
        country: redacting.country?.toUpperCase() ?? null,
        earlierVersions: redacting.earlierVersions,
        mask: redacting.mask,
      },
    },
  );
}

/** @throws OptionError */
export function checkTombstones(call: string, tombstones: unknown): void {
  if (!(tombstones instanceof Tombstones))
    throw optionError(call, 'tombstones', 'must be what `await openTombstones()` gives');
}
