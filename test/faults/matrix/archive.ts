import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Activity } from '../../../src/activity/activity.js';
import type { ArchivedPost } from '../../../src/service/archive/archive.js';
import { samplePosts } from '../../../src/service/index.js';
import { MemoryArchive } from '../../service/memory-archive.js';
import { WINDOWS } from './windows.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let made: readonly ArchivedPost[] | undefined;

/** Beside the compiled script, which each build makes again: making the posts takes longer than most trials. */
const KEPT = path.join(import.meta.dirname, 'archive.jsonl');

function keptPosts(): readonly ArchivedPost[] {
  if (!existsSync(KEPT)) {
    const written = `${KEPT}.${process.pid}`;
    writeFileSync(
      written,
      makePosts()
        .map(({ activity }) => `${activity.raw}\n`)
        .join(''),
    );
    renameSync(written, KEPT);
  }
  const lines = readFileSync(KEPT, 'utf8').trimEnd().split('\n');
  return lines.map(line => archived(new Activity(Buffer.from(line))));
}

function archived(activity: Activity): ArchivedPost {
  return { at: activity.postedAt.getTime(), id: activity.id, activity };
}

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
        found.push(archived(activity));
        count++;
      }
  }
  return found;
}

export function newArchive({ repeats = false } = {}): MemoryArchive {
  made ??= keptPosts();
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
