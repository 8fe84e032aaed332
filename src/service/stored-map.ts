import { dirname } from 'node:path';
import pLimit from 'p-limit';
import { nodeFileSystem, readIfThere } from '../storage/file-system.js';
import { makeSyncedFolder } from '../storage/folder.js';
import { replaceFile } from '../storage/replace-file.js';
import { anyStorageError, withAnyStorageError } from '../storage/storage-error.js';

/**
 * Values that survive restarts, in one JSON file that is replaced atomically. Each value has a key and an id.
 * Changes are made one after another. A change becomes visible once it is stored. If the write fails, the values
 * stay unchanged.
 */
export abstract class StoredMap<Value, Kept> {
  readonly #file: string | undefined;
  readonly #what: string;
  readonly #isSecret: boolean;
  #values: ReadonlyMap<string, Value> = new Map();
  #ids: ReadonlyMap<string, Value> = new Map();
  #opened: Promise<void> | undefined;
  readonly #serial = pLimit(1);

  /**
   * @param file The path of the file. If undefined, nothing is stored.
   * @param what A name for the values in errors, such as `the rules of the stream`.
   */
  constructor(file: string | undefined, what: string, isSecret = false) {
    this.#file = file;
    this.#what = what;
    this.#isSecret = isSecret;
  }

  protected abstract keyOf(value: Value): string;
  protected abstract idOf(value: Value): string;
  protected abstract keep(values: readonly Value[]): Kept;
  protected abstract restore(kept: Kept): readonly Value[];

  /**
   * Loads the stored values. Later calls return the same promise, unless it failed.
   *
   * @throws StorageError if they cannot be read.
   */
  open(): Promise<void> {
    this.#opened ??= this.#load().catch(error => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  /** Resolves once all changes are stored. The map can be opened again. */
  async close(): Promise<void> {
    await this.#serial(() => {});
    this.#opened = undefined;
  }

  get size(): number {
    return this.#values.size;
  }

  /** Returns all values in the order of their creation. */
  all(): readonly Value[] {
    return [...this.#values.values()];
  }

  find(id: string): Value | undefined {
    return this.#ids.get(id);
  }

  protected get(key: string): Value | undefined {
    return this.#values.get(key);
  }

  /**
   * Returns the content of the file, for snapshots. If the map is not open, reads the file without opening the
   * map, because another service may change the file later.
   *
   * @throws StorageError if the stored values cannot be read.
   */
  async kept(): Promise<Kept> {
    await this.#opened;
    const stored = this.#opened === undefined ? await this.#read() : undefined;
    return stored ?? this.keep(this.all());
  }

  /**
   * Replaces the content with the content that `kept` returned. Without an argument, removes all values.
   *
   * @throws StorageError
   */
  replace(kept?: Kept): Promise<void> {
    return this.change(values => {
      values.clear();
      if (kept === undefined) return;
      for (const value of this.restore(kept)) values.set(this.keyOf(value), value);
    });
  }

  /** Makes a change, and stores it. @throws StorageError */
  protected change<Result>(change: (values: Map<string, Value>) => Result): Promise<Result> {
    return this.#serial(async () => {
      await this.open();
      const values = new Map(this.#values);
      const result = change(values);
      await this.#write(this.keep([...values.values()]));
      this.set(values.values());
      return result;
    });
  }

  protected set(values: Iterable<Value>): void {
    const all = [...values];
    this.#values = new Map(all.map(value => [this.keyOf(value), value]));
    this.#ids = new Map(all.map(value => [this.idOf(value), value]));
  }

  async #load(): Promise<void> {
    await this.#read(kept => this.set(this.restore(kept)));
  }

  /**
   * Returns the content of the file; `undefined` if there is no file.
   *
   * @param use Called with the content. It must throw if the content is damaged.
   * @throws StorageError
   */
  async #read(use: (kept: Kept) => void = () => {}): Promise<Kept | undefined> {
    if (this.#file === undefined) return undefined;
    try {
      const text = await readIfThere(nodeFileSystem, this.#file);
      if (text === undefined) return undefined;
      const kept = JSON.parse(text) as Kept;
      use(kept);
      return kept;
    } catch (cause) {
      throw anyStorageError(`read ${this.#what} from`, this.#file, cause, {
        otherwise: 'Remove it if it is damaged',
      });
    }
  }

  async #write(kept: Kept): Promise<void> {
    const file = this.#file;
    if (file === undefined) return;
    const [folderMode, mode] = this.#isSecret ? [0o700, { mode: 0o600 }] : [undefined, {}];
    await withAnyStorageError(`keep ${this.#what} in`, file, async () => {
      await makeSyncedFolder(dirname(file), { mode: folderMode });
      await replaceFile(file, JSON.stringify(kept), mode);
    });
  }
}
