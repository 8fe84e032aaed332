import type { Activity } from '../../activity/activity.js';
import type { RuleMatcher } from '../../rules/index/compile-rules.js';
import { formatSent, SEGMENT } from '../../time.js';
import type { Archive, ArchivedPost } from '../archive/archive.js';
import { EventLoopYield } from '../event-loop-yield.js';
import type { DataFile, Job } from './job.js';
import { jobMatcher } from './job-matcher.js';
import type { JobStore } from './job-store.js';
import { writeDataFile } from './write-data-file.js';

export interface GenerateOptions {
  readonly archive: Archive;
  readonly store: JobStore;
  /** Files that are there already; new ones are added. */
  readonly files: DataFile[];
  /** Whether each file ends in an `info` line, sent when the job began to run. */
  readonly infoLine: boolean;
  readonly signal: AbortSignal;
  /** Told of the posts of each file, once it is written. */
  onWritten(ids: readonly string[]): void;
  /** Told how much of the window is done, 0 to 1. */
  onProgress(fraction: number): void;
}

/** Writes the files of a job, one for each ten minutes with data (service.md 2.6), oldest first. */
export async function generateFiles(job: Job, options: GenerateOptions): Promise<void> {
  const { archive, store, files, signal, onProgress, onWritten } = options;
  const matcher = await jobMatcher(job.rules, signal);
  const last = files.at(-1);
  // What an earlier run of the service has written stays.
  const from = last === undefined ? job.from : last.segment + SEGMENT;
  if (from < job.to) {
    for await (const { segment, posts } of archive.scan({ from, to: job.to }, { signal })) {
      const matched = await matchAll(matcher, posts, signal);
      if (matched.length > 0) {
        const path = await store.dataFile(job, segment);
        const lines = linesOf(matched, options.infoLine ? job.since : undefined);
        const written = await writeDataFile(path, lines, signal);
        const file = { segment, posts: matched.length, ...written };
        await store.addFile(job, file);
        files.push(file);
        onWritten(matched.map(({ id }) => id));
      }
      onProgress((segment + SEGMENT - job.from) / (job.to - job.from));
    }
  }
  onProgress(1);
}

async function matchAll(
  matcher: RuleMatcher,
  posts: readonly ArchivedPost[],
  signal: AbortSignal,
): Promise<readonly Activity[]> {
  const matched: Activity[] = [];
  const work = new EventLoopYield(signal);
  for (const { activity } of posts) {
    if (work.isDue) await work.pause();
    const rules = matcher.match(activity);
    if (rules.length > 0) matched.push(activity.withMatchingRules(rules));
  }
  return matched;
}

const LINE_END = Buffer.from('\n');

function* linesOf(
  activities: readonly Activity[],
  infoSent: number | undefined,
): Generator<Uint8Array> {
  for (const activity of activities) {
    yield activity.raw;
    yield LINE_END;
  }
  if (infoSent === undefined) return;
  const info = {
    message: 'Replay Request Completed',
    sent: formatSent(infoSent),
    activity_count: activities.length,
  };
  yield Buffer.from(JSON.stringify({ info }));
}
