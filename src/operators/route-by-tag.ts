import type { Activity } from '../activity/activity.js';
import type { Routed } from '../activity/routed.js';
import { checkOptions, type OptionTable, text } from '../check.js';
import { DataError } from '../errors.js';
import type { Operator } from '../flow/flow.js';
import { internalOperator } from '../flow/internal-flow.js';
import { withOrigin } from '../flow/with-origin.js';

/** The tag that `routeByTag` gives to activities without one. */
export interface RouteByTagOptions {
  /**
   * The tag of activities that matched no rule with a tag. No rule may have this tag.
   * @default 'untagged'
   */
  readonly untagged?: string | undefined;
}

const OPTIONS = {
  untagged: text('where activities without a tag go', 'untagged'),
} satisfies OptionTable<RouteByTagOptions>;

/**
 * Passes each activity once for every distinct tag of the rules that it matched (its `matching_rules`).
 *
 * @throws DataError From the flow, when a rule's tag equals `untagged`: the two could not be told
 * apart.
 *
 * @example
 * pipeline(search(account(), query), routeByTag(), files({ path: 'out/{tag}/{day}.jsonl' }));
 */
export function routeByTag(options: RouteByTagOptions = {}): Operator<Activity, Routed> {
  const { untagged } = checkOptions('routeByTag', OPTIONS, options);
  return internalOperator(
    async function* (input) {
      for await (const batch of input) {
        const items = withOrigin(batch.origin, () => routesOf(batch.items, untagged));
        yield { ...batch, items };
      }
    },
    { step: { step: 'routeByTag', untagged } },
  );
}

function routesOf(activities: readonly Activity[], untagged: string): Routed[] {
  const routed: Routed[] = [];
  for (const activity of activities) {
    const { tags } = activity;
    if (tags.length === 0) routed.push({ tag: untagged, activity });
    for (const tag of tags) {
      if (tag === untagged)
        throw new DataError(
          `A rule has the tag ${JSON.stringify(tag)}, which is the name for activities without one; give them another: routeByTag({ untagged: '...' })`,
        );
      routed.push({ tag, activity });
    }
  }
  return routed;
}
