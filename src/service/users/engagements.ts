import type { Activity } from '../../activity/activity.js';
import { fieldsOf } from '../../activity/fields-of.js';
import type { RuleNode } from '../../rules/tree.js';
import { DAY, type Window } from '../../time.js';
import type { Archive, ArchivedPost, SortKey } from '../archive/archive.js';
import type { EngagementType } from './engagement-request.js';

export type Engagements = Record<EngagementType, number>;

/** For how long reposts and replies are looked for at most: later ones count only where a post says so. */
const LOOKED_FOR_MS = 31 * DAY;
const PAGE = 500;

/**
 * How often posts were liked, reposted and answered, by id: the greatest number that the archive
 * shows, be it what the post itself says, what a repost says of it, or the reposts and replies of
 * the 31 days after it that are in the archive.
 */
export async function engagementsOf(
  posts: readonly ArchivedPost[],
  archive: Archive,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Engagements>> {
  const totals = new Map(posts.map(({ id, activity }) => [id, statedBy(activity)]));
  for (const { window, ids } of stretches(posts, archive.reactionsMs ?? LOOKED_FOR_MS)) {
    const found = new Map<string, { retweets: number; replies: number }>();
    for await (const activity of reactions(ids, archive, window, signal)) {
      const { retweeted, repliedId } = fieldsOf(activity);
      const shared = activity.retweeted;
      const sharedTotals = shared && totals.get(shared.id);
      if (shared !== undefined && sharedTotals !== undefined) raise(sharedTotals, statedBy(shared));
      for (const [id, type] of [
        [retweeted?.id, 'retweets'],
        [repliedId, 'replies'],
      ] as const) {
        if (id === undefined || !ids.has(id)) continue;
        const counts = found.get(id) ?? { retweets: 0, replies: 0 };
        counts[type]++;
        found.set(id, counts);
      }
    }
    for (const [id, counts] of found) raise(totals.get(id) as Engagements, counts);
  }
  return totals;
}

/** The numbers that a post carries, in either format. */
function statedBy(activity: Activity): Engagements {
  const post = activity.post as unknown as Readonly<Record<string, unknown>>;
  const count = (...names: readonly string[]) =>
    Math.max(
      0,
      ...names
        .map(name => post[name])
        .filter(Number.isSafeInteger)
        .map(Number),
    );
  return {
    favorites: count('favorite_count', 'favoritesCount'),
    retweets: count('retweet_count', 'retweetCount'),
    replies: count('reply_count'),
  };
}

function raise(totals: Engagements, others: Partial<Engagements>): void {
  for (const [type, count] of Object.entries(others) as [EngagementType, number][])
    totals[type] = Math.max(totals[type], count);
}

interface Stretch {
  readonly window: Window;
  readonly ids: Set<string>;
}

/** Posts whose times of reactions overlap are looked at together, others apart: years may lie between them. */
function stretches(posts: readonly ArchivedPost[], lengthMs: number): readonly Stretch[] {
  const found: { window: Window; ids: Set<string> }[] = [];
  for (const { at, id } of posts.toSorted((a, b) => a.at - b.at)) {
    const last = found.at(-1);
    if (last !== undefined && at < last.window.to) {
      last.window = { from: last.window.from, to: at + lengthMs };
      last.ids.add(id);
    } else found.push({ window: { from: at, to: at + lengthMs }, ids: new Set([id]) });
  }
  return found;
}

/** Reposts of posts and replies to them. */
async function* reactions(
  ids: ReadonlySet<string>,
  archive: Archive,
  window: Window,
  signal: AbortSignal,
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
    const { posts, more } = await archive.search(rule, window, { limit: PAGE, after, signal });
    for (const { activity } of posts) yield activity;
    after = posts.at(-1);
    if (!more || after === undefined) return;
  }
}
