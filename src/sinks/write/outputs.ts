import path from 'node:path';
import { StorageError } from '../../base/errors.js';
import type { RunInThread } from '../../files/record-columns.js';
import type { EncodedBlock } from '../../files/rows.js';
import type { Progress } from '../../flow/progress.js';
import type { FileSystem } from '../../storage/file-system.js';
import { Buffers, type Encoder, type FileEntry, type FileFormat } from './format.js';
import { type FilesByPath, NumberedFiles } from './numbered-files.js';
import { type FileCounts, OutputFile, type SharedByFiles } from './output-file.js';
import { OutputNames, type OutputNamesOptions } from './output-names.js';
import { PartFiles, type PartFilesOptions, type WriteRanges } from './part-files.js';

export interface OutputsOptions extends OutputNamesOptions, PartFilesOptions {
  readonly maxOutputs: number;
  /** The maximum size of a file before compression, in bytes. */
  readonly maxBytes: number | undefined;
  readonly progress: Progress | undefined;
  onFailure(error: unknown): void;
  tasksFor?(path: string): RunInThread;
}

type EncodesFiles = Pick<FileFormat<never>, 'encoder' | 'wholeFiles'>;

export type SharedOptions = Pick<
  OutputsOptions,
  'afterFailure' | 'claims' | 'folder' | 'onFailure' | 'reserved'
>;

export interface FileRange {
  readonly file: OutputFile;
  readonly position: number;
  readonly bytes: number;
  readonly posts: number;
}

/**
 * Defines which files still grow: the files that received one of the last `committedItems / GROWING_DIVISOR`
 * items of the sink. `#haveItems` counts only these files.
 */
const GROWING_DIVISOR = 5;

/**
 * All output files of a sink. The files share their memory, the limit on open files, and the first failure.
 */
export class Outputs implements SharedByFiles, FilesByPath {
  readonly buffers: Buffers;
  readonly parts: PartFiles;
  readonly endsFiles: boolean;
  readonly #format: EncodesFiles;
  readonly #options: OutputsOptions;
  readonly #names: OutputNames;
  /** The files by absolute path, in the order in which they were created. */
  readonly #files = new Map<string, OutputFile>();
  /**
   * The `NumberedFiles` of each path, so that everything that writes to a path uses the same current file.
   * Empty unless `maxBytes` limits the size of files.
   */
  readonly #byPath = new Map<string, NumberedFiles>();
  #changed = new Set<OutputFile>();
  /** For each folder that may not exist yet, by its path: one of the output files in it. */
  readonly #inNewFolders = new Map<string, OutputFile>();
  /**
   * Settles when all blocks that were added so far have arrived from other threads. The blocks are checked in
   * the order in which they were added.
   */
  #expected: Promise<void> = Promise.resolve();
  #filled = false;
  /**
   * `#items` is the number of items since the last commit. `#lookAt` is the number of items at which to check
   * again whether a commit is due.
   */
  #items = 0;
  #lookAt = 0;
  /** Aborted by the first failure. That failure is the reason of its signal. */
  readonly #ended = new AbortController();

  constructor(fs: FileSystem, options: OutputsOptions, format: EncodesFiles) {
    const { wholeFiles } = format;
    this.#options = options;
    this.#format = format;
    this.endsFiles = wholeFiles !== undefined;
    this.#names = new OutputNames(options);
    this.buffers = new Buffers(wholeFiles?.maxHeldBytes);
    this.parts = new PartFiles(fs, this.#names, options, this.#ended.signal);
  }

  open(path: string): NumberedFiles {
    const { maxBytes } = this.#options;
    if (maxBytes === undefined) return new NumberedFiles(this, path, maxBytes);
    let output = this.#byPath.get(path);
    if (output === undefined) {
      output = new NumberedFiles(this, path, maxBytes);
      this.#byPath.set(path, output);
    }
    return output;
  }

  /**
   * Resumes the files of an earlier run. Files in `named` have their final names. All other files are `.part`
   * files, with the sizes in `counts`.
   */
  resume(counts: readonly FileCounts[], named: ReadonlySet<FileCounts>): void {
    for (const before of counts) this.#add(before.path, before).named = named.has(before);
  }

  fileAt(wanted: string): OutputFile {
    const file = this.#names.unreserved(wanted);
    const found = this.#files.get(this.#names.absolute(file));
    if (found !== undefined) return found;
    const { maxOutputs } = this.#options;
    if (this.#files.size >= maxOutputs)
      throw new StorageError(
        `Cannot begin ${file}: the run has ${maxOutputs} files, and memory grows with each. Choose a \`path\` with fewer files, or raise \`maxOutputs\` (and the heap's limit, node --max-old-space-size)`,
        { path: file },
      );
    return this.#add(file);
  }

  has(file: string): boolean {
    return this.#files.has(this.#names.absolute(this.#names.unreserved(file)));
  }

  isNamed(file: string): boolean {
    return this.#files.get(this.#names.absolute(file))?.named === true;
  }

  /** Waits until the folders of new files exist. */
  async begin(): Promise<void> {
    if (this.#inNewFolders.size === 0) return;
    const files = [...this.#inNewFolders.values()];
    this.#inNewFolders.clear();
    for (const file of files) await this.parts.begin(file);
  }

  /** Whether items were added since the last `settle`. */
  get hasChanges(): boolean {
    return this.#changed.size > 0;
  }

  filledOne(): void {
    this.#filled = true;
  }

  /**
   * Returns whether files should end, which makes a commit due. They should end if one of them has become
   * full since the last `settle`, or if the files that still get items have the required number of items on
   * average.
   */
  takeFilled(): boolean {
    const { wholeFiles } = this.#format;
    if (wholeFiles === undefined) return false;
    return this.#filled || this.#haveItems(wholeFiles.committedItems);
  }

  /**
   * Returns whether at least `committedItems` items have arrived since the last commit per file that still
   * gets items. Other files are not counted, because ending them costs nothing. If there are too few items,
   * the files are counted again only after more items have arrived.
   */
  #haveItems(committedItems: number): boolean {
    if (this.#items < committedItems || this.#items < this.#lookAt) return false;
    const since = this.#items - committedItems / GROWING_DIVISOR;
    this.#lookAt = this.#items + committedItems / GROWING_DIVISOR;
    let growing = 0;
    for (const file of this.#changed) if (file.lastItem > since) growing++;
    return this.#items >= committedItems * growing;
  }

  flush(): void {
    for (const file of this.#changed) file.flush();
  }

  get full(): boolean {
    return this.buffers.full;
  }

  /** Writes collected items, and waits until at most half of the memory is in use. */
  async relieve(): Promise<void> {
    this.#flushLargest();
    await this.buffers.relief();
    this.throwFailure();
  }

  /**
   * Queues items for writing, until the rest occupies at most half of the memory limit. Starts with the files
   * that hold the most, because blocks with few items take more space on disk and are slower to read.
   */
  #flushLargest(): void {
    const files = Array.from(this.#changed).filter(({ heldBytes }) => heldBytes > 0);
    files.sort((a, b) => b.heldBytes - a.heldBytes);
    let rest = files.reduce((sum, file) => sum + file.heldBytes, 0);
    for (const file of files) {
      if (rest <= this.buffers.half) break;
      rest -= file.heldBytes;
      file.flush();
    }
  }

  /**
   * Resolves once all items so far are on disk. The result is the counts of the files that have changed since
   * the last call.
   */
  async settle(): Promise<FileCounts[]> {
    this.#filled = false;
    this.#items = 0;
    this.#lookAt = 0;
    const settling = Array.from(this.#changed, file => file.settle());
    this.#changed = new Set();
    const counts: FileCounts[] = [];
    for (const one of settling) counts.push(await one);
    this.throwFailure();
    return counts;
  }

  async sync(counts: readonly FileCounts[]): Promise<void> {
    await this.parts.sync(counts.map(({ path: name }) => this.fileAt(name)));
  }

  /** Renames files to their final names. Skips empty files, and files with items that are not on disk yet. */
  async nameFiles(): Promise<void> {
    const files = [...this.#files.values()];
    await this.parts.rename(
      files.filter(file => !file.named && !file.fresh && !this.#changed.has(file)),
    );
  }

  async finish(): Promise<void> {
    await this.nameFiles();
    await this.#removeStaleParts();
  }

  /**
   * Removes the `.part` files that a stopped run has left beyond the last numbered file of a path. The size at
   * which a numbered file ends may depend on when commits happen. Therefore, the stopped run may have begun
   * more files than this run.
   */
  async #removeStaleParts(): Promise<void> {
    for (const files of this.#byPath.values())
      for (const name of files.nextNames())
        if (this.has(name) || !(await this.parts.removeStale(name))) break;
  }

  /**
   * Locks the output if there is only one, so that a second run is refused. Several outputs are not locked,
   * but the run ends if another run replaces one of their `.part` files.
   */
  async lock(): Promise<void> {
    await this.parts.lock();
  }

  async unlock(): Promise<void> {
    await this.parts.unlock();
  }

  /** Stops all writing, and closes all files. Items that are not written yet are discarded. */
  async close(): Promise<void> {
    this.#end(new Error('The outputs are closed'));
    for (const file of this.#files.values()) await file.idle();
    await this.parts.close();
  }

  /**
   * Lets another thread write lines to allocated ranges, in at most `maxOpen` different files. Resolves once
   * they are written or the run has failed.
   */
  async writeRanges(ranges: readonly FileRange[], write: WriteRanges): Promise<void> {
    const written = this.parts.writeRanges(ranges, write);
    for (const { file, posts, bytes } of ranges) file.appendRange(posts, bytes, written);
    await written.catch(error => this.fail(error));
  }

  encoderOf(path: string, isNew: boolean): Encoder<FileEntry> {
    const inThread = this.#options.tasksFor?.(path);
    return this.#format.encoder({ isNew, buffers: this.buffers, inThread });
  }

  changed(file: OutputFile): void {
    this.#changed.add(file);
  }

  counted(items: number): number {
    this.#items += items;
    return this.#items;
  }

  expect(block: Promise<EncodedBlock>): void {
    // The blocks are awaited in the order in which they were added. If several blocks fail, the run always
    // ends with the error of the first of them.
    this.#expected = this.#expected
      .then(() => block)
      .then(
        () => {},
        error => this.fail(error),
      );
    block.then(
      ({ parts }) => {
        for (const { byteLength } of parts) this.buffers.hold(byteLength);
        if (this.buffers.full || this.buffers.awaited) this.#flushLargest();
      },
      () => {},
    );
  }

  wrote(posts: number, bytes: number): void {
    const { progress } = this.#options;
    if (progress === undefined) return;
    progress.written += posts;
    progress.writtenBytes += bytes;
  }

  fail(error: unknown): void {
    if (this.#end(error)) this.#options.onFailure(error);
  }

  /** The failure that has ended the run, if a file has failed. */
  get failure(): unknown {
    return this.#ended.signal.reason;
  }

  throwFailure(): void {
    this.#ended.signal.throwIfAborted();
  }

  /** Stops all writing. Returns whether this is the first call. */
  #end(reason: unknown): boolean {
    if (this.#ended.signal.aborted) return false;
    this.#ended.abort(reason);
    this.buffers.release();
    return true;
  }

  #add(name: string, before?: FileCounts): OutputFile {
    const file = new OutputFile(name, this, before);
    this.#files.set(this.#names.claim(name, this), file);
    if (before === undefined) this.#inNewFolders.set(path.dirname(name), file);
    return file;
  }
}
