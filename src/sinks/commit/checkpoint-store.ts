import path from 'node:path';
import type { FileSystem } from '../../storage/file-system.js';
import { type Lock, recoveryLockPath, takeLock } from '../../storage/lock.js';
import { storageError } from '../../storage/storage-error.js';
import {
  type Checkpoint,
  type CheckpointText,
  prepareFolder,
  readCheckpoint,
  temporaryPath,
  writeCheckpoint,
} from './checkpoint.js';
import type { CheckpointOwner } from './checkpoint-text.js';

/** Where a checkpoint is kept, while no other run has it. */
export interface CheckpointStore {
  readonly name: string;
  /** In messages, after `the checkpoint`. */
  readonly shownName: string;
  /** All paths that it uses, which no output may have. */
  readonly paths: readonly string[];
  /** The minimum time between two commits, where it has one. */
  readonly everyMs: number | undefined;
  /** Whether it holds so much that a commit is due before it is for the outputs. */
  readonly isFull: boolean;
  /** Whether it has changed in this run, besides the checkpoint. */
  readonly hasNew: boolean;
  /** Rows in it, where it takes rows. */
  readonly rows: number | undefined;
  read(): Promise<Checkpoint | undefined>;
  /** Called as a commit begins: what comes from then on belongs to the next. */
  begin(): void;
  /**
   * Replaces the checkpoint as a whole.
   *
   * @param advice Appended to the message of an error: what running again does.
   * @throws StorageError Also where another run has it now.
   */
  replace(content: Omit<CheckpointText, 'owner'>, advice: string): Promise<void>;
  close(): Promise<void>;
}

/** Where a checkpoint's lock is. */
export function lockPath(checkpoint: string): string {
  return `${checkpoint}.lock`;
}

/** All paths that a checkpoint uses, which no output may have. */
export function checkpointPaths(checkpoint: string): string[] {
  return [checkpoint, temporaryPath(checkpoint), ...lockPaths(lockPath(checkpoint))];
}

/** All paths that a lock uses. */
export function lockPaths(lock: string): string[] {
  return [lock, recoveryLockPath(lock)];
}

/** A file, with a lock beside it. */
export class CheckpointFile implements CheckpointStore {
  readonly name: string;
  readonly everyMs = undefined;
  readonly isFull = false;
  readonly hasNew = false;
  readonly rows = undefined;
  readonly #fs: FileSystem;
  readonly #owner: CheckpointOwner;
  readonly #lock: Lock;

  private constructor(fs: FileSystem, file: string, owner: CheckpointOwner, lock: Lock) {
    this.#fs = fs;
    this.name = file;
    this.#owner = owner;
    this.#lock = lock;
  }

  /**
   * Makes the folder, and takes the lock.
   *
   * @param folder The working folder.
   */
  static async open(
    fs: FileSystem,
    { file, folder, owner }: { file: string; folder: string; owner: CheckpointOwner },
  ): Promise<CheckpointFile> {
    await prepareFolder(fs, path.resolve(folder, file));
    return new CheckpointFile(fs, file, owner, await takeLock(lockPath(file), { fs }));
  }

  get shownName(): string {
    return this.name;
  }

  get paths(): readonly string[] {
    return checkpointPaths(this.name);
  }

  read(): Promise<Checkpoint | undefined> {
    return readCheckpoint(this.#fs, this.name, this.#owner);
  }

  begin(): void {}

  async replace(content: Omit<CheckpointText, 'owner'>, advice: string): Promise<void> {
    await this.#lock.check();
    try {
      await writeCheckpoint(this.#fs, this.name, { ...content, owner: this.#owner });
    } catch (error) {
      throw storageError('write the checkpoint', this.name, error, advice);
    }
  }

  async close(): Promise<void> {
    await this.#lock.release();
  }
}
