import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { formatSent, SEGMENT } from '../../base/time.js';
import type { Activity } from '../../post/activity.js';
import type { RuleMatcher } from '../../rules/index/compile-rules.js';
import type { Archive, ArchivedPost } from '../archive/archive.js';
import { EventLoopYield } from '../event-loop-yield.js';
import { blocksOf } from '../http/send-response.js';
import type { DataFile, JobRecord } from './job-record.js';
import { compileJobRules } from './job-rules.js';
import type { JobStore } from './job-store.js';

export interface GenerateFilesOptions {
  readonly archive: Archive;
  readonly store: JobStore;
  /** The files that were written so far. `generateFiles` appends each new file. */
  readonly files: DataFile[];
  /**
   * Whether each file ends in an `info` line. The `sent` in this line is the time at which the job began to
   * run.
   */
  readonly infoLine: boolean;
  readonly signal: AbortSignal;
  /** Called with the ids of the posts in each file, after it was written. */
  onWritten(ids: readonly string[]): void;
  /** Called with the completed fraction of the window, 0 to 1. */
  onProgress(fraction: number): void;
}

/** Writes the files of a job, oldest first. There is one file for each ten minutes that have matches. */
export async function generateFiles(job: JobRecord, options: GenerateFilesOptions): Promise<void> {
  const { archive, store, files, signal, onProgress, onWritten } = options;
  const matcher = await compileJobRules(job.rules, signal);
  const write = async (segment: number, matched: readonly Activity[]): Promise<void> => {
    const path = await store.dataFile(job, segment);
    const lines = linesOf(matched, options.infoLine ? job.since : undefined);
    const bytes = await compressed(lines, signal);
    await store.writeDataFile(path, bytes);
    const md5 = createHash('md5').update(bytes).digest('hex');
    const file = { segment, posts: matched.length, bytes: bytes.length, md5 };
    await store.addFile(job, file);
    files.push(file);
    onWritten(matched.map(({ id }) => id));
  };
  const last = files.at(-1);
  // After a restart of the service, `files` contains the files that were written before. They are not written
  // again.
  const from = last === undefined ? job.from : last.segment + SEGMENT;
  let writing = Promise.resolve();
  try {
    if (from < job.to)
      for await (const { segment, posts } of archive.scan({ from, to: job.to }, { signal })) {
        const matched = await matchAll(matcher, posts, signal);
        await writing;
        // Not awaited here. The posts for the next file can then be matched while the disk syncs this file.
        if (matched.length > 0) writing = write(segment, matched);
        writing.catch(() => {});
        onProgress((segment + SEGMENT - job.from) / (job.to - job.from));
      }
  } finally {
    await writing;
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

/**
 * Compresses the chunks to a gzip file in memory. This is acceptable, because the posts are also in memory and
 * are larger.
 */
function compressed(chunks: Iterable<Uint8Array>, signal: AbortSignal): Promise<Buffer> {
  const blocks = Readable.from(blocksOf(chunks), { objectMode: false });
  return pipeline(blocks, createGzip(), buffer, { signal });
}
