import type { Progress } from '../../flow/progress.js';
import type { Json } from '../../json/type-guards.js';
import type { CheckpointStore } from './checkpoint-file.js';
import { type CommittedFile, DAMAGED } from './checkpoint-text.js';

/** A finished file of `files`, under its final name. */
export interface WrittenFile {
  readonly path: string;
  readonly posts: number;
  /** Size on disk, after compression. */
  readonly bytes: number;
  /** What `onFile` resolved to, `null` for nothing; absent where it was not called, or has failed. */
  readonly handedOn?: Json | undefined;
}

/** What `files` or `stdout` has written, including earlier runs that this one resumed. */
export interface Written {
  /** Lines, one for each item: a post that is routed to two tags counts twice. */
  readonly posts: number;
  /** Bytes on disk, or handed to the stream. */
  readonly bytes: number;
  /** In the order of their creation; empty for a stream. */
  readonly files: readonly WrittenFile[];
  /** The time since which the checkpoint is complete, if this run found it complete and opened and requested nothing. */
  readonly completeSince?: Date | undefined;
  /**
   * With `damaged`: the number of records in that file, including earlier runs. In each branch of `tee`, the number
   * over all branches.
   */
  readonly damaged?: number | undefined;
  /** The number of lines that this run has written; set if the source is `incremental`. 0 means that nothing was new. */
  readonly added?: number | undefined;
  /**
   * Of `localFiles` with `incremental`: files that changed after an earlier run read them, as `applyCompliance` changes
   * them, and that are not read again. Absent if there are none.
   */
  readonly changedFiles?: number | undefined;
}

/** One of the sinks of a run. */
export interface SinkOfRun {
  /** The number of the branch in the checkpoint; absent if the sink is not in a `tee`. */
  readonly branch?: number | undefined;
}

/** What the result of a run depends on. */
export interface RunOfSinks {
  readonly sinks: readonly SinkOfRun[];
  /** The file of the records that cannot be used. */
  readonly damaged: string | undefined;
  readonly progress: Progress | undefined;
}

/** What a run has written. */
export interface RunResult {
  /** What each sink has. */
  readonly written: readonly Written[];
  /** The number of damaged records; `undefined` if there never was a file of them. */
  readonly damaged: number | undefined;
  /** The time since which the checkpoint is complete, if this run found it complete. */
  readonly completeSince?: Date | undefined;
}

/** Adds to each result what this run has written. */
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

/** What a result says of changed files, if the source has found any. */
export function changedFilesOf(progress: Progress | undefined): Pick<Written, 'changedFiles'> {
  const { changedFiles = 0 } = progress ?? {};
  return changedFiles === 0 ? {} : { changedFiles };
}

/** What each sink has written, by the files of a checkpoint. */
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
