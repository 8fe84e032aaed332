import { checkOptions, type OptionTable, text } from '../base/check.js';
import { DataError } from '../base/errors.js';
import { stepOperator } from '../files/plan.js';
import type { RecordColumn } from '../files/record-columns.js';
import type { Rows } from '../files/rows.js';
import type { Operator } from '../flow/flow.js';
import { checkActivities } from '../flow/wrong-item.js';
import type { Activity, Routed } from '../post/activity.js';
import { isInTagId } from '../post/bytes/ids.js';
import { matchesAtEnd, matchesInGnipAtEnd } from '../post/matching-rules.js';

/** Options of `routeByTag`: the tag for activities that have none. */
export interface RouteByTagOptions {
  /**
   * The tag for activities that matched no rule with a tag. No rule may have this tag.
   * @default 'untagged'
   */
  readonly untagged?: string | undefined;
}

const OPTIONS = {
  untagged: text('where activities without a tag go', 'untagged'),
} satisfies OptionTable<RouteByTagOptions>;

/**
 * Delivers each activity once for each distinct tag of its matching rules (`matching_rules`).
 *
 * @throws DataError From the flow, if the tag of a rule equals `untagged`. Activities with that tag could not
 *   be told apart from activities without a tag.
 *
 * @example
 * pipeline(search(account(), query), routeByTag(), files({ path: 'out/{tag}/{day}.jsonl' }));
 */
export function routeByTag(options: RouteByTagOptions = {}): Operator<Activity, Routed> {
  const { untagged } = checkOptions('routeByTag', OPTIONS, options);
  return stepOperator({
    identity: { step: 'routeByTag', untagged },
    columns: [TAGS],
    routes: true,
    check: batch => checkActivities('routeByTag', batch),
    start: ({ resume }) => ({ resume, pass: rows => routedRows(rows, untagged) }),
  });
}

interface RowTags {
  /** For each row, the index in `tagSets` of its combination of tags. */
  readonly sets: Uint32Array;
  /** The lists of tags to which `sets` refers. Posts with the same list of rules share one list of tags. */
  readonly tagSets: readonly (readonly string[])[];
}

export const TAGS: RecordColumn<RowTags, undefined> = {
  kind: {
    name: 'tags',
    create: () => rows => {
      const { content, count, starts, lengths, marks } = rows;
      const sets = new Uint32Array(count);
      const tagSets: (readonly string[])[] = [];
      // Compares arrays of tags by identity. Posts with the same list of rules share one array of tags.
      const numbers = new Map<readonly string[], number>();
      for (let row = 0; row < count; row++) {
        const length = lengths[row]!;
        if (length === 0) continue;
        const start = starts[row]!;
        const mark = marks[row]!;
        // Looks for the rules only in the member that the post's format uses. A post may have an unrelated
        // member with the name that the other format uses.
        const matchesOf = isInTagId(content, start + mark) ? matchesInGnipAtEnd : matchesAtEnd;
        const matches = mark === 0 ? undefined : matchesOf(content, start, start + length);
        const { tags } = matches ?? (rows.item(row) as Activity);
        let set = numbers.get(tags);
        if (set === undefined) {
          set = tagSets.push(tags) - 1;
          numbers.set(tags, set);
        }
        sets[row] = set;
      }
      return { sets, tagSets };
    },
    moved: ({ sets }) => [sets],
  },
  options: undefined,
};

function routedRows(rows: Rows, untagged: string): Rows {
  const { sets, tagSets } = rows.column(TAGS);
  const isRefused = (tags: readonly string[]) => tags.includes(untagged);
  if (tagSets.some(isRefused) && rows.rows.some(row => isRefused(tagSets[sets[row]!]!)))
    throw new DataError(
      `A rule has the tag ${JSON.stringify(untagged)}, which is the name for activities without one; give them another: routeByTag({ untagged: '...' })`,
    );
  const named = tagSets.map(tags => (tags.length === 0 ? [untagged] : tags));
  return rows.routed(sets, named, (tag, activity) => ({ tag, activity }));
}
