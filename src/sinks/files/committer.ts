import path from 'node:path';
import { StorageError } from '../../errors.js';
import type { Cursor } from '../../flow/flow.js';
import type { FileSystem } from '../../storage/file-system.js';
import { type Lock, recoveryLockPath } from '../../storage/lock.js';
import { openExisting, regularStatus } from '../../storage/regular-file.js';
import { storageError } from '../../storage/storage-error.js';
import { syncFolder } from '../../storage/sync-folder.js';
import {
  type Checkpoint,
  type CheckpointOwner,
  type CheckpointState,
  temporaryPath,
  writeCheckpoint,
} from './checkpoint-format.js';
import { type FileCounts, PART } from './output-file.js';
import type { Outputs } from './outputs.js';

/** Where a checkpoint's lock is. */
export function lockPath(checkpoint: string): string {
  return `${checkpoint}.lock`;
}

/** All paths that a checkpoint uses, which no output may have. */
export function checkpointPaths(checkpoint: string): string[] {
  const lock = lockPath(checkpoint);
  return [checkpoint, temporaryPath(checkpoint), lock, recoveryLockPath(lock)];
}

/**
 * Commits outputs and cursor together: sync the outputs, then replace the checkpoint. One commit runs at a
 * time, while new lines are still being written.
 */
export class Committer {
  readonly #fs: FileSystem;
  readonly #file: string;
  readonly #owner: CheckpointOwner;
  readonly #outputs: Outputs;
  readonly #lock: Lock;
  readonly #everyMs: number;
  readonly #committed: Map<string, FileCounts>;
  #cursor = 'null';
  #pending: Promise<void> | undefined;
  /** Whether there is a checkpoint to resume from. */
  #written: boolean;
  #notBefore: number;

  constructor(
    fs: FileSystem,
    {
      file,
      owner,
      outputs,
      lock,
      everyMs,
      before,
    }: {
      readonly file: string;
      readonly owner: CheckpointOwner;
      readonly outputs: Outputs;
      readonly lock: Lock;
      readonly everyMs: number;
      readonly before: Checkpoint | undefined;
    },
  ) {
    this.#fs = fs;
    this.#file = file;
    this.#owner = owner;
    this.#outputs = outputs;
    this.#lock = lock;
    this.#written = before !== undefined;
    this.#everyMs = everyMs;
    this.#committed = new Map(before?.files.map(counts => [counts.path, counts]));
    this.#notBefore = performance.now() + everyMs;
  }

  /** Commits all lines so far and the cursor after them, if the interval has passed. */
  async reached(cursor: Cursor): Promise<void> {
    if (this.#everyMs === 0) await this.#pending;
    if (this.#pending !== undefined || performance.now() < this.#notBefore) return;
    // `toJSON` of a cursor may read state that changes with the next pull, so it is serialized now.
    this.#cursor = JSON.stringify(cursor);
    this.#pending = this.#commit('running').finally(() => {
      this.#pending = undefined;
    });
    // The failure ends the run through the outputs; it must not become an unhandled rejection.
    this.#pending.catch(error => this.#outputs.fail(error));
    if (this.#everyMs === 0) await this.#pending;
  }

  /** Waits for a running commit. Its failure is reported elsewhere. */
  async idle(): Promise<void> {
    await this.#pending?.catch(() => {});
  }

  /** Commits the rest, gives the files their final names, and marks the checkpoint complete. */
  async finish(): Promise<FileCounts[]> {
    await this.#pending;
    await this.#commit('finishing');
    await this.#outputs.nameFiles();
    await this.#write('complete');
    return [...this.#committed.values()];
  }

  async #commit(state: CheckpointState): Promise<void> {
    const started = performance.now();
    const settled = await this.#outputs.settle();
    await this.#outputs.sync(settled);
    for (const counts of settled) this.#committed.set(counts.path, counts);
    await this.#write(state);
    // On a slow disk or with a large state, commits take a fifth of the time at most.
    const now = performance.now();
    this.#notBefore = started + Math.max(this.#everyMs, 4 * (now - started));
    if (this.#everyMs === 0) this.#notBefore = now;
  }

  async #write(state: CheckpointState): Promise<void> {
    await this.#lock.check();
    try {
      await writeCheckpoint(this.#fs, this.#file, {
        state,
        owner: this.#owner,
        cursor: this.#cursor,
        files: [...this.#committed.values()],
      });
      this.#written = true;
    } catch (error) {
      throw storageError('write the checkpoint', this.#file, error, this.afterFailure());
    }
  }

  /** Advice for the message of a failure: what running again does. */
  afterFailure(): string {
    return this.#written ? `${AGAIN}: it goes on from the checkpoint` : AGAIN;
  }
}

export const AGAIN = ', then run the same again';

/**
 * Checks that all files of a complete checkpoint exist. Their contents may have changed: `applyCompliance`
 * removes posts from them.
 *
 * @throws StorageError
 */
export async function checkOutputs(
  fs: FileSystem,
  file: string,
  { files }: Checkpoint,
): Promise<void> {
  const missing: string[] = [];
  for (const { path: output } of files)
    if ((await regularStatus(fs, output)) === undefined) missing.push(output);
  const [first] = missing;
  if (first !== undefined)
    throw new StorageError(
      `${first}${missing.length === 1 ? ' is' : ` and ${missing.length - 1} more files are`} missing, and the checkpoint ${file} says that all is written. Restore the missing files, or delete the checkpoint to write everything again.`,
      { path: first },
    );
}

/** Truncates the files to the bytes that the checkpoint counts; throws where one is shorter or missing. */
export async function restore(
  fs: FileSystem,
  file: string,
  { state, files }: Checkpoint,
): Promise<FileCounts[]> {
  const parts: FileCounts[] = [];
  const folders = new Set<string>();
  for (const counts of files) {
    const part = counts.path + PART;
    try {
      const size = (await regularStatus(fs, part))?.size;
      if (size === undefined && state === 'finishing') {
        // A crash came after this file got its final name; the name may not be on disk yet.
        await checkFinished(fs, file, counts);
        folders.add(path.dirname(counts.path));
        continue;
      }
      if (size === undefined || size < counts.bytes) throw lost(file, part, size, counts.bytes);
      if (size > counts.bytes) await cutBack(fs, part, counts.bytes);
    } catch (error) {
      throw storageError('go on with', part, error);
    }
    parts.push(counts);
  }
  for (const folder of folders) await syncFolder(folder, fs);
  return parts;
}

async function checkFinished(fs: FileSystem, file: string, counts: FileCounts): Promise<void> {
  const size = (await regularStatus(fs, counts.path))?.size;
  if (size !== counts.bytes) throw lost(file, counts.path, size, counts.bytes);
}

async function cutBack(fs: FileSystem, part: string, bytes: number): Promise<void> {
  const handle = await openExisting(fs, part);
  try {
    await handle.truncate(bytes);
  } finally {
    await handle.close();
  }
}

function lost(file: string, part: string, size: number | undefined, bytes: number): StorageError {
  const found = size === undefined ? 'is missing' : `has only ${size} bytes`;
  return new StorageError(
    `${part} ${found}, but ${bytes} of its bytes are counted in the checkpoint ${file}. Put the file back, or delete the checkpoint to start again.`,
    { path: part },
  );
}
