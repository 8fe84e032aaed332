import { Activity } from '../activity/activity.js';
import { checkActivities } from '../activity/wrong-item.js';
import { checkOptions, flag, type OptionTable, oneOf, optionError, special } from '../check.js';
import { stepOperator } from '../engine/planned.js';
import { type RowFields, SHOWN_INTS } from '../engine/row-fields.js';
import type { Rows } from '../engine/rows.js';
import type { Operator, Run } from '../flow/flow.js';
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
  const identity = {
    step: 'withoutDeleted',
    country: redacting.country?.toUpperCase() ?? null,
    earlierVersions: redacting.earlierVersions,
    mask: redacting.mask,
  };
  const start = ({ resume, progress }: Run) => ({
    resume,
    items: (items: readonly Activity[], origin: string | undefined) => {
      checkActivities('withoutDeleted', { items, origin });
      const left = items
        .map(activity => redact(tombstones, activity, redacting).activity)
        .filter(activity => activity !== undefined);
      progress?.drop('deleted', items.length - left.length);
      return left;
    },
    rows: async (rows: Rows) => {
      const left = await withoutHidden(tombstones, rows, redacting);
      progress?.drop('deleted', rows.rows.length - left.length);
      return { ...rows, rows: left };
    },
  });
  return stepOperator({ identity, start, fields: { shownIds: true } });
}

/** Redacts the posts that have anything to do with a tombstone, which are few. */
async function withoutHidden(
  tombstones: Tombstones,
  { file, rows }: Rows,
  options: RedactOptions,
): Promise<Uint32Array> {
  const marked = markedRows(tombstones, file.fields);
  const suspects = marked.size === 0 ? new Uint32Array() : rows.filter(row => marked.has(row));
  if (suspects.length === 0) return rows;
  const posts = await file.posts(suspects);
  const hidden = new Set<number>();
  const changed = new Map<number, Activity>();
  for (const [at, row] of suspects.entries()) {
    const redacted = redact(tombstones, new Activity(posts[at]!), options);
    if (redacted.activity === undefined) hidden.add(row);
    else if (redacted.changed) changed.set(row, redacted.activity);
  }
  if (changed.size > 0) file.replace(Uint32Array.from(changed.keys()), [...changed.values()]);
  return hidden.size === 0 ? rows : rows.filter(row => !hidden.has(row));
}

/** The posts of which any id has a tombstone. */
function markedRows(tombstones: Tombstones, { shownIds, shownCount }: RowFields): Set<number> {
  const marked = new Set<number>();
  for (let at = 0; at < shownCount; at += SHOWN_INTS)
    if (
      tombstones.has(shownIds[at + 1] === 1 ? 'user' : 'post', shownIds[at + 2]!, shownIds[at + 3]!)
    )
      marked.add(shownIds[at]!);
  return marked;
}

/** @throws OptionError */
export function checkTombstones(call: string, tombstones: unknown): void {
  if (!(tombstones instanceof Tombstones))
    throw optionError(call, 'tombstones', 'must be what `await openTombstones()` gives');
}
