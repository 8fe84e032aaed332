import { StorageError } from '../../base/errors.js';
import type { FileStatus, FileSystem } from '../../storage/file-system.js';
import { type Lock, takeLock } from '../../storage/lock.js';
import { type OutputFile, PART } from './output-file.js';

/** Where the lock of a single output is. */
export function outputLockPath(path: string): string {
  return `${path}${PART}.lock`;
}

/**
 * Keeps two runs from writing the same outputs. A single output is locked, as a checkpoint is by its own lock: the
 * second run is refused. Without a checkpoint, where the items decide the paths, both runs write, and
 * `checkUnchanged` ends the run whose part the other has replaced.
 */
export class OtherRuns {
  readonly #fs: FileSystem;
  #lock: Promise<Lock> | undefined;

  constructor(fs: FileSystem) {
    this.#fs = fs;
  }

  /**
   * @param makeFolder Makes the folder of the path.
   * @throws StorageError when another run holds the lock.
   */
  async lock(path: string, makeFolder: () => Promise<void>): Promise<void> {
    this.#lock ??= makeFolder().then(() =>
      takeLock(outputLockPath(path), { fs: this.#fs, refusal: `Another run writes ${path}` }),
    );
    await this.#lock;
  }

  /** Removes the lock, and says whether there was one. */
  async unlock(): Promise<boolean> {
    if (this.#lock === undefined) return false;
    const lock = await this.#lock;
    this.#lock = undefined;
    await lock.release();
    return true;
  }

  /** Removes the lock, also one that is being taken. */
  async close(): Promise<void> {
    const lock = await this.#lock?.catch(() => undefined);
    await lock?.release();
  }
}

/**
 * Checks that a part is the file that this run created, with the length that it wrote.
 *
 * @param bytes The length that it had before its status was requested.
 * @throws StorageError
 */
export function checkUnchanged(
  file: OutputFile,
  status: FileStatus | undefined,
  bytes: number,
): void {
  if (file.ino === 0) file.ino = status?.ino ?? 0;
  if (status !== undefined && status.ino === file.ino && status.size >= bytes) return;
  throw new StorageError(
    `Could not go on with ${file.part}: it was replaced, removed or cut, by another process or, where the file system ignores case, by an output whose name differs in case only. Let one run at a time write there, under names that differ`,
    { path: file.part },
  );
}
