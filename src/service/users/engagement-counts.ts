import { DAY, type Window } from '../../base/time.js';
import type { Activity } from '../../post/activity.js';
import { fieldsOf } from '../../post/read-fields.js';
import type { RuleNode } from '../../rules/tree.js';
import type { Archive, ArchivedPost, SortKey } from '../archive/archive.js';
import type { LookUpLimits } from '../archive/look-up-post.js';
import { getOrMake } from '../cache.js';
import { DeadlineError } from '../event-loop-yield.js';

export const TOTALED_TYPES = ['favorites', 'retweets', 'replies'] as const;
export type TotaledType = (typeof TOTALED_TYPES)[number];

/**
 * The keys by which totals can be grouped. A request may list them in any order. The groups are nested in
 * this order.
 */
export const GROUPS = ['tweet.id', 'engagement.type'] as const;
export type Group = (typeof GROUPS)[number];

export interface EngagementRequest {
  /** The ids, as digits, without duplicates. */
  readonly ids: readonly string[];
  readonly types: readonly TotaledType[];
  readonly groupings: ReadonlyMap<string, readonly Group[]>;
}

export type Engagements = Record<TotaledType, number>;

/** Retweets and replies in the archive are counted if they follow the post within this time, in milliseconds. */
const MAX_REACTION_MS = 31 * DAY;
const PAGE = 500;

/**
 * Returns the numbers of likes, retweets and replies of posts, by id. Each number is the maximum of three
 * numbers:
 *
 * - the number that the post itself states;
 * - the number that a retweet of the post states;
 * - the number of retweets and replies in the archive in the 31 days after the post.
 *
 * @throws DeadlineError
 */
export async function engagementsOf(
  posts: readonly ArchivedPost[],
  archive: Archive,
  limits: LookUpLimits,
): Promise<ReadonlyMap<string, Engagements>> {
  const totals = new Map(posts.map(({ id, activity }) => [id, statedBy(activity)]));
  for (const { window, ids } of reactionWindows(posts, archive.reactionsMs ?? MAX_REACTION_MS)) {
    const found = new Map<string, { retweets: number; replies: number }>();
    for await (const activity of reactions(ids, archive, window, limits)) {
      const { retweeted, repliedId } = fieldsOf(activity);
      const shared = activity.retweeted;
      const sharedTotals = shared && totals.get(shared.id);
      if (shared !== undefined && sharedTotals !== undefined) raise(sharedTotals, statedBy(shared));
      for (const [id, type] of [
        [retweeted?.id, 'retweets'],
        [repliedId, 'replies'],
      ] as const) {
        if (id === undefined || !ids.has(id)) continue;
        getOrMake(found, id, () => ({ retweets: 0, replies: 0 }))[type]++;
      }
    }
    for (const [id, counts] of found) raise(totals.get(id) as Engagements, counts);
  }
  return totals;
}

/** Returns the counts of likes, retweets and replies that a post of either format contains. */
function statedBy(activity: Activity): Engagements {
  const post = activity.post as unknown as Readonly<Record<string, unknown>>;
  const count = (...names: readonly string[]) => {
    const stated = names.map(name => post[name]).filter(Number.isSafeInteger);
    return Math.max(0, ...stated.map(Number));
  };
  return {
    favorites: count('favorite_count', 'favoritesCount'),
    retweets: count('retweet_count', 'retweetCount'),
    replies: count('reply_count'),
  };
}

function raise(totals: Engagements, others: Partial<Engagements>): void {
  for (const [type, count] of Object.entries(others) as [TotaledType, number][])
    totals[type] = Math.max(totals[type], count);
}

interface ReactionWindow {
  window: Window;
  readonly ids: Set<string>;
}

/**
 * Returns the time windows to search for retweets of these posts and replies to them. Overlapping windows are
 * joined. Windows with a gap stay separate, because the gap may be years long.
 */
function reactionWindows(
  posts: readonly ArchivedPost[],
  lengthMs: number,
): readonly ReactionWindow[] {
  const windows: ReactionWindow[] = [];
  for (const { at, id } of posts.toSorted((a, b) => a.at - b.at)) {
    const last = windows.at(-1);
    if (last !== undefined && at < last.window.to) {
      last.window = { from: last.window.from, to: at + lengthMs };
      last.ids.add(id);
    } else windows.push({ window: { from: at, to: at + lengthMs }, ids: new Set([id]) });
  }
  return windows;
}

async function* reactions(
  ids: ReadonlySet<string>,
  archive: Archive,
  window: Window,
  { signal, deadline }: LookUpLimits,
): AsyncGenerator<Activity> {
  const nodes = [...ids].flatMap((value): RuleNode[] => [
    { kind: 'operator', name: 'retweets_of_status_id', value, start: 0, end: 0 },
    { kind: 'operator', name: 'in_reply_to_status_id', value, start: 0, end: 0 },
  ]);
  const rule = {
    tree: { kind: 'or', nodes, start: 0, end: 0 } as const,
    matches: (activity: Activity) => {
      const { retweeted, repliedId } = fieldsOf(activity);
      return ids.has(repliedId) || (retweeted !== undefined && ids.has(retweeted.id));
    },
  };
  let after: SortKey | undefined;
  for (;;) {
    const options = { limit: PAGE, after, deadlineMs: deadline?.leftMs, signal };
    const { posts, more, reached } = await archive.search(rule, window, options);
    if (reached !== undefined) throw new DeadlineError();
    for (const { activity } of posts) yield activity;
    after = posts.at(-1);
    if (!more || after === undefined) return;
  }
}

type Totals = { readonly [group: string]: Totals | string };

/** Returns the groupings of a response, nested in the order of their `group_by`. Counts are strings. */
export function groupTotals(
  { types, groupings }: Pick<EngagementRequest, 'types' | 'groupings'>,
  engagements: ReadonlyMap<string, Engagements>,
): Readonly<Record<string, Totals>> {
  const ids = [...engagements.keys()];
  const total = (ofIds: readonly string[], ofTypes: EngagementRequest['types']): string => {
    let sum = 0;
    for (const id of ofIds)
      for (const type of ofTypes) sum += (engagements.get(id) as Engagements)[type];
    return String(sum);
  };
  const nest = (
    groups: readonly Group[],
    ofIds: readonly string[],
    ofTypes: EngagementRequest['types'],
  ): Totals | string => {
    const [group, ...rest] = groups;
    if (group === undefined) return total(ofIds, ofTypes);
    return Object.fromEntries(
      group === 'tweet.id'
        ? ofIds.map(id => [id, nest(rest, [id], ofTypes)])
        : ofTypes.map(type => [type, nest(rest, ofIds, [type])]),
    );
  };
  return Object.fromEntries(
    [...groupings].map(([name, groups]) => [name, nest(groups, ids, types) as Totals]),
  );
}
