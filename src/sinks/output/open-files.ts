import type { FileSystem, OpenFile } from '../../storage/file-system.js';
import { openExisting, openNew } from '../../storage/regular-file.js';

interface Entry {
  file: Promise<OpenFile> | undefined;
  users: number;
}

/** Files open for writing, limited in number: the least recently used is closed. */
export class OpenFiles {
  readonly #fs: FileSystem;
  readonly #limit: number;
  /** In order of use, the latest last. */
  readonly #entries = new Map<string, Entry>();

  /** The caller uses at most `limit` files at a time. */
  constructor(fs: FileSystem, limit: number) {
    this.#fs = fs;
    this.#limit = limit;
  }

  /** Opens `path` unless it is open. With `fresh`, an existing file of that name is removed first. */
  async use<T>(path: string, fresh: boolean, work: (file: OpenFile) => Promise<T>): Promise<T> {
    const entry: Entry = this.#entries.get(path) ?? { file: undefined, users: 0 };
    this.#entries.delete(path);
    this.#entries.set(path, entry);
    entry.users++;
    try {
      entry.file ??= this.#open(path, fresh);
      return await work(await entry.file);
    } finally {
      entry.users--;
    }
  }

  /** Closes a file that is not in use. */
  async close(path: string): Promise<void> {
    const entry = this.#entries.get(path);
    this.#entries.delete(path);
    await (await entry?.file)?.close();
  }

  /** Closes all files and ignores errors. */
  async abandon(): Promise<void> {
    await Promise.allSettled([...this.#entries.keys()].map(path => this.close(path)));
  }

  async #open(path: string, fresh: boolean): Promise<OpenFile> {
    while (this.#entries.size > this.#limit) {
      const longest = [...this.#entries].find(([, { users }]) => users === 0);
      if (longest === undefined) break;
      await this.close(longest[0]);
    }
    return fresh ? openNew(this.#fs, path) : openExisting(this.#fs, path);
  }
}
