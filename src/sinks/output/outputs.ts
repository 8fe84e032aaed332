import path from 'node:path';
import { StorageError } from '../../errors.js';
import type { Progress } from '../../flow/progress.js';
import type { FileSystem } from '../../storage/file-system.js';
import { Buffers } from './buffers.js';
import type { FileCounts, OutputFile, Writer } from './output-file.js';
import { OutputNames, type OutputNamesOptions } from './output-names.js';
import { PartFiles, type PartFilesOptions } from './part-files.js';

export interface OutputsOptions extends OutputNamesOptions, PartFilesOptions {
  readonly maxOutputs: number;
  /** Of records, before compression. */
  readonly maxBytes: number | undefined;
  readonly progress: Progress | undefined;
  onFailure(error: unknown): void;
}

/** The output of one path: one file, or several in turn where their size is limited. */
export interface Output<T> {
  add(item: T, origin: string | undefined): void;
}

/** All output files of a run. They share memory, the limit of open files, and the first failure. */
export abstract class Outputs<T, F extends OutputFile = OutputFile> implements Writer {
  /** Whether each commit ends all files. */
  abstract readonly endsFiles: boolean;
  readonly buffers: Buffers;
  protected readonly parts: PartFiles;
  readonly #options: OutputsOptions;
  readonly #names: OutputNames;
  /** By absolute path, in the order of their creation. */
  readonly #files = new Map<string, F>();
  #changed = new Set<OutputFile>();
  /** One file of each folder that may have to be made, by folder. */
  #begun = new Map<string, OutputFile>();
  /** Aborted by the first failure, which is its reason. */
  readonly #ended = new AbortController();

  constructor(fs: FileSystem, options: OutputsOptions, maxHeldBytes?: number) {
    this.#options = options;
    this.#names = new OutputNames(options);
    this.buffers = new Buffers(maxHeldBytes);
    this.parts = new PartFiles(fs, this.#names, options, this.#ended.signal);
  }

  /** The output of a path. */
  abstract open(path: string): Output<T>;

  protected abstract newFile(path: string, before?: FileCounts): F;

  /** Resumes the files of an earlier run; all but those in `named` are parts as long as `counts` says. */
  resume(counts: readonly FileCounts[], named: ReadonlySet<FileCounts>): void {
    for (const before of counts) this.#add(before.path, before).named = named.has(before);
  }

  /** The file of a path, which may get another name where its own is reserved. */
  fileAt(wanted: string): F {
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

  /** Whether the path has a file. */
  has(file: string): boolean {
    return this.#files.has(this.#names.absolute(this.#names.unreserved(file)));
  }

  /** Whether a file has its final name. */
  isNamed(file: string): boolean {
    return this.#files.get(this.#names.absolute(file))?.named === true;
  }

  /** Waits until the folders of new files are there. */
  async begin(): Promise<void> {
    if (this.#begun.size === 0) return;
    const begun = this.#begun;
    this.#begun = new Map();
    for (const file of begun.values()) await this.parts.begin(file);
  }

  /** Whether items were added since the last `settle`. */
  get hasChanges(): boolean {
    return this.#changed.size > 0;
  }

  /** The files with items that were added since the last `settle`. */
  protected get changedFiles(): ReadonlySet<OutputFile> {
    return this.#changed;
  }

  /** Whether a file has ended since the last `settle` because it was full. */
  get filled(): boolean {
    return false;
  }

  /** Queues all collected items for writing. */
  flush(): void {
    for (const file of this.#changed) file.flush();
  }

  get full(): boolean {
    return this.buffers.full;
  }

  /** Writes collected items and waits until memory is free again. */
  async relieve(): Promise<void> {
    this.flushForChanges();
    await this.buffers.relief();
    this.throwFailure();
  }

  /** Queues what frees memory, without a wait for it. */
  protected flushForChanges(): void {
    this.flushForMemory(this.#changed);
  }

  /** Queues what frees half of the memory. */
  protected flushForMemory(_changed: ReadonlySet<OutputFile>): void {
    this.flush();
  }

  /** The counts of the files that changed since the last call, once all items up to now are on disk. */
  async settle(): Promise<FileCounts[]> {
    const settling = Array.from(this.#changed, file => file.settle());
    this.#changed = new Set();
    const counts: FileCounts[] = [];
    for (const one of settling) counts.push(await one);
    this.throwFailure();
    return counts;
  }

  /** Syncs these files and all new names to disk. */
  async sync(counts: readonly FileCounts[]): Promise<void> {
    await this.parts.sync(counts.map(({ path: name }) => this.fileAt(name)));
  }

  /** Renames the files to their final names, but for those with items that are not yet on disk, or without any. */
  async nameFiles(): Promise<void> {
    const files = [...this.#files.values()];
    await this.parts.rename(
      files.filter(file => !file.named && !file.fresh && !this.#changed.has(file)),
    );
  }

  /** Locks the single output against other runs. Where there are many, each part is checked instead. */
  async lock(): Promise<void> {
    await this.parts.lock();
  }

  /** Removes that lock, also after a power cut. Nothing is written afterwards. */
  async unlock(): Promise<void> {
    await this.parts.unlock();
  }

  /** Ends all writing and closes all files. Items that are not written yet are discarded. */
  async close(): Promise<void> {
    this.#end(new Error('The outputs are closed'));
    for (const file of this.#files.values()) await file.idle();
    await this.parts.close();
  }

  changed(file: OutputFile): void {
    this.#changed.add(file);
  }

  async append(
    file: OutputFile,
    block: Uint8Array,
    posts: number,
    isEncoded: boolean,
  ): Promise<number> {
    const bytes = await this.parts.write(file, block, isEncoded);
    this.countWritten(posts, bytes);
    return bytes;
  }

  protected countWritten(posts: number, bytes: number): void {
    const { progress } = this.#options;
    if (progress === undefined) return;
    progress.written += posts;
    progress.writtenBytes += bytes;
  }

  fail(error: unknown): void {
    if (this.#end(error)) this.#options.onFailure(error);
  }

  /** The failure of a file that ended the run. */
  get failure(): unknown {
    return this.#ended.signal.reason;
  }

  throwFailure(): void {
    this.#ended.signal.throwIfAborted();
  }

  /** Returns whether this is the first call. */
  #end(reason: unknown): boolean {
    if (this.#ended.signal.aborted) return false;
    this.#ended.abort(reason);
    this.buffers.release();
    return true;
  }

  #add(name: string, before?: FileCounts): F {
    const file = this.newFile(name, before);
    this.#files.set(this.#names.claim(name, this), file);
    if (before === undefined) this.#begun.set(path.dirname(name), file);
    return file;
  }
}
