import type { FileSystem } from '../../storage/file-system.js';
import type { RecordFormat } from './format.js';
import type { FileCounts } from './output-file.js';
import { numberedName } from './output-names.js';
import { type Output, Outputs, type OutputsOptions } from './outputs.js';
import type { FileRange, WriteRanges } from './part-files.js';
import { RecordFile } from './record-file.js';

/** Outputs of records. */
export class RecordOutputs<T> extends Outputs<T, RecordFile<T>> {
  readonly endsFiles = false;
  readonly #format: RecordFormat<T>;
  readonly #maxBytes: number | undefined;
  /** With `maxBytes` only one output of a path may decide which file is the last. */
  readonly #byPath = new Map<string, RecordOutput<T>>();

  constructor(fs: FileSystem, options: OutputsOptions, format: RecordFormat<T>) {
    super(fs, options);
    this.#format = format;
    this.#maxBytes = options.maxBytes;
  }

  open(path: string): RecordOutput<T> {
    const maxBytes = this.#maxBytes;
    if (maxBytes === undefined) return new RecordOutput(this, path, this.#format, maxBytes);
    let output = this.#byPath.get(path);
    if (output === undefined) {
      output = new RecordOutput(this, path, this.#format, maxBytes);
      this.#byPath.set(path, output);
    }
    return output;
  }

  /**
   * Lets another thread write records in allocated ranges, of at most `maxOpen` different files. Resolves
   * when they are written, or the run has failed.
   */
  async writeRanges(ranges: readonly FileRange<RecordFile<T>>[], write: WriteRanges) {
    const written = this.parts.writeRanges(ranges, write).then(
      () => {
        for (const { posts, bytes } of ranges) this.countWritten(posts, bytes);
        return true;
      },
      error => {
        this.fail(error);
        return false;
      },
    );
    for (const { file, posts, bytes } of ranges) file.countWhenWritten(posts, bytes, written);
    await written;
  }

  protected newFile(path: string, before?: FileCounts): RecordFile<T> {
    return new RecordFile(path, this, this.#format, before);
  }
}

/** The files of one path. With `maxBytes` they are numbered, and a record that does not fit begins the next. */
export class RecordOutput<T> implements Output<T> {
  readonly #outputs: RecordOutputs<T>;
  readonly #path: string;
  readonly #format: RecordFormat<T>;
  readonly #maxBytes: number | undefined;
  #number = 1;
  #file: RecordFile<T>;

  constructor(
    outputs: RecordOutputs<T>,
    path: string,
    format: RecordFormat<T>,
    maxBytes: number | undefined,
  ) {
    this.#outputs = outputs;
    this.#path = path;
    this.#format = format;
    this.#maxBytes = maxBytes;
    if (maxBytes !== undefined)
      while (outputs.has(numberedName(path, this.#number + 1))) this.#number++;
    this.#file = outputs.fileAt(maxBytes === undefined ? path : numberedName(path, this.#number));
  }

  add(item: T, origin: string | undefined): void {
    this.addRecord(this.#format.encode(item, origin));
  }

  addRecord(record: Uint8Array): void {
    this.fileFor(record.byteLength).add(record);
  }

  /** The file that a record of this size goes to. */
  fileFor(byteLength: number): RecordFile<T> {
    // The next file may be full already: an output whose path is spelled differently adds to it, too.
    while (this.#isFull(byteLength)) {
      this.#file.flush();
      this.#file = this.#outputs.fileAt(numberedName(this.#path, ++this.#number));
    }
    return this.#file;
  }

  #isFull(byteLength: number): boolean {
    const { lineBytes } = this.#file;
    if (this.#maxBytes === undefined || lineBytes === 0) return false;
    return lineBytes + byteLength + 1 > this.#maxBytes;
  }
}
