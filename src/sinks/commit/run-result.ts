import type { Progress } from '../../flow/progress.js';
import type { Json } from '../../json/type-guards.js';
import type { CheckpointStore } from './checkpoint-file.js';
import { type CommittedFile, DAMAGED } from './checkpoint-text.js';

/** A finished file of `files`, under its final name. */
export interface WrittenFile {
  readonly path: string;
  readonly posts: number;
  /** The size on disk, after compression. */
  readonly bytes: number;
  /** The result of `onFile`, `null` for no result. Absent if `onFile` was not called or has failed. */
  readonly handedOn?: Json | undefined;
}

/** The result of `files` or `stdout`. Includes earlier runs that this run has resumed. */
export interface Written {
  /** The number of lines, one for each item. A post that is routed to two tags counts twice. */
  readonly posts: number;
  /** The number of bytes on disk, or passed to the stream. */
  readonly bytes: number;
  /** The files in the order of their creation; empty for a stream. */
  readonly files: readonly WrittenFile[];
  /**
   * If this run found the checkpoint complete, and neither opened nor requested anything, the time since
   * which it is complete.
   */
  readonly completeSince?: Date | undefined;
  /**
   * The number of records in the file of the option `damaged`, including earlier runs; absent without that
   * option. In each branch of `tee`, the number for all branches.
   */
  readonly damaged?: number | undefined;
  /** The number of lines that this run has written; set if the source is `incremental`. 0 means that nothing was new. */
  readonly added?: number | undefined;
  /**
   * Set for `localFiles` with `incremental`: the number of files that changed after an earlier run had read
   * them, for example by `applyCompliance`, and that are not read again. Absent if there are none.
   */
  readonly changedFiles?: number | undefined;
}

/** One of the sinks of a run. */
export interface SinkOfRun {
  /** The number of the branch in the checkpoint; absent if the sink is not in a `tee`. */
  readonly branch?: number | undefined;
}

/** The parts of a run that its result depends on. */
export interface RunOfSinks {
  readonly sinks: readonly SinkOfRun[];
  /** The file of damaged records. */
  readonly damaged: string | undefined;
  readonly progress: Progress | undefined;
}

/** The result of a run of sinks. */
export interface RunResult {
  /** The result of each sink. */
  readonly written: readonly Written[];
  /** The number of damaged records; `undefined` if there never was a file of them. */
  readonly damaged: number | undefined;
  /** If this run found the checkpoint complete, the time since which it is complete. */
  readonly completeSince?: Date | undefined;
}

/** Adds to each result the number of items that this run has written. */
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

/** The member `changedFiles` of a result, if the source has found changed files. */
export function changedFilesOf(progress: Progress | undefined): Pick<Written, 'changedFiles'> {
  const { changedFiles = 0 } = progress ?? {};
  return changedFiles === 0 ? {} : { changedFiles };
}

/** The result of each sink, from the files of a checkpoint. */
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
