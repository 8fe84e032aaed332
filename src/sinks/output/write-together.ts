import path from 'node:path';
import { LinkedAbort } from '../../abortable.js';
import type { Progress } from '../../flow/progress.js';
import type { FileSystem } from '../../storage/file-system.js';
import { type Lock, takeLock } from '../../storage/lock.js';
import { fileSystemIn, workingFolder } from '../../storage/working-folder.js';
import {
  type Checkpoint,
  type CommittedFile,
  prepareFolder,
  readCheckpoint,
} from './checkpoint-format.js';
import type { CheckpointOwner } from './checkpoint-text.js';
import {
  AGAIN,
  Committer,
  checkOutputs,
  checkpointPaths,
  lockPath,
  type Member,
  restore,
  settleAndSync,
} from './committer.js';
import { type FileSinkPlan, FileWriter } from './file-writer.js';
import type { Format } from './format.js';
import type { Written } from './written.js';

/** File sinks that run together and commit together. */
export interface TogetherOptions<T> {
  readonly sinks: readonly {
    readonly plan: FileSinkPlan<T>;
    /** Its number in the checkpoint; absent for a sink by itself. */
    readonly branch?: number | undefined;
    readonly progress: Progress | undefined;
  }[];
  readonly checkpoint: string | undefined;
  readonly owner: CheckpointOwner;
  readonly signal: AbortSignal | undefined;
  /** Reads the input to its end. Not called where a checkpoint says that all items are written. */
  read(session: Session<T>): Promise<void>;
}

export interface Session<T> {
  /** One for each sink. */
  readonly writers: readonly FileWriter<T>[];
  /** Fires also when a file cannot be written. */
  readonly signal: AbortSignal;
  /** The checkpoint to go on from. */
  readonly before: Checkpoint | undefined;
  /** Absent without a checkpoint. */
  readonly committer: Committer | undefined;
}

/**
 * Runs file sinks: takes the locks, restores the files of the checkpoint, lets `read` write, and gives the
 * files their final names. Resolves to what each sink has written.
 */
export async function writeTogether<T>(
  fs: FileSystem,
  options: TogetherOptions<T>,
): Promise<Written[]> {
  // Resolved once: the working folder may change or be deleted during the run.
  const folder = workingFolder();
  const here = fileSystemIn(folder, fs);
  const { checkpoint } = options;
  if (checkpoint === undefined) return writtenOf(options, await run(here, folder, options));
  await prepareFolder(here, path.resolve(folder, checkpoint));
  const lock = await takeLock(lockPath(checkpoint), { fs: here });
  try {
    const before = await readCheckpoint(here, checkpoint, options.owner);
    if (before?.state === 'complete') {
      await checkOutputs(here, checkpoint, before);
      return writtenOf(options, before.files);
    }
    return writtenOf(options, await run(here, folder, options, { file: checkpoint, lock, before }));
  } finally {
    await lock.release();
  }
}

interface Locked {
  readonly file: string;
  readonly lock: Lock;
  readonly before: Checkpoint | undefined;
}

async function run<T>(
  fs: FileSystem,
  folder: string,
  { sinks, owner, signal, read }: TogetherOptions<T>,
  locked?: Locked,
): Promise<readonly CommittedFile[]> {
  const formats = await Promise.all(sinks.map(({ plan }) => plan.format()));
  // A full disk ends the source immediately, also during a long wait.
  const broken = new LinkedAbort(signal);
  let committer: Committer | undefined;
  const fail = (error: unknown) => {
    for (const { outputs } of writers) outputs.fail(error);
    broken.abort(error);
  };
  const shared = {
    folder,
    commits: locked !== undefined,
    claims: new Map<string, unknown>(),
    reserved: locked === undefined ? [] : checkpointPaths(locked.file),
    afterFailure: () => committer?.afterFailure() ?? AGAIN,
    onFailure: fail,
  };
  const writers = sinks.map(
    ({ plan, progress }, index) =>
      new FileWriter(fs, plan, formats[index] as Format<T>, { ...shared, progress }),
  );
  const members = sinks.map(({ plan, branch }, index) => ({
    branch,
    everyMs: plan.commitIntervalMs,
    outputs: (writers[index] as FileWriter<T>).outputs,
  }));
  try {
    const before = locked?.before;
    if (locked !== undefined) {
      committer = new Committer(fs, { ...locked, owner, members, fail });
      if (before !== undefined) await resume(fs, locked.file, before, members);
    }
    if (before?.state !== 'finishing')
      await read({ writers, signal: broken.signal, before, committer });
    return await (committer === undefined ? finish(members) : committer.finish());
  } catch (error) {
    throw writers[0]?.outputs.failure ?? error;
  } finally {
    broken.unlink();
    await committer?.idle();
    for (const writer of writers) await writer.close();
  }
}

async function resume(
  fs: FileSystem,
  file: string,
  before: Checkpoint,
  members: readonly Member[],
): Promise<void> {
  for (const { outputs } of members) await outputs.lock();
  const ofBranch = new Map(members.map(member => [member.branch, member]));
  const endsFiles = (of: CommittedFile) => ofBranch.get(of.branch)?.outputs.endsFiles ?? false;
  const named = await restore(fs, file, before, endsFiles);
  for (const { outputs, branch } of members) {
    outputs.resume(
      before.files.filter(of => of.branch === branch),
      named,
    );
    if (outputs.endsFiles) await outputs.nameFiles();
  }
}

/** Ends a run without a checkpoint. */
async function finish(members: readonly Member[]): Promise<CommittedFile[]> {
  const files = await settleAndSync(members);
  for (const { outputs } of members) await outputs.nameFiles();
  return files;
}

function writtenOf<T>(
  { sinks }: TogetherOptions<T>,
  committed: readonly CommittedFile[],
): Written[] {
  return sinks.map(({ branch }) => {
    const files = committed.filter(file => file.branch === branch);
    return {
      posts: files.reduce((sum, { posts }) => sum + posts, 0),
      bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
      files: files.map(({ path: file, posts, bytes }) => ({ path: file, posts, bytes })),
    };
  });
}
