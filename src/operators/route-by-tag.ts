import { checkOptions, type OptionTable, text } from '../base/check.js';
import { DataError } from '../base/errors.js';
import { stepOperator } from '../files/planned.js';
import type { Rows } from '../files/rows.js';
import type { Operator } from '../flow/flow.js';
import { checkActivities } from '../flow/wrong-item.js';
import type { Activity, Routed } from '../post/activity.js';

/** The tag that `routeByTag` gives to activities without one. */
export interface RouteByTagOptions {
  /**
   * The tag of activities that matched no rule with a tag. No rule may have this tag.
   * @default 'untagged'
   */
  readonly untagged?: string | undefined;
}

/** Stands for a tag that no rule may have. */
const REFUSED = 0xffffffff;

const OPTIONS = {
  untagged: text('where activities without a tag go', 'untagged'),
} satisfies OptionTable<RouteByTagOptions>;

/**
 * Passes each activity once for each distinct tag of the rules that it matched (its `matching_rules`).
 *
 * @throws DataError From the flow, when a rule's tag equals `untagged`: activities with
 * that tag and without one would look the same.
 *
 * @example
 * pipeline(search(account(), query), routeByTag(), files({ path: 'out/{tag}/{day}.jsonl' }));
 */
export function routeByTag(options: RouteByTagOptions = {}): Operator<Activity, Routed> {
  const { untagged } = checkOptions('routeByTag', OPTIONS, options);
  return stepOperator({
    identity: { step: 'routeByTag', untagged },
    fields: { tags: true },
    routes: true,
    start: ({ resume }) => ({
      resume,
      items: (items: readonly Activity[], origin) => {
        checkActivities('routeByTag', { items, origin });
        return routesOf(items, untagged);
      },
      rows: rows => routedRows(rows, untagged),
    }),
  });
}

function routesOf(activities: readonly Activity[], untagged: string): Routed[] {
  const routed: Routed[] = [];
  for (const activity of activities) {
    const { tags } = activity;
    if (tags.length === 0) routed.push({ tag: untagged, activity });
    for (const tag of tags) {
      refuse(tag, untagged);
      routed.push({ tag, activity });
    }
  }
  return routed;
}

/** The same for rows. */
function routedRows(posts: Rows, untagged: string): Rows {
  const { tags: sets, tagNames, tagSets, tagStarts } = posts.fields;
  const indexes = new Uint32Array(tagSets.length + tagStarts.length);
  const starts = new Uint32Array(tagStarts.length);
  let next = 0;
  for (let set = 0; set + 1 < tagStarts.length; set++) {
    for (let at = tagStarts[set]!; at < tagStarts[set + 1]!; at++)
      indexes[next++] = tagNames[tagSets[at]!] === untagged ? REFUSED : 1 + tagSets[at]!;
    // Those without a tag have the first name.
    if (tagStarts[set] === tagStarts[set + 1]) indexes[next++] = 0;
    starts[set + 1] = next;
  }
  const { rows, tags } = routes(posts.rows, sets, starts, indexes);
  if (tags.includes(REFUSED)) refuse(untagged, untagged);
  return posts.routed(rows, tags, [untagged, ...tagNames]);
}

/** Each row once for each index of its set. Apart, as V8 optimises a short loop over typed arrays quickly. */
function routes(rows: Uint32Array, sets: Uint32Array, starts: Uint32Array, indexes: Uint32Array) {
  let count = 0;
  for (let at = 0; at < rows.length; at++) {
    const set = sets[rows[at]!]!;
    count += starts[set + 1]! - starts[set]!;
  }
  const routed = new Uint32Array(count);
  const tags = new Uint32Array(count);
  let next = 0;
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at]!;
    const set = sets[row]!;
    for (let index = starts[set]!; index < starts[set + 1]!; index++) {
      routed[next] = row;
      tags[next++] = indexes[index]!;
    }
  }
  return { rows: routed, tags };
}

function refuse(tag: string, untagged: string): void {
  if (tag === untagged)
    throw new DataError(
      `A rule has the tag ${JSON.stringify(tag)}, which is the name for activities without one; give them another: routeByTag({ untagged: '...' })`,
    );
}
