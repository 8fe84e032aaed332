import {
  type FileSystem,
  type OpenFile,
  openExisting,
  openNew,
} from '../../storage/file-system.js';

interface Entry {
  opening: Promise<OpenFile> | undefined;
  /**
   * The result of the promise `opening`. It is kept here because awaiting `opening` before each small write
   * would take longer than the write.
   */
  open: OpenFile | undefined;
  users: number;
}

interface FileToOpen {
  readonly part: string;
  /**
   * Whether to first remove an existing file of the same name. Read at the moment when the file is opened.
   */
  readonly fresh: boolean;
}

/** Runs calls on a file, and adds the name of the file to the errors that they throw. */
type Guard = <T>(part: string, work: () => Promise<T>) => Promise<T>;

/**
 * Keeps a limited number of files open for writing. To open another file, closes the file that was least
 * recently used.
 */
export class FileHandles {
  readonly #fs: FileSystem;
  readonly #limit: number;
  readonly #guard: Guard;
  /** The open files by path. The most recently used file is last. */
  readonly #entries = new Map<string, Entry>();
  /** Functions that wake waiting calls of `use`. A call waits while too many files are in use. */
  #waiting: (() => void)[] = [];

  constructor(fs: FileSystem, limit: number, guard: Guard) {
    this.#fs = fs;
    this.#limit = limit;
    this.#guard = guard;
  }

  /**
   * Opens the files that are not open yet, and calls `work` with all files. First waits if too many other
   * files are in use.
   */
  async use<T>(
    files: readonly FileToOpen[],
    work: (files: readonly OpenFile[]) => Promise<T>,
  ): Promise<T> {
    while (!this.#fit(files)) await new Promise<void>(resolve => this.#waiting.push(resolve));
    const entries = files.map(({ part }) => {
      const entry: Entry = this.#entries.get(part) ?? {
        opening: undefined,
        open: undefined,
        users: 0,
      };
      this.#entries.delete(part);
      this.#entries.set(part, entry);
      entry.users++;
      return entry;
    });
    try {
      const opened: OpenFile[] = [];
      for (let index = 0; index < entries.length; index++) {
        const entry = entries[index]!;
        entry.opening ??= this.#open(files[index]!);
        entry.open ??= await entry.opening;
        opened.push(entry.open);
      }
      return await work(opened);
    } finally {
      for (const entry of entries) entry.users--;
      for (const resolve of this.#waiting.splice(0)) resolve();
    }
  }

  /** Closes a file if it is open. The file must not be in use. */
  async close(path: string): Promise<void> {
    const entry = this.#entries.get(path);
    this.#entries.delete(path);
    await this.#guard(path, async () => (await entry?.opening)?.close());
  }

  /** Closes all files. Ignores errors. */
  async abandon(): Promise<void> {
    await Promise.allSettled([...this.#entries.keys()].map(path => this.close(path)));
  }

  /**
   * Returns whether these files may be opened: either they fit the limit together with all files that are in
   * use, or no other file is in use.
   */
  #fit(files: readonly FileToOpen[]): boolean {
    let used = files.length;
    for (const [path, { users }] of this.#entries)
      if (users > 0 && !files.some(({ part }) => part === path)) used++;
    return used <= this.#limit || used === files.length;
  }

  async #open(file: FileToOpen): Promise<OpenFile> {
    while (this.#entries.size > this.#limit) {
      const longest = [...this.#entries].find(([, { users }]) => users === 0);
      if (longest === undefined) break;
      await this.close(longest[0]);
    }
    return this.#guard(file.part, () =>
      file.fresh ? openNew(this.#fs, file.part) : openExisting(this.#fs, file.part),
    );
  }
}
