import type { FileSystem } from '../../storage/file-system.js';
import { type Lock, takeLock } from '../../storage/lock.js';
import { PART } from './output-names.js';

/**
 * Keeps two runs from writing the same outputs. A single output is locked, as a checkpoint is by its own lock: the
 * second run is refused. Without a checkpoint, where the items decide the paths, both runs write, and
 * `PartFiles` ends the run whose part the other has replaced.
 */
export class OutputLock {
  readonly #fs: FileSystem;
  #lock: Promise<Lock> | undefined;

  constructor(fs: FileSystem) {
    this.#fs = fs;
  }

  /**
   * @param makeFolder Makes the folder of the path.
   * @throws StorageError when another run holds the lock.
   */
  async take(path: string, makeFolder: () => Promise<void>): Promise<void> {
    this.#lock ??= makeFolder().then(() =>
      takeLock(`${path}${PART}.lock`, { fs: this.#fs, refusal: `Another run writes ${path}` }),
    );
    await this.#lock;
  }

  /** Removes the lock, and says whether there was one. */
  async release(): Promise<boolean> {
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
