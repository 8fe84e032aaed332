import type { Progress } from '../../flow/progress.js';
import { shownTime } from '../../flow/progress-text.js';
import type { FileSystem } from '../../storage/file-system.js';
import type { FileSinkPlan } from '../write/file-writer.js';
import { DAMAGED } from '../write/output-file.js';
import type { Written } from '../write/written.js';
import type { Checkpoint, CommittedFile } from './checkpoint.js';
import type { CheckpointStore } from './checkpoint-store.js';
import { checkOutputs } from './restore-files.js';

/** One of the sinks of a run. */
export interface SinkOfRun {
  readonly plan: Pick<FileSinkPlan<never>, 'handOn'>;
  /** Its number in the checkpoint; absent for a sink by itself. */
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
  /** Where there is, or was, a file of damaged records: how many it has. */
  readonly damaged: number | undefined;
  /** Where the checkpoint said that all is written. */
  readonly completeSince?: Date | undefined;
}

/** Whether the checkpoint has files that an earlier run has not handed on. */
export function hasToHandOn({ sinks }: RunOfSinks, { files }: Checkpoint): boolean {
  return sinks.some(
    ({ plan, branch }) =>
      plan.handOn !== undefined &&
      files.some(file => file.branch === branch && file.handedOn === undefined),
  );
}

/** The result of a run whose checkpoint is complete: nothing is asked or opened. */
export async function completedRun(
  fs: FileSystem,
  { shownName }: CheckpointStore,
  options: RunOfSinks,
  before: Checkpoint,
): Promise<RunResult> {
  await checkOutputs(fs, shownName, before);
  const { completed, files } = before;
  options.progress?.tell(`complete since ${shownTime(completed)}, nothing asked`);
  const { written, damaged } = writtenOf(options, files);
  return {
    written: written.map(one => ({ ...one, completeSince: completed })),
    damaged,
    completeSince: completed,
  };
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
