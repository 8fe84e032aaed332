import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isNodeError } from '../errors.js';
import { makeSyncedFolder } from '../storage/make-folder.js';
import { replaceFile } from '../storage/replace-file.js';
import { anyStorageError, withAnyStorageError } from '../storage/storage-error.js';

/** State that survives restarts: one JSON file, replaced atomically. */
export class StateFile<Kept> {
  readonly #file: string;
  readonly #what: string;
  readonly #isSecret: boolean;

  /** @param what Names the state in errors: `the rules of the stream`. */
  constructor(file: string, what: string, { secret = false }: { readonly secret?: boolean } = {}) {
    this.#file = file;
    this.#what = what;
    this.#isSecret = secret;
  }

  /**
   * The stored state, converted by `restore`; undefined without a file.
   *
   * @throws StorageError If it cannot be read, or `restore` throws.
   */
  async read<State>(restore: (kept: Kept) => State): Promise<State | undefined> {
    try {
      return restore(JSON.parse(await readFile(this.#file, 'utf8')) as Kept);
    } catch (cause) {
      if (isNodeError(cause, 'ENOENT')) return undefined;
      throw anyStorageError(`read ${this.#what} from`, this.#file, cause, {
        otherwise: 'Remove it if it is damaged',
      });
    }
  }

  /** @throws StorageError */
  async write(kept: Kept): Promise<void> {
    const [folderMode, mode] = this.#isSecret ? [0o700, { mode: 0o600 }] : [undefined, {}];
    await withAnyStorageError(`keep ${this.#what} in`, this.#file, async () => {
      await makeSyncedFolder(dirname(this.#file), { mode: folderMode });
      await replaceFile(this.#file, JSON.stringify(kept), mode);
    });
  }
}
