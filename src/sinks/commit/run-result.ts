import type { Progress } from '../../flow/progress.js';
import type { Json } from '../../json/type-guards.js';
import type { CheckpointStore } from './checkpoint-file.js';
import { type CommittedFile, DAMAGED } from './checkpoint-text.js';

/** A finished file. `path` is its final name. */
export interface WrittenFile {
  readonly path: string;
  readonly posts: number;
  /** The size of the file on disk, after compression. */
  readonly bytes: number;
  /**
   * The result of `onFile`; `null` if it returned nothing. Absent if `onFile` was not called or has failed.
   */
  readonly handedOn?: Json | undefined;
}

/**
 * The result of `files` or `stdout`. If this run has resumed earlier runs, it includes what those runs have
 * written.
 */
export interface Written {
  /** The number of lines, one for each item. A post that is routed to two tags counts twice. */
  readonly posts: number;
  /** The number of bytes that were written to disk or passed to the stream. */
  readonly bytes: number;
  /** The files, in the order in which they were created; empty for a stream. */
  readonly files: readonly WrittenFile[];
  /**
   * The time at which an earlier run completed the checkpoint. Set only if this run found the checkpoint
   * complete, and therefore opened no files and sent no requests.
   */
  readonly completeSince?: Date | undefined;
  /**
   * The number of records in the file of the option `damaged`, including earlier runs; absent without that
   * option. For a branch of `tee`, this is the number for all branches together.
   */
  readonly damaged?: number | undefined;
  /**
   * The number of lines that this run alone has written. Set only if the source is `incremental`. 0 means
   * that there were no new items.
   */
  readonly added?: number | undefined;
  /**
   * Set for `localFiles` with `incremental`: the number of files that have changed since an earlier run read
   * them, for example because of `applyCompliance`. These files are not read again. Absent if there are none.
   */
  readonly changedFiles?: number | undefined;
}

export interface SinkOfRun {
  readonly branch?: number | undefined;
}

export interface RunOfSinks {
  readonly sinks: readonly SinkOfRun[];
  readonly damaged: string | undefined;
  readonly progress: Progress | undefined;
}

export interface RunResult {
  readonly written: readonly Written[];
  /** The number of damaged records; `undefined` if no run has had a file of damaged records. */
  readonly damaged: number | undefined;
  readonly completeSince?: Date | undefined;
}

export function withAdded(
  { sinks, progress }: RunOfSinks,
  run: RunResult,
  { store, before }: { readonly store: CheckpointStore; readonly before: readonly CommittedFile[] },
): RunResult {
  const written = run.written.map((result, index) => {
    const own = before.filter(file => file.branch === sinks[index]?.branch);
    const postsBefore = own.reduce((sum, { posts }) => sum + posts, 0);
    return { ...result, added: result.posts - postsBefore, ...changedFilesOf(progress) };
  });
  if (written.every(({ added }) => added === 0) && !store.hasNew) progress?.tell('nothing new');
  return { ...run, written };
}

export function changedFilesOf(progress: Progress | undefined): Pick<Written, 'changedFiles'> {
  const { changedFiles = 0 } = progress ?? {};
  return changedFiles === 0 ? {} : { changedFiles };
}

export function writtenOf(
  { sinks, damaged }: RunOfSinks,
  committed: readonly CommittedFile[],
): RunResult {
  const kept = committed.filter(({ branch }) => branch === DAMAGED);
  const records = kept.reduce((sum, { posts }) => sum + posts, 0);
  const count = damaged !== undefined || kept.length > 0 ? records : undefined;
  const written = sinks.map(({ branch }) => {
    const files = committed.filter(file => file.branch === branch);
    return {
      posts: files.reduce((sum, { posts }) => sum + posts, 0),
      bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
      files: files.map(({ path: file, posts, bytes, handedOn }) => ({
        path: file,
        posts,
        bytes,
        ...(handedOn !== undefined && { handedOn }),
      })),
      ...(count !== undefined && { damaged: count }),
    };
  });
  return { written, damaged: count };
}
