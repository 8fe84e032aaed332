import type { EncodedFormat, Encoder } from './format.js';
import { type FileCounts, OutputFile, type Writer } from './output-file.js';

/** A file that an encoder builds. */
export class EncodedFile<T> extends OutputFile {
  /** Absent once the file has ended. */
  #encoder: Encoder<T> | undefined;
  #held = 0;
  #added = 0;
  /** Of the blocks so far. */
  #blockBytes = 0;

  constructor(path: string, writer: Writer, format: EncodedFormat<T>, before?: FileCounts) {
    super(path, writer, before);
    // A file from before a crash is finished.
    if (before === undefined) this.#encoder = format.encoder();
  }

  get ended(): boolean {
    return this.#encoder === undefined;
  }

  get heldBytes(): number {
    return this.#held;
  }

  add(item: T, origin: string | undefined): void {
    const encoder = this.#encoder as Encoder<T>;
    encoder.add(item, origin);
    if (this.#added === 0) this.writer.changed(this);
    this.#added++;
    const { heldBytes } = encoder;
    this.writer.buffers.hold(heldBytes - this.#held);
    this.#held = heldBytes;
    this.lineBytes = this.#blockBytes + heldBytes;
    if (encoder.full) this.flush();
  }

  flush(): void {
    if (this.#added > 0 && this.#encoder !== undefined) this.#pass(this.#encoder.flush());
  }

  /** Ends the file: a commit lists only finished files. */
  override settle(): FileCounts | Promise<FileCounts> {
    this.end();
    return super.settle();
  }

  /** Writes the rest of the file. */
  end(): void {
    const encoder = this.#encoder;
    if (encoder === undefined) return;
    this.#encoder = undefined;
    this.#pass(encoder.end());
  }

  #pass(block: Uint8Array): void {
    const { buffers } = this.writer;
    const posts = this.#added;
    this.#added = 0;
    this.#blockBytes += block.byteLength;
    this.lineBytes = this.#blockBytes;
    buffers.hold(block.byteLength - this.#held);
    this.#held = 0;
    this.write(block, posts, () => buffers.hold(-block.byteLength));
  }
}
