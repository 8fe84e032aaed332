import path from 'node:path';
import pLimit from 'p-limit';
import { publish } from '../../base/diagnostics.js';
import { isNodeError, StorageError } from '../../base/errors.js';
import { type Compression, compressBlock } from '../../gzip/compression.js';
import { releaseMemory } from '../../gzip/release-memory.js';
import {
  type FileSystem,
  type OpenFile,
  regularStatus,
  statusOf,
  unlinkIfThere,
  writeAll,
} from '../../storage/file-system.js';
import { makeFolder, syncFolder } from '../../storage/folder.js';
import { type Lock, takeLock } from '../../storage/lock.js';
import { storageError } from '../../storage/storage-error.js';
import { FileHandles } from './file-handles.js';
import { type ByteChunks, MAX_BUFFER_BYTES } from './format.js';
import { type OutputNames, PART } from './output-names.js';

export interface PartFilesOptions {
  readonly compression: Compression | undefined;
  readonly maxOpen: number;
  /**
   * The path of the only output; `undefined` if the path depends on the items. This path is locked against
   * other runs.
   */
  readonly only: string | undefined;
  /** Returns advice for error messages: what happens if the script is run again. */
  afterFailure(): string;
  /**
   * Returns whether the next run would read a new output as input.
   *
   * @param file The absolute path of the output.
   * @param exists Whether there is already a file, which the output will replace.
   */
  isInput?(file: string, exists: boolean): boolean;
}

export interface PartFile {
  /** The final path of the file. */
  readonly path: string;
  /** The path of the file until it is finished. */
  readonly part: string;
  readonly posts: number;
  readonly bytes: number;
  /**
   * True until this run has created the file. An earlier run may have left a `.part` file with the same name.
   */
  fresh: boolean;
  /** The inode number of the `.part` file; 0 until it is known. */
  ino: number;
  named: boolean;
}

interface PartRange {
  readonly file: PartFile;
  readonly position: number;
  readonly bytes: number;
}

/**
 * Writes to open files by their descriptors. Resolves to the first failure; `undefined` if there was none.
 */
export type WriteRanges = (
  fds: readonly number[],
) => Promise<{ readonly index: number; readonly error: Error } | undefined>;

/** The maximum number of concurrent writes. More concurrent writes are not faster on a disk. */
const CONCURRENT_WRITES = 8;

/** The output files on disk. Each file is a `.part` file until it is finished and gets its final name. */
export class PartFiles {
  readonly #fs: FileSystem;
  readonly #options: PartFilesOptions;
  readonly #names: OutputNames;
  readonly #signal: AbortSignal;
  readonly #handles: FileHandles;
  readonly #folders: OutputFolders;
  readonly #limit;
  #lock: Promise<Lock> | undefined;
  /** Finished files that are being renamed back to `.part` files. */
  readonly #reopened = new Map<PartFile, Promise<void>>();

  /** @param signal A signal that stops all writing. */
  constructor(fs: FileSystem, names: OutputNames, options: PartFilesOptions, signal: AbortSignal) {
    const { maxOpen } = options;
    this.#fs = fs;
    this.#options = options;
    this.#names = names;
    this.#signal = signal;
    this.#handles = new FileHandles(fs, maxOpen, (part, work) => this.#guard('write', part, work));
    this.#folders = new OutputFolders(fs);
    this.#limit = pLimit(Math.min(maxOpen, CONCURRENT_WRITES));
  }

  /**
   * Locks the path of the output, so that a second run with the same output is refused. Does nothing if the
   * path depends on the items.
   *
   * @throws StorageError if another run holds the lock.
   */
  async lock(): Promise<void> {
    const { only } = this.#options;
    if (only === undefined) return;
    const lock = { fs: this.#fs, refusal: `Another run writes ${only}` };
    this.#lock ??= this.#makeFolderOf(only).then(() => takeLock(`${only}${PART}.lock`, lock));
    await this.#lock;
  }

  /**
   * Creates the folder of a file before the first write. If the folder is removed later, the next write to the
   * file fails instead of recreating the folder.
   */
  async begin(file: PartFile): Promise<void> {
    await this.#guard('write', file.part, () => this.#makeFolderOf(file.path));
  }

  /**
   * Appends chunks to a file, and returns the number of bytes that they take on disk. If the sink compresses,
   * each chunk is compressed first, unless it is already encoded.
   */
  write(file: PartFile, chunks: ByteChunks, isEncoded: boolean): Promise<number> {
    return this.#limit(async () => {
      this.#signal.throwIfAborted();
      const { compression } = this.#options;
      const { bytes: position } = file;
      // Each chunk is a complete gzip member or zstd frame. The file is therefore still valid after it is
      // truncated to a committed length.
      const content =
        isEncoded || compression === undefined
          ? chunks
          : await Promise.all(chunks.map(chunk => compressBlock(chunk, compression)));
      const bytes = content.reduce((sum, { length }) => sum + length, 0);
      await this.#use([{ file, position, bytes }], ([open]) =>
        this.#guard('write', file.part, () => writeChunks(open as OpenFile, content, position)),
      );
      return bytes;
    });
  }

  /** Lets another thread write to ranges of at most `maxOpen` different files. */
  async writeRanges(ranges: readonly PartRange[], write: WriteRanges): Promise<void> {
    this.#signal.throwIfAborted();
    await this.#use(ranges, async open => {
      this.#signal.throwIfAborted();
      const failed = await write(open.map(({ fd }) => fd as number));
      if (failed === undefined) return;
      const { part } = (ranges[failed.index] as PartRange).file;
      await this.#guard('write', part, () => Promise.reject(failed.error));
    });
  }

  /** Syncs these files, and all new file names, to disk. */
  async sync(files: readonly PartFile[]): Promise<void> {
    await this.#each(files, file =>
      this.#guard('write', file.part, async () => {
        await this.#handles.use([{ part: file.part, fresh: false }], ([open]) =>
          (open as OpenFile).datasync(),
        );
        await this.#check(file);
      }),
    );
    await this.#syncFolders();
  }

  async rename(files: readonly PartFile[]): Promise<void> {
    await this.#each(files, file =>
      this.#guard('write', file.part, async () => {
        await this.#handles.close(file.part);
        await this.#check(file);
      }),
    );
    await this.#each(files, async file => {
      await this.#guard('finish', file.path, async () => {
        await this.#check(file);
        await regularStatus(this.#fs, file.path);
        await this.#fs.rename(file.part, file.path);
        file.named = true;
      });
      this.#folders.changed(path.dirname(file.path));
    });
    await this.#syncFolders();
    for (const { path, posts, bytes } of files) publish('file', () => ({ path, posts, bytes }));
  }

  /** Removes the lock. The removal survives a power failure. Nothing may be written after that. */
  async unlock(): Promise<void> {
    const { only } = this.#options;
    if (only === undefined || this.#lock === undefined) return;
    const lock = await this.#lock;
    this.#lock = undefined;
    await lock.release();
    this.#folders.changed(path.dirname(only));
    await this.#syncFolders();
  }

  /**
   * Closes all files and removes the lock, even if taking the lock has not completed yet. Nothing may be
   * written after that.
   */
  async close(): Promise<void> {
    await this.#handles.abandon();
    const lock = await this.#lock?.catch(() => undefined);
    await lock?.release();
  }

  /** Removes the `.part` file of a path that this run does not write. Returns whether there was one. */
  async removeStale(file: string): Promise<boolean> {
    const part = `${this.#names.absolute(file)}${PART}`;
    return this.#guard('remove', part, async () => {
      if ((await statusOf(this.#fs, part))?.isFile() !== true) return false;
      await unlinkIfThere(this.#fs, part);
      return true;
    });
  }

  /**
   * Opens the files of the ranges, and calls `write` with them. Creates new files. If a file is already
   * finished, first renames it back to a `.part` file.
   */
  async #use(
    ranges: readonly PartRange[],
    write: (open: readonly OpenFile[]) => Promise<void>,
  ): Promise<void> {
    const files = ranges.map(({ file }) => file);
    for (const file of files)
      if (file.fresh || file.named)
        await this.#guard('write', file.part, () => this.#prepare(file));
    await this.#handles.use(files, open => {
      for (const file of files) this.#created(file);
      return write(open);
    });
    for (const { file, position, bytes } of ranges)
      if (file.ino === 0)
        await this.#guard('write', file.part, () => this.#check(file, position + bytes));
  }

  async #prepare(file: PartFile): Promise<void> {
    await this.lock();
    if (file.named) await this.#reopen(file);
    if (!file.fresh) return;
    await this.#makeFolderOf(file.path);
    const exists = (await regularStatus(this.#fs, file.path)) !== undefined;
    if (this.#options.isInput?.(this.#names.absolute(file.path), exists) === true)
      throw new StorageError(
        `Cannot write ${file.path}: localFiles() reads that folder, so the next run would read this output and write its posts again. Choose a \`path\` outside the folder. Alternatively, choose a \`match\` that does not select the output`,
        { path: file.path },
      );
  }

  /** Renames a finished file back to a `.part` file, so that more can be added to it. */
  #reopen(file: PartFile): Promise<void> {
    let reopened = this.#reopened.get(file);
    if (reopened === undefined) {
      reopened = this.#takeBack(file).finally(() => this.#reopened.delete(file));
      this.#reopened.set(file, reopened);
    }
    return reopened;
  }

  async #takeBack(file: PartFile): Promise<void> {
    const size = (await regularStatus(this.#fs, file.path))?.size;
    if (size === undefined)
      throw new StorageError(
        `Cannot add to ${file.path}, which an earlier run has finished: it was moved or removed. Put it back, or choose a \`path\` whose files are over when they are moved, such as one with {hour}`,
        { path: file.path },
      );
    if (size !== file.bytes)
      throw new StorageError(
        `Cannot add to ${file.path}, which an earlier run has finished: another process has changed it during this run. Run again once nothing writes to it`,
        { path: file.path, retryable: true },
      );
    await this.#fs.rename(file.path, file.part);
    // The folder is synced before anything is added to the file. Otherwise, a power failure could restore the
    // final name although the file has unfinished data.
    await syncFolder(this.#names.absolute(path.dirname(file.path)), this.#fs);
    file.named = false;
  }

  #created(file: PartFile): void {
    if (file.fresh) this.#folders.changed(path.dirname(file.path));
    file.fresh = false;
  }

  /**
   * Checks that the `.part` file on disk is the file that this run writes, and that it has at least `bytes`
   * bytes.
   *
   * @param bytes The minimum length. It is fixed before `regularStatus` is called, because a write may
   * increase `file.bytes` during that call.
   */
  async #check(file: PartFile, bytes = file.bytes): Promise<void> {
    const status = await regularStatus(this.#fs, file.part);
    if (status === undefined) await this.#mustHaveFolderOf(file.part);
    if (file.ino === 0) file.ino = status?.ino ?? 0;
    if (status !== undefined && status.ino === file.ino && status.size >= bytes) return;
    throw new StorageError(
      `Could not continue ${file.part}: it was replaced, removed or cut, by another process or, where the file system ignores case, by an output whose name differs in case only. Let one run at a time write there, under names that differ`,
      { path: file.part },
    );
  }

  #makeFolderOf(file: string): Promise<void> {
    return this.#folders.make(this.#names.absolute(path.dirname(file)));
  }

  async #syncFolders(): Promise<void> {
    await this.#each(this.#folders.takeChanged(), folder =>
      this.#guard('write', folder, () => syncFolder(folder, this.#fs)),
    );
  }

  async #each<T>(items: Iterable<T>, work: (item: T) => Promise<unknown>): Promise<void> {
    // The items are iterated lazily. For many thousands of files, a promise for each file would take more
    // memory than the files.
    const rest = items[Symbol.iterator]();
    const failures: unknown[] = [];
    const worker = async () => {
      for (let next = rest.next(); next.done !== true; next = rest.next()) {
        if (failures.length > 0) return;
        const { value } = next;
        await this.#limit(() => work(value)).catch(error => failures.push(error));
      }
    };
    await Promise.all(Array.from({ length: CONCURRENT_WRITES }, worker));
    if (failures.length > 0) throw failures[0];
  }

  async #guard<T>(doing: string, file: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const cause = error instanceof StorageError ? error.cause : error;
      if (isNodeError(cause, 'ENOENT')) await this.#mustHaveFolderOf(file, cause);
      throw storageError(doing, file, error, this.#options.afterFailure());
    }
  }

  /** Throws if the folder of a file is gone although this run has created or found it. */
  async #mustHaveFolderOf(file: string, cause?: unknown): Promise<void> {
    const folder = this.#names.absolute(path.dirname(file));
    if (!this.#folders.has(folder) || (await statusOf(this.#fs, folder)) !== undefined) return;
    throw new StorageError(
      `Could not continue ${file}: the folder ${folder} was removed during the run. Leave it there until the run has ended${this.#options.afterFailure()}`,
      { path: file, cause },
    );
  }
}

/**
 * The folders of outputs. Each folder is created once. If a folder has new file names, the next commit syncs
 * it.
 */
class OutputFolders {
  readonly #fs: FileSystem;
  /** The folders that exist or are being created, by path. */
  readonly #made = new Map<string, Promise<void>>();
  #changed = new Set<string>();

  constructor(fs: FileSystem) {
    this.#fs = fs;
  }

  has(folder: string): boolean {
    return this.#made.has(folder);
  }

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

  /** Called when a file in the folder was created or renamed. The folder must then be synced. */
  changed(folder: string): void {
    this.#changed.add(folder);
  }

  takeChanged(): ReadonlySet<string> {
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }
}

/** Writes chunks. Small chunks are written together, because a copy takes less time than a write. */
async function writeChunks(file: OpenFile, chunks: ByteChunks, position: number): Promise<void> {
  let at = position;
  let next: Uint8Array[] = [];
  let bytes = 0;
  const write = async () => {
    const block = next.length === 1 ? next[0]! : Buffer.concat(next);
    await writeAll(file, block, at);
    at += block.length;
    if (next.length > 1) releaseMemory(block);
    next = [];
    bytes = 0;
  };
  for (const chunk of chunks) {
    if (bytes > 0 && bytes + chunk.length > MAX_BUFFER_BYTES) await write();
    next.push(chunk);
    bytes += chunk.length;
  }
  await write();
}
