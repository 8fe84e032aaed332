import { samplePosts } from 'millrace/service';
import type { ArchivedPost } from '../../../src/service/archive/archive.js';
import { MemoryArchive } from '../../service/memory-archive.js';
import { WINDOWS } from './windows.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let made: readonly ArchivedPost[] | undefined;

const makePosts = (): readonly ArchivedPost[] => [
  ...posts(WINDOWS.search, 2 * HOUR, 1),
  ...posts(WINDOWS.counts, 30 * HOUR, 1),
  ...posts(WINDOWS.replay, MINUTE, 4),
  ...posts(WINDOWS.job, 10 * MINUTE, 10),
];

/** Generated posts that match the query, `each` within `every` milliseconds: real shapes, ids of 64 bits. */
function posts(
  { from, to }: { readonly from: number; readonly to: number },
  every: number,
  each: number,
): ArchivedPost[] {
  const found: ArchivedPost[] = [];
  for (let start = from; start < to; start += every) {
    let count = 0;
    for (let minute = start; minute < Math.min(start + every, to) && count < each; minute += MINUTE)
      for (const activity of samplePosts(minute, { seed: 'faults', postsPerMinute: 60 })) {
        // A deleted post within another changes that one.
        const isAlone = !activity.raw.includes('"quoted_status"');
        if (!isAlone || !/\bcoffee\b/i.test(activity.text) || count >= each) continue;
        found.push({ at: activity.postedAt.getTime(), id: activity.id, activity });
        count++;
      }
  }
  return found;
}

export function newArchive({ repeats = false } = {}): MemoryArchive {
  made ??= makePosts();
  return repeats ? new RepeatingArchive(made) : new MemoryArchive(made);
}

/** Every third post of jobs and replays comes twice. */
class RepeatingArchive extends MemoryArchive {
  override async *scan(
    ...args: Parameters<MemoryArchive['scan']>
  ): ReturnType<MemoryArchive['scan']> {
    for await (const { segment, posts } of super.scan(...args))
      yield {
        segment,
        posts: posts.flatMap((post, index) => (index % 3 === 0 ? [post, post] : [post])),
      };
  }
}
