import type { RowBlock } from '../../parquet/row-block.js';
import type { EncodedFormat, EncodeInThread, Encoder } from './format.js';
import { type FileCounts, OutputFile, type Writer } from './output-file.js';

/** What the files of encoders share. */
export interface EncodedWriter extends Writer {
  encodeInThread(path: string): EncodeInThread;
  /** Counts items that were added, and returns how many there are since the last commit. */
  counted(items: number): number;
  /** Called when memory is held for a block that another thread has made. */
  blockArrived(): void;
}

/** The blocks since the last `flush`. */
interface Blocks {
  bytes: number;
}

/** A file that an encoder builds. */
export class EncodedFile<T> extends OutputFile {
  /** Absent once the file has ended. */
  #encoder: Encoder<T> | undefined;
  readonly #encodedWriter: EncodedWriter;
  #held = 0;
  #blocks: Blocks = { bytes: 0 };
  /** Of all blocks that are not encoded yet. */
  #blockBytes = 0;
  #added = 0;
  /** How many items all files had when it got its last. */
  lastItem = 0;

  constructor(path: string, writer: EncodedWriter, format: EncodedFormat<T>, before?: FileCounts) {
    super(path, writer, before);
    this.#encodedWriter = writer;
    // A file from before a crash is finished.
    if (before === undefined) this.#encoder = format.encoder(writer.encodeInThread(path));
  }

  get ended(): boolean {
    return this.#encoder === undefined;
  }

  get heldBytes(): number {
    return this.#held + this.#blocks.bytes;
  }

  /** Its bytes so far, with those that are held as they are in memory. */
  get size(): number {
    return this.lineBytes + this.#blockBytes;
  }

  add(item: T, origin: string | undefined): void {
    const encoder = this.#encoder as Encoder<T>;
    encoder.add(item, origin);
    this.#count(1);
    this.#hold(encoder.heldBytes);
    if (encoder.full) this.flush();
  }

  /** How many rows the next block may have. */
  get room(): number {
    return this.#encoder?.room ?? 0;
  }

  /** How many rows a block may have once the encoder was flushed. */
  get maxRoom(): number {
    return this.#encoder?.maxRoom ?? 0;
  }

  /** Adds rows of a block that another thread makes. */
  addBlock(rows: number, block: Promise<RowBlock>): void {
    const encoder = this.#encoder as Encoder<T>;
    const blocks = this.#blocks;
    encoder.addBlock?.(rows, block);
    block.then(
      ({ parts }) => {
        for (const { byteLength } of parts) {
          blocks.bytes += byteLength;
          this.#blockBytes += byteLength;
          this.writer.buffers.hold(byteLength);
        }
        this.#encodedWriter.blockArrived();
      },
      // What waits for the block fails, too.
      () => {},
    );
    this.#count(rows);
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

  #count(items: number): void {
    if (this.#added === 0) this.writer.changed(this);
    this.#added += items;
    this.lastItem = this.#encodedWriter.counted(items);
  }

  #hold(bytes: number): void {
    this.writer.buffers.hold(bytes - this.#held);
    this.lineBytes += bytes - this.#held;
    this.#held = bytes;
  }

  #pass(encoded: Uint8Array | Promise<Uint8Array>): void {
    const { buffers } = this.writer;
    const posts = this.#added;
    this.#added = 0;
    if (encoded instanceof Promise) {
      this.#passLater(posts, encoded);
      return;
    }
    this.#hold(0);
    this.lineBytes += encoded.byteLength;
    buffers.hold(encoded.byteLength);
    this.write(encoded, posts, () => buffers.hold(-encoded.byteLength));
  }

  /** What was held is held until it is encoded. */
  #passLater(posts: number, encoding: Promise<Uint8Array>): void {
    const { buffers } = this.writer;
    const [held, blocks] = [this.#held, this.#blocks];
    this.#held = 0;
    this.lineBytes -= held;
    this.#blocks = { bytes: 0 };
    const encoded = encoding.then(bytes => {
      buffers.hold(bytes.byteLength - held - blocks.bytes);
      this.#blockBytes -= blocks.bytes;
      return { bytes, lineBytes: bytes.byteLength };
    });
    // Its turn may come late.
    encoded.catch(() => {});
    this.writeEncoded(posts, encoded);
  }
}
