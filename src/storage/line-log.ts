import { type FileHandle, open } from 'node:fs/promises';
import path from 'node:path';
import { isNodeError } from '../base/errors.js';
import { nodeFileSystem, readIfThere, writeAll } from './file-system.js';
import { makeSyncedFolder, syncFolder } from './folder.js';
import { replaceFile } from './replace-file.js';

export interface LineLogOptions {
  /** The permission bits of a new file. @default 0o666 minus the umask */
  readonly mode?: number | undefined;
  /** The permission bits of a new folder. @default 0o777 minus the umask */
  readonly folderMode?: number | undefined;
}

/**
 * A file of JSON values, one per line, to which values are appended. Only one process may write to the file,
 * and only one call may run at a time. System errors are thrown unchanged.
 */
export class LineLog<T> {
  readonly #file: string;
  readonly #options: LineLogOptions;
  /** The total size of the complete lines in bytes; `undefined` until the file was read. */
  #bytes: number | undefined;
  /**
   * Whether the file's name is synced to disk. A process that was killed may have created the file without
   * syncing its name.
   */
  #named = false;
  /** Whether an `append` has failed. An incomplete line may then follow the complete lines. */
  #torn = false;

  constructor(file: string, options: LineLogOptions = {}) {
    this.#file = file;
    this.#options = options;
  }

  /**
   * Reads all values. Also syncs the file, because a killed process may have written values without syncing
   * them. Removes the last line if a crash has truncated it. No caller relies on that line, because its
   * `append` has not resolved.
   *
   * @throws SyntaxError if any line before the last is not JSON.
   */
  async read(): Promise<T[]> {
    const text = await readIfThere(nodeFileSystem, this.#file);
    const { values, bytes } = wholeLines<T>(text ?? '');
    this.#bytes = bytes;
    if (text === undefined) return [];
    const file = await this.#open();
    try {
      if (bytes < Buffer.byteLength(text)) await file.truncate(bytes);
      await file.datasync();
    } finally {
      await file.close();
    }
    return values;
  }

  /** Appends a value. Resolves once the value would survive a power failure. */
  async append(value: T): Promise<void> {
    if (this.#bytes === undefined) await this.read();
    const at = this.#bytes as number;
    const line = Buffer.from(`${JSON.stringify(value)}\n`);
    const file = await this.#open();
    try {
      if (this.#torn) await file.truncate(at);
      this.#torn = true;
      await writeAll(file, line, at);
      await file.datasync();
    } finally {
      await file.close();
    }
    this.#bytes = at + line.length;
    this.#torn = false;
  }

  async replace(values: Iterable<T>): Promise<void> {
    const text = [...values].map(value => `${JSON.stringify(value)}\n`).join('');
    this.#bytes = undefined;
    await replaceFile(this.#file, text, {
      mode: this.#options.mode,
      aside: `${this.#file}.part`,
    });
  }

  async #open(): Promise<FileHandle> {
    if (this.#named) return open(this.#file, 'r+');
    const folder = path.dirname(this.#file);
    await makeSyncedFolder(folder, { mode: this.#options.folderMode });
    const file = await open(this.#file, 'r+').catch(error => {
      if (!isNodeError(error, 'ENOENT')) throw error;
      return open(this.#file, 'wx+', this.#options.mode);
    });
    try {
      await syncFolder(folder);
    } catch (error) {
      await file.close();
      throw error;
    }
    this.#named = true;
    return file;
  }
}

function wholeLines<T>(text: string): { values: T[]; bytes: number } {
  const lines = text.split('\n');
  const values: T[] = [];
  let bytes = 0;
  for (const [index, line] of lines.slice(0, -1).entries()) {
    try {
      values.push(JSON.parse(line) as T);
    } catch (error) {
      // Only the last line may be damaged. After a crash, any part of the last write may be on disk, even the
      // end of the write without its start.
      if (index + 2 < lines.length || lines.at(-1) !== '') throw error;
      break;
    }
    bytes += Buffer.byteLength(line) + 1;
  }
  return { values, bytes };
}
