import type { Engine } from '../../engine/engine.js';
import type { FileSystem } from '../../storage/file-system.js';
import { EncodedFile, type EncodedWriter } from './encoded-file.js';
import type { EncodedFormat, EncodeInThread } from './format.js';
import type { FileCounts, OutputFile } from './output-file.js';
import { numberedName } from './output-names.js';
import { type Output, Outputs, type OutputsOptions } from './outputs.js';

/** A file that got none of the last items, this part of a commit's, is over. */
const RECENT = 5;

/** Outputs of files that encoders build. */
export class EncodedOutputs<T> extends Outputs<T, EncodedFile<T>> implements EncodedWriter {
  readonly endsFiles = true;
  readonly #format: EncodedFormat<T>;
  readonly #maxBytes: number | undefined;
  readonly #engine: Pick<Engine, 'encodeChunks'>;
  /** Only one output of a path may decide which file is the last. */
  readonly #byPath = new Map<string, EncodedOutput<T>>();
  /** All blocks so far: whether they were made is known in their order. */
  #checked: Promise<void> = Promise.resolve();
  #filled = false;
  /** Items since the last commit, and from which number on it is looked again whether one is due. */
  #items = 0;
  #lookAt: number;

  constructor(
    fs: FileSystem,
    options: OutputsOptions,
    format: EncodedFormat<T>,
    engine: Pick<Engine, 'encodeChunks'>,
  ) {
    super(fs, options, format.maxHeldBytes);
    this.#format = format;
    this.#maxBytes = options.maxBytes;
    this.#engine = engine;
    this.#lookAt = format.committedItems;
  }

  open(path: string): EncodedOutput<T> {
    let output = this.#byPath.get(path);
    if (output === undefined) {
      output = new EncodedOutput(this, path, this.#maxBytes);
      this.#byPath.set(path, output);
    }
    return output;
  }

  /** A file has ended as it was full. */
  filledOne(): void {
    this.#filled = true;
  }

  encodeInThread(path: string): EncodeInThread {
    return task => this.#engine.encodeChunks(task, path);
  }

  blockArrived(): void {
    if (this.buffers.full || this.buffers.awaited) this.flushForChanges();
  }

  /** Ends the run where a thread could not make its blocks, without a wait for the end of their row group. */
  check(blocks: Promise<unknown>): void {
    this.#checked = this.#checked
      .then(() => blocks)
      .then(
        () => {},
        error => this.fail(error),
      );
  }

  counted(items: number): number {
    this.#items += items;
    return this.#items;
  }

  override get filled(): boolean {
    return this.#filled || this.#haveItems();
  }

  /** Whether the files that still get items, and would be cut, have enough of them. The others are over: ending them costs nothing. */
  #haveItems(): boolean {
    const { committedItems } = this.#format;
    if (this.#items < this.#lookAt) return false;
    const since = this.#items - committedItems / RECENT;
    this.#lookAt = this.#items + committedItems / RECENT;
    let growing = 0;
    for (const file of this.changedFiles as ReadonlySet<EncodedFile<T>>)
      if (file.lastItem > since) growing++;
    return this.#items >= committedItems * growing;
  }

  override settle(): Promise<FileCounts[]> {
    this.#filled = false;
    this.#items = 0;
    this.#lookAt = this.#format.committedItems;
    return super.settle();
  }

  protected newFile(path: string, before?: FileCounts): EncodedFile<T> {
    return new EncodedFile(path, this, this.#format, before);
  }

  /** Flushes the files that hold the most: a block of few items is larger on disk and slower to read. */
  protected override flushForMemory(changed: ReadonlySet<OutputFile>): void {
    const files = [...changed].sort((a, b) => b.heldBytes - a.heldBytes);
    let rest = files.reduce((sum, file) => sum + file.heldBytes, 0);
    for (const file of files) {
      if (rest <= this.buffers.half) break;
      rest -= file.heldBytes;
      file.flush();
    }
  }
}

/** The files of one path. With `maxBytes` they are numbered, and the next begins once one has that size. */
export class EncodedOutput<T> implements Output<T> {
  readonly #outputs: EncodedOutputs<T>;
  readonly #path: string;
  readonly #maxBytes: number | undefined;
  #number = 0;
  #file: EncodedFile<T> | undefined;

  constructor(outputs: EncodedOutputs<T>, path: string, maxBytes: number | undefined) {
    this.#outputs = outputs;
    this.#path = path;
    this.#maxBytes = maxBytes;
    // Files from before a crash are finished.
    if (maxBytes !== undefined)
      while (outputs.has(numberedName(path, this.#number + 1))) this.#number++;
  }

  add(item: T, origin: string | undefined): void {
    this.file.add(item, origin);
    this.#endFull();
  }

  /** The file that is next added to. */
  get file(): EncodedFile<T> {
    if (this.#maxBytes === undefined) return this.#outputs.fileAt(this.#path);
    this.#endFull();
    while (this.#file === undefined || this.#file.ended)
      this.#file = this.#outputs.fileAt(numberedName(this.#path, ++this.#number));
    return this.#file;
  }

  #endFull(): void {
    const file = this.#file;
    if (this.#maxBytes === undefined || file === undefined || file.ended) return;
    if (file.size < this.#maxBytes) return;
    file.end();
    this.#outputs.filledOne();
  }
}
