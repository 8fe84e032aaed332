import { LinkedAbort } from '../../base/abortable.js';
import { optionError } from '../../base/check.js';
import { Engine } from '../../files/engine.js';
import type { Cursor } from '../../flow/flow.js';
import { isIncremental, readsFile } from '../../flow/flow-identity.js';
import type { Progress } from '../../flow/progress.js';
import { shownTime } from '../../flow/progress-text.js';
import type { FileSystem } from '../../storage/file-system.js';
import { fileSystemIn, workingFolder } from '../../storage/folder.js';
import type { FileFormat } from '../write/format.js';
import { CheckpointFile, type CheckpointStore } from './checkpoint-file.js';
import {
  type Checkpoint,
  type CheckpointOwner,
  type CommittedFile,
  DAMAGED,
} from './checkpoint-text.js';
import { AGAIN, Committer, type Member, settleAndSync, withoutCursor } from './committer.js';
import { DamagedLog } from './damaged-log.js';
import { type FileSinkConfig, FileSinkRun } from './file-sink-run.js';
import { adoptFinished, checkOutputs, restore } from './restore-files.js';
import {
  type RunOfSinks,
  type RunResult,
  type SinkOfRun,
  withAdded,
  writtenOf,
} from './run-result.js';

interface FileSinkOfRun<T> extends SinkOfRun {
  readonly config: FileSinkConfig<T>;
  readonly progress: Progress | undefined;
}

export interface RunSinksOptions<T> extends RunOfSinks {
  readonly sinks: readonly FileSinkOfRun<T>[];
  readonly checkpoint: string | OpenStore | undefined;
  readonly owner: CheckpointOwner;
  readonly signal: AbortSignal | undefined;
  /**
   * Reads the input to its end. Not called if the checkpoint is complete.
   *
   * @returns The cursor after all items. `null` if the input had no items and no cursors. `undefined` if items
   * came after the last cursor.
   */
  read(session: Session<T>): Promise<Cursor | null | undefined>;
}

/** Opens a checkpoint store. @param folder The folder against which relative paths are resolved. */
export type OpenStore = (fs: FileSystem, folder: string) => Promise<CheckpointStore>;

export interface Session<T> {
  readonly sinkRuns: readonly FileSinkRun<T>[];
  /** The engine that reads the input, if the input is a plan. All sinks share it. */
  readonly engine: Engine;
  /** The signal fires when the run must end, or when a file cannot be written. */
  readonly signal: AbortSignal;
  readonly before: Checkpoint | undefined;
  readonly committer: Committer | undefined;
  readonly damaged: DamagedLog | undefined;
}

/**
 * Runs file sinks: takes the locks, restores the files of the checkpoint, and calls `read`, which writes the
 * items. Then gives the files their final names. Resolves to the result of the run.
 */
export async function runSinks<T>(fs: FileSystem, options: RunSinksOptions<T>): Promise<RunResult> {
  // Resolves relative paths only once, because the working folder may change or be deleted during the run.
  const folder = workingFolder();
  const here = fileSystemIn(folder, fs);
  const { checkpoint } = options;
  const incremental = isIncremental(options.owner.flow);
  if (incremental && checkpoint === undefined)
    throw optionError(
      options.owner.sink.step,
      'checkpoint',
      'is missing: the source is `incremental`, and a checkpoint says where the last run ended',
    );
  if (checkpoint === undefined) return writtenOf(options, await run(here, folder, options));
  const store =
    typeof checkpoint === 'function'
      ? await checkpoint(here, folder)
      : await CheckpointFile.open(here, { file: checkpoint, folder, owner: options.owner });
  try {
    let before = await store.read();
    if (before?.state === 'complete' && !incremental) {
      if (!mustCallOnFile(options, before)) return await completedRun(here, store, options, before);
      before = { ...(await adoptFinished(here, before)), state: 'finishing' };
    }
    const runFrom = (from: Checkpoint | undefined) =>
      run(here, folder, options, { store, before: from, incremental });
    if (before?.state === 'finishing' && incremental) {
      await runFrom(before);
      before = await store.read();
    }
    if (before !== undefined && incremental) before = await adoptFinished(here, before);
    const written = writtenOf(options, await runFrom(before));
    return incremental
      ? withAdded(options, written, { store, before: before?.files ?? [] })
      : written;
  } finally {
    await store.close();
  }
}

function mustCallOnFile<T>({ sinks }: RunSinksOptions<T>, { files }: Checkpoint): boolean {
  return sinks.some(
    ({ config, branch }) =>
      config.callOnFile !== undefined &&
      files.some(file => file.branch === branch && file.handedOn === undefined),
  );
}

/**
 * Returns the result of earlier runs that have completed the checkpoint. Sends no requests and opens no
 * output.
 */
async function completedRun<T>(
  fs: FileSystem,
  { shownName }: CheckpointStore,
  options: RunSinksOptions<T>,
  before: Checkpoint,
): Promise<RunResult> {
  await checkOutputs(fs, shownName, before);
  const { completed, files } = before;
  options.progress?.tell(`already complete since ${shownTime(completed)}; no requests sent`);
  const { written, damaged } = writtenOf(options, files);
  return {
    written: written.map(one => ({ ...one, completeSince: completed })),
    damaged,
    completeSince: completed,
  };
}

interface Locked {
  readonly store: CheckpointStore;
  readonly before: Checkpoint | undefined;
  /** Whether the next run continues where this run ends. */
  readonly incremental: boolean;
}

async function run<T>(
  fs: FileSystem,
  folder: string,
  { sinks, signal, read, owner, damaged: damagedFile }: RunSinksOptions<T>,
  locked?: Locked,
): Promise<readonly CommittedFile[]> {
  const formats = await Promise.all(sinks.map(({ config }) => config.format()));
  // If a write fails, for example because the disk is full, this signal ends the source immediately, even
  // during a long wait.
  const broken = new LinkedAbort(signal);
  let committer: Committer | undefined;
  const fail = (error: unknown) => {
    for (const { outputs } of sinkRuns) outputs.fail(error);
    damaged?.outputs.fail(error);
    broken.abort(error);
  };
  const reserved = locked?.store.paths ?? [];
  const shared = {
    folder,
    commits: locked !== undefined,
    claims: new Map<string, unknown>(),
    afterFailure: () => committer?.afterFailure() ?? AGAIN,
    onFailure: fail,
  };
  const kept = locked?.before?.files.filter(({ branch }) => branch === DAMAGED) ?? [];
  // An earlier run may have had the option `damaged`, although this run does not. The file of damaged records
  // is then finished, but nothing is added to it.
  const log = damagedFile ?? kept[0]?.path;
  const damaged = log === undefined ? undefined : new DamagedLog(fs, log, { ...shared, reserved });
  const logs = [...kept.map(({ path }) => path), ...(log === undefined ? [] : [log])];
  const engine = new Engine();
  const takesDamaged = damagedFile === undefined ? undefined : damaged;
  const sinkRuns = sinks.map(
    ({ config, progress, branch }, index) =>
      new FileSinkRun(fs, config, formats[index] as FileFormat<T>, {
        ...shared,
        reserved: [...reserved, ...logs],
        progress,
        damaged: takesDamaged,
        engine,
        branch,
        // A run that is not incremental may replace a file that it has read.
        isInput: (file, exists) =>
          (!exists || isIncremental(owner.flow)) && readsFile(owner.flow, file),
      }),
  );
  const all = damaged === undefined ? sinkRuns : [...sinkRuns, damaged];
  try {
    const before = locked?.before;
    if (locked !== undefined) {
      const { signal } = broken;
      committer = new Committer({ ...locked, members: sinkRuns, damaged, fail, signal });
      if (before !== undefined) await resume(fs, locked.store.shownName, before, all);
    }
    const isWritten = before?.state === 'finishing';
    const addsToFiles = sinkRuns.length > 0 && !isWritten && locked?.incremental === true;
    if (before !== undefined && addsToFiles) await committer?.begin(before.cursor);
    const end = isWritten
      ? before.cursor
      : await read({
          sinkRuns,
          engine,
          signal: broken.signal,
          before,
          committer,
          damaged: takesDamaged,
        });
    if (committer === undefined) return await finish(all, broken.signal);
    if (locked?.incremental !== true) return await committer.finish(undefined);
    if (end === undefined && !isWritten)
      throw withoutCursor(locked.store.name, `the checkpoint ${locked.store.shownName}`);
    return await committer.finish(JSON.stringify(end ?? null));
  } catch (error) {
    throw sinkRuns[0]?.outputs.failure ?? error;
  } finally {
    broken.unlink();
    await committer?.idle();
    // The engine closes first, because its threads may still write to open files.
    await engine.close().finally(() => closeAll(all));
  }
}

/** A participant in the commits of a run: a file sink, or the log of damaged records. */
interface RunMember extends Member {
  resume(files: readonly CommittedFile[], named: ReadonlySet<CommittedFile>): Promise<void>;
  close(): Promise<void>;
}

/**
 * Closes all members, even if some of them fail to close, because each may hold a lock that the next run
 * needs.
 */
async function closeAll(all: readonly RunMember[]): Promise<void> {
  const closing = all.map(one => one.close());
  await Promise.allSettled(closing);
  await Promise.all(closing);
}

async function resume(
  fs: FileSystem,
  file: string,
  before: Checkpoint,
  all: readonly RunMember[],
): Promise<void> {
  for (const { outputs } of all) await outputs.lock();
  const ofBranch = new Map(all.map(member => [member.branch, member]));
  const named = await restore(fs, file, before, of => ofBranch.get(of.branch));
  for (const member of all)
    await member.resume(
      before.files.filter(of => of.branch === member.branch),
      named,
    );
}

/** Finishes the files of a run without a checkpoint. */
async function finish(members: readonly Member[], signal: AbortSignal): Promise<CommittedFile[]> {
  const files = new Map((await settleAndSync(members)).map(file => [file.path, file]));
  for (const { outputs } of members) await outputs.finish();
  for (const { branch, callOnFile } of members) {
    const own = [...files.values()].filter(file => file.branch === branch);
    await callOnFile?.(own, signal, async (file, handedOn) => {
      files.set(file, { ...(files.get(file) as CommittedFile), handedOn });
    });
  }
  return [...files.values()];
}
