import type { FileSystem } from '../../storage/file-system.js';
import { EncodedFile } from './encoded-file.js';
import type { EncodedFormat } from './format.js';
import type { FileCounts, OutputFile } from './output-file.js';
import { numberedName } from './output-names.js';
import { type Output, Outputs, type OutputsOptions } from './outputs.js';

/** Outputs of files that encoders build. */
export class EncodedOutputs<T> extends Outputs<T, EncodedFile<T>> {
  readonly endsFiles = true;
  readonly #format: EncodedFormat<T>;
  readonly #maxBytes: number | undefined;
  #filled = false;

  constructor(fs: FileSystem, options: OutputsOptions, format: EncodedFormat<T>) {
    super(fs, options, format.maxHeldBytes);
    this.#format = format;
    this.#maxBytes = options.maxBytes;
  }

  open(path: string): Output<T> {
    const maxBytes = this.#maxBytes;
    if (maxBytes === undefined) return this.fileAt(path);
    // Files from before a crash are finished.
    let number = 0;
    while (this.has(numberedName(path, number + 1))) number++;
    let current: EncodedFile<T> | undefined;
    return {
      add: (item, origin) => {
        if (current === undefined || current.ended)
          current = this.fileAt(numberedName(path, ++number));
        current.add(item, origin);
        if (current.lineBytes < maxBytes) return;
        current.end();
        this.#filled = true;
      },
    };
  }

  override get filled(): boolean {
    return this.#filled;
  }

  override settle(): Promise<FileCounts[]> {
    this.#filled = false;
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
