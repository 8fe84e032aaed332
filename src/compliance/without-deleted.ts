import {
  checkOptions,
  flag,
  type OptionTable,
  oneOf,
  optionError,
  special,
} from '../base/check.js';
import { stepOperator } from '../files/plan.js';
import type { RecordColumn } from '../files/record-columns.js';
import type { Rows } from '../files/rows.js';
import type { Operator } from '../flow/flow.js';
import { checkActivities } from '../flow/wrong-item.js';
import { Activity } from '../post/activity.js';
import { ID_OF, SHOWN_INTS, ShownIds } from '../post/bytes/shown-ids.js';
import {
  type HidingOptions,
  hiddenByPost,
  hiddenByUser,
  hideDeleted,
  hidingCountries,
} from './hidden-posts.js';
import { Tombstones } from './tombstones.js';

export const HIDING_OPTIONS = {
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
} satisfies OptionTable<HidingOptions>;

/**
 * Removes posts that must no longer be shown:
 * - deleted or dropped posts, and their retweets;
 * - posts of users who are deleted, protected or suspended;
 * - posts that are withheld in a country, by an event or by `withheld_in_countries` of the post or its
 *   author;
 * - earlier versions of an edited post.
 *
 * If the author has removed the location of a post, the post passes without its location. If a post quotes a
 * hidden post, it passes without the quote. All other posts stay unchanged, byte for byte.
 *
 * Each post is compared with the tombstones at the time when it passes. To remove posts that are deleted
 * later from stored files, use `applyCompliance`.
 *
 * @example
 * const posts = replay(account(), { streamType: 'rulestream', fromDate, toDate });
 * await pipeline(posts, withoutDeleted(tombstones, { country: 'DE' }), files({ path: 'out/{day}.jsonl' }));
 */
export function withoutDeleted(
  tombstones: Tombstones,
  options: HidingOptions = {},
): Operator<Activity, Activity> {
  checkTombstones('withoutDeleted', tombstones);
  const hiding = checkOptions('withoutDeleted', HIDING_OPTIONS, options);
  const identity = {
    step: 'withoutDeleted',
    country: hiding.country?.toUpperCase() ?? null,
    earlierVersions: hiding.earlierVersions,
    mask: hiding.mask,
  };
  return stepOperator({
    identity,
    columns: [SHOWN_IDS],
    replaces: true,
    check: batch => checkActivities('withoutDeleted', batch),
    start: ({ resume, progress }) => ({
      resume,
      pass: async rows => {
        const left = await withoutHidden(tombstones, rows, hiding);
        progress?.drop('deleted', rows.count - left.count);
        return left;
      },
    }),
  });
}

async function withoutHidden(
  tombstones: Tombstones,
  rows: Rows,
  options: HidingOptions,
): Promise<Rows> {
  const states = statesOf(tombstones, rows, options);
  const suspects = rows.rows.filter(row => states[row] === SUSPECT);
  let left = rows;
  if (suspects.length > 0) {
    const posts = await rows.records(suspects);
    const changed = new Map<number, Activity>();
    for (const [at, row] of suspects.entries()) {
      const result = hideDeleted(tombstones, new Activity(posts[at]!), options);
      if (result.activity === undefined) states[row] = HIDDEN;
      else if (result.changed) changed.set(row, result.activity);
    }
    if (changed.size > 0) left = await rows.replaced(changed);
  }
  return left.filter(row => states[row] !== HIDDEN);
}

/**
 * The number of integers in `SHOWN_IDS` for each id: the row of the post, then `SHOWN_INTS` integers for the
 * id.
 */
const ROW_ID_INTS = 1 + SHOWN_INTS;

/**
 * The ids that decide whether each post may be shown, in the order of the posts. Each id takes `ROW_ID_INTS`
 * integers.
 */
export const SHOWN_IDS: RecordColumn<Uint32Array, undefined> = {
  kind: {
    name: 'shownIds',
    create: () => {
      const shown = new ShownIds();
      return rows => {
        // The initial capacity is two ids per post, because most posts neither share nor quote
        // another post.
        let ids = new Uint32Array(2 * ROW_ID_INTS * rows.count + 62);
        let end = 0;
        rows.each((row, content, from, to) => {
          shown.read(content, from, to);
          const size = (shown.length / SHOWN_INTS) * ROW_ID_INTS;
          if (end + size > ids.length) {
            const grown = new Uint32Array(2 * (end + size));
            grown.set(ids);
            ids = grown;
          }
          for (let at = 0; at < shown.length; ) {
            ids[end++] = row;
            for (const next = at + SHOWN_INTS; at < next; at++) ids[end++] = shown.numbers[at]!;
          }
        });
        return ids.subarray(0, end);
      };
    },
    moved: ids => [ids],
  },
  options: undefined,
};

// The states of a post. To determine them, `statesOf` compares only the ids in the post with the tombstones.
const SHOWN = 1;
/** The post may have to be hidden, masked or changed, for which its bytes must be read. */
const SUSPECT = 2;
const HIDDEN = 3;

/**
 * Returns `SHOWN`, `SUSPECT` or `HIDDEN` for each post, by its row; 0 for a post that an earlier step has
 * dropped.
 */
function statesOf(tombstones: Tombstones, rows: Rows, options: HidingOptions): Uint8Array {
  const shownIds = rows.column(SHOWN_IDS);
  const states = new Uint8Array(rows.columnSize);
  const countries = hidingCountries(options);
  for (const row of rows.rows) states[row] = SHOWN;
  for (let at = 0; at < shownIds.length; at += ROW_ID_INTS) {
    const row = shownIds[at]!;
    if (states[row] === 0 || states[row] === HIDDEN) continue;
    const of = shownIds[at + 1]!;
    const [high, low] = [shownIds[at + 2]!, shownIds[at + 3]!];
    const isHidden =
      (of & ID_OF.country) !== 0
        ? countries.has(low) || undefined
        : (of & ID_OF.user) !== 0
          ? isHiddenBy(tombstones.userAt(high, low), user => hiddenByUser(user, options))
          : isHiddenBy(tombstones.postAt(high, low), post =>
              of === ID_OF.version ? post.deleted : hiddenByPost(post, options),
            );
    // A post is only `SUSPECT` if its bytes are needed: to create a mask from them, or to remove the quote of
    // a hidden post from them.
    const isDecided = options.mask !== true && (of & ID_OF.quoted) === 0;
    if (isHidden !== undefined) states[row] = isHidden && isDecided ? HIDDEN : SUSPECT;
  }
  return states;
}

function isHiddenBy<Mark>(
  mark: Mark | undefined,
  reasonOf: (mark: Mark) => unknown,
): boolean | undefined {
  return mark === undefined ? undefined : reasonOf(mark) !== undefined;
}

/** @throws OptionError if the value was not created by `openTombstones` */
export function checkTombstones(call: string, tombstones: unknown): void {
  if (!(tombstones instanceof Tombstones))
    throw optionError(call, 'tombstones', 'must be what `await openTombstones()` gives');
}
