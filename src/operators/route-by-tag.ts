import type { Activity } from '../activity/activity.js';
import type { Routed } from '../activity/routed.js';
import { checkOptions, type OptionTable, text } from '../check.js';
import { DataError } from '../errors.js';
import type { Operator } from '../flow/flow.js';
import { internalOperator } from '../flow/internal-flow.js';
import { withOrigin } from '../flow/with-origin.js';

export interface RouteByTagOptions {
  /**
   * Where activities go that matched no rule with a tag. No rule may have it as its own tag.
   * @default 'untagged'
   */
  readonly untagged?: string | undefined;
}

const OPTIONS = {
  untagged: text('where activities without a tag go', 'untagged'),
} satisfies OptionTable<RouteByTagOptions>;

/**
 * Each activity, once for every distinct tag of the rules that it matched (`matching_rules`,
 * service.md section 6).
 *
 * An activity whose rule has the very tag that `untagged` names throws a `DataError`: the two would
 * end up in one place, and nothing could tell them apart again.
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
