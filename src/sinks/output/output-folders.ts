import type { FileSystem } from '../../storage/file-system.js';
import { makeFolder } from '../../storage/folder.js';

/** The folders of outputs: each is made once, and those with new names are synced at a commit. */
export class OutputFolders {
  readonly #fs: FileSystem;
  /** By path. */
  readonly #made = new Map<string, Promise<void>>();
  #changed = new Set<string>();

  constructor(fs: FileSystem) {
    this.#fs = fs;
  }

  /** Whether the folder is made, or being made. */
  has(folder: string): boolean {
    return this.#made.has(folder);
  }

  /** Makes a folder and those above it. */
  make(folder: string): Promise<void> {
    let made = this.#made.get(folder);
    if (made === undefined) {
      made = makeFolder(folder, { fs: this.#fs }).then(above => {
        for (const parent of above) this.changed(parent);
      });
      this.#made.set(folder, made);
    }
    return made;
  }

  /** A file in the folder was created or renamed. */
  changed(folder: string): void {
    this.#changed.add(folder);
  }

  /** The folders that changed since the last call. */
  takeChanged(): ReadonlySet<string> {
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }
}
