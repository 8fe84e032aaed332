import { checkOptions, type OptionTable, text } from '../base/check.js';
import { DataError } from '../base/errors.js';
import { stepOperator } from '../files/planned.js';
import type { RecordColumn } from '../files/record-columns.js';
import type { Rows } from '../files/rows.js';
import type { Operator } from '../flow/flow.js';
import { checkActivities } from '../flow/wrong-item.js';
import type { Activity, Routed } from '../post/activity.js';
import { matchesAtEnd } from '../post/matching-rules.js';

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
    columns: [TAGS],
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

/** The tags of rows. */
interface RowTags {
  /** For each row, the number of its combination of tags. */
  readonly sets: Uint32Array;
  /** The distinct tags. */
  readonly tagNames: readonly string[];
  /** The combinations one after the other, as indexes in `tagNames`, and where each starts and the last ends. */
  readonly tagSets: Uint32Array;
  readonly tagStarts: Uint32Array;
}

export const TAGS: RecordColumn<RowTags, undefined> = {
  kind: {
    name: 'tags',
    create: () => rows => {
      const { content, count, starts, lengths, marks } = rows;
      const sets = new Uint32Array(count);
      const combinations = new TagCombinations();
      for (let row = 0; row < count; row++) {
        const length = lengths[row]!;
        if (length === 0) continue;
        // Posts of the other format may have a member of this name that is not read.
        const matches =
          marks[row] === 0 ? undefined : matchesAtEnd(content, starts[row]!, starts[row]! + length);
        sets[row] = combinations.numberOf((matches ?? (rows.item(row) as Activity)).tags);
      }
      return { sets, ...combinations.tables() };
    },
    moved: ({ sets }) => [sets],
  },
  options: undefined,
};

/** Numbers combinations of tags in the order in which they occur. */
class TagCombinations {
  readonly #names = new Map<string, number>();
  /** Most posts share the arrays of few combinations. */
  readonly #numbers = new Map<readonly string[], number>();
  readonly #sets: number[] = [];
  readonly #starts: number[] = [0];

  numberOf(tags: readonly string[]): number {
    let number = this.#numbers.get(tags);
    if (number === undefined) {
      for (const tag of tags) this.#sets.push(this.#indexOf(tag));
      number = this.#starts.push(this.#sets.length) - 2;
      this.#numbers.set(tags, number);
    }
    return number;
  }

  tables(): Omit<RowTags, 'sets'> {
    return {
      tagNames: [...this.#names.keys()],
      tagSets: Uint32Array.from(this.#sets),
      tagStarts: Uint32Array.from(this.#starts),
    };
  }

  #indexOf(tag: string): number {
    const index = this.#names.get(tag) ?? this.#names.size;
    this.#names.set(tag, index);
    return index;
  }
}

/** The same for rows. */
function routedRows(posts: Rows, untagged: string): Rows {
  const { sets, tagNames, tagSets, tagStarts } = posts.column(TAGS);
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
  return posts.routed(rows, tags, [untagged, ...tagNames], (tag, activity) => ({ tag, activity }));
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
