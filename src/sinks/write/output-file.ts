import type { EncodedBlock } from '../../files/rows.js';
import { releaseMemory } from '../../gzip/release-memory.js';
import type { Buffers, Encoder, FileEntry } from './format.js';
import type { WrittenFile } from './written.js';

/** A file's entry in a checkpoint. */
export interface FileCounts extends WrittenFile {
  /** Its bytes before compression. */
  readonly lineBytes: number;
}

/** What the output files of a run share. */
export interface Writer {
  readonly buffers: Buffers;
  /** Whether each commit ends all files. */
  readonly endsFiles: boolean;
  encoderOf(file: OutputFile): Encoder<FileEntry>;
  /** Called when the file has items that are not on disk. */
  changed(file: OutputFile): void;
  /** Counts items that were added, and returns how many there are since the last commit. */
  counted(items: number): number;
  /** Called with each block that an encoder waits for: where it cannot be made, the run ends. */
  expect(block: Promise<EncodedBlock>): void;
  /** Writes a block at the end of the file, and returns how many bytes it took there. */
  append(file: OutputFile, block: Uint8Array, posts: number, isEncoded: boolean): Promise<number>;
  /** Called with what `append` threw; nothing is appended afterwards. */
  fail(error: unknown): void;
}

/** What a checkpoint has in place of the number of a branch, for the file of the records that could not be used. */
export const DAMAGED = 'damaged';

/** The suffix of a file that is being written. */
export const PART = '.part';

/** The blocks of threads since the last `flush`. */
interface Blocks {
  bytes: number;
}

const NO_BLOCKS: Readonly<Blocks> = { bytes: 0 };

/** A file being written: its encoder collects items in memory, and makes large blocks of them, which are written in order. */
export class OutputFile {
  readonly path: string;
  /** On disk, in the part. */
  posts: number;
  bytes: number;
  /** Before compression, of all that was flushed or has its place. */
  lineBytes: number;
  /** Whether this run has not created the file yet; an earlier one may have left a part of that name. */
  fresh: boolean;
  /** The inode of the part; 0 before it is known. */
  ino = 0;
  /** Whether the file has its final name. */
  named = false;
  /** Whether nothing can be added to it. */
  ended: boolean;
  /** How many items all files had when it got its last. */
  lastItem = 0;
  readonly #writer: Writer;
  /** Made with the first item. */
  #encoder: Encoder<FileEntry> | undefined;
  /** Items that the encoder has. */
  #added = 0;
  /** Memory of the encoder that is counted. */
  #held = 0;
  #blocks = NO_BLOCKS;
  /** Of all blocks that an encoder has taken and not encoded yet. */
  #blockBytes = 0;
  /** Of the blocks that other threads have encoded, counted in their turn: their size is not known before. */
  #encodedLineBytes = 0;
  /** The running writes; unset for most of many files. */
  #queue: Promise<void> | undefined;

  constructor(path: string, writer: Writer, before?: FileCounts) {
    this.path = path;
    this.#writer = writer;
    this.posts = before?.posts ?? 0;
    this.bytes = before?.bytes ?? 0;
    this.lineBytes = before?.lineBytes ?? 0;
    this.fresh = before === undefined;
    // Files of an earlier run that end at commits are finished.
    this.ended = before !== undefined && writer.endsFiles;
  }

  get part(): string {
    return this.path + PART;
  }

  /** Memory of the collected items, in bytes. */
  get heldBytes(): number {
    return this.#held + this.#blocks.bytes;
  }

  /** Its bytes so far before compression, with those in memory. */
  get size(): number {
    const encoder = this.#encoder;
    const collected = encoder === undefined ? 0 : (encoder.size ?? encoder.heldBytes);
    return this.lineBytes + this.#blockBytes + collected;
  }

  /** How many rows the next block may have. */
  get room(): number {
    return this.#open().room ?? Number.POSITIVE_INFINITY;
  }

  /** How many rows a block may have once the file was flushed. */
  get maxRoom(): number {
    return this.#open().maxRoom ?? Number.POSITIVE_INFINITY;
  }

  /** Adds an item. */
  add(entry: FileEntry): void {
    const encoder = this.#encoder ?? this.#open();
    encoder.add(entry);
    this.#count(1);
    const { heldBytes } = encoder;
    if (heldBytes !== this.#held) this.#hold(heldBytes);
    if (encoder.full) this.flush();
  }

  /** Adds rows that another thread encodes as a block. */
  addBlock(rows: number, block: Promise<EncodedBlock>): void {
    const encoder = this.#open();
    if (encoder.addBlock === undefined) {
      this.#pass(encoder.flush());
      this.#writer.changed(this);
      const { buffers } = this.#writer;
      const held = block.then(encoded => {
        for (const { byteLength } of encoded.parts) buffers.hold(byteLength);
        return encoded;
      });
      // Its turn may come late.
      held.catch(() => {});
      this.#writeEncoded(rows, held);
      return;
    }
    encoder.addBlock(rows, block);
    this.#countMemory(block);
    this.#count(rows);
    if (encoder.full) this.flush();
  }

  /**
   * Allocates space for a line that another thread writes, with a line feed after it, and returns its
   * position; in a file that is compressed, that within its lines.
   */
  allocate(byteLength: number): number {
    this.flush();
    const position = this.lineBytes;
    this.lineBytes += byteLength + 1;
    return position;
  }

  /**
   * Counts lines in allocated space once `write` resolves to whether they were written; it never rejects. Threads may
   * end in any order, and a commit counts what is before its cursor, so they are counted in their turn.
   */
  countWhenWritten(posts: number, bytes: number, write: Promise<boolean>): void {
    this.#writer.changed(this);
    const queue = (this.#queue ?? Promise.resolve())
      .then(() => write)
      .then(isWritten => {
        if (isWritten) {
          this.bytes += bytes;
          this.posts += posts;
        }
        if (this.#queue === queue) this.#queue = undefined;
      });
    this.#queue = queue;
  }

  /** Queues the collected items after the running writes. */
  flush(): void {
    if (this.#added > 0 && this.#encoder !== undefined) this.#pass(this.#encoder.flush());
  }

  /** Writes the rest of the file, to which nothing is added from then on. */
  end(): void {
    if (this.ended) return;
    this.ended = true;
    const encoder = this.#encoder;
    this.#encoder = undefined;
    if (encoder !== undefined) this.#pass(encoder.end());
  }

  /** The counts once all items up to now are on disk. */
  settle(): FileCounts | Promise<FileCounts> {
    // A commit lists only what can be continued, or is finished.
    if (this.#writer.endsFiles) this.end();
    else this.flush();
    const { path } = this;
    const lineBytes = this.lineBytes - this.#encodedLineBytes;
    const counts = () => ({
      path,
      posts: this.posts,
      bytes: this.bytes,
      lineBytes: lineBytes + this.#encodedLineBytes,
    });
    return this.#queue === undefined ? counts() : this.#queue.then(counts);
  }

  /** Waits for the running writes. */
  async idle(): Promise<void> {
    await this.#queue;
  }

  #open(): Encoder<FileEntry> {
    this.#encoder ??= this.#writer.encoderOf(this);
    return this.#encoder;
  }

  #count(items: number): void {
    if (this.#added === 0) this.#writer.changed(this);
    this.#added += items;
    this.lastItem = this.#writer.counted(items);
  }

  #hold(bytes: number): void {
    this.#writer.buffers.hold(bytes - this.#held);
    this.#held = bytes;
  }

  /** Counts the memory of a block that the encoder holds. */
  #countMemory(block: Promise<EncodedBlock>): void {
    if (this.#blocks === NO_BLOCKS) this.#blocks = { bytes: 0 };
    const blocks: Blocks = this.#blocks;
    block.then(
      ({ parts }) => {
        for (const { byteLength } of parts) {
          blocks.bytes += byteLength;
          this.#blockBytes += byteLength;
          this.#writer.buffers.hold(byteLength);
        }
      },
      // What waits for the block fails, too.
      () => {},
    );
    this.#writer.expect(block);
  }

  /** Queues what the encoder has made of the items that it had. */
  #pass(encoded: Uint8Array | Promise<Uint8Array>): void {
    const { buffers } = this.#writer;
    const posts = this.#added;
    this.#added = 0;
    if (encoded instanceof Promise) {
      this.#passLater(posts, encoded);
      return;
    }
    buffers.hold(buffers.memoryOf(encoded) - this.#held);
    this.#held = 0;
    this.lineBytes += encoded.byteLength;
    const done = () => buffers.give(encoded);
    if (encoded.byteLength === 0) done();
    else this.#append(posts, async () => ({ block: encoded, isEncoded: false, done }));
  }

  /** What was held is held until it is encoded. */
  #passLater(posts: number, encoding: Promise<Uint8Array>): void {
    const { buffers } = this.#writer;
    const [held, blocks] = [this.#held, this.#blocks];
    this.#held = 0;
    this.#blocks = NO_BLOCKS;
    const encoded = encoding.then(bytes => {
      buffers.hold(bytes.byteLength - held - blocks.bytes);
      this.#blockBytes -= blocks.bytes;
      return { rows: posts, parts: [bytes], lineBytes: bytes.byteLength };
    });
    // Its turn may come late.
    encoded.catch(() => {});
    this.#writeEncoded(posts, encoded);
  }

  /** Queues a block that is bytes of the file. Rejects nothing: a failure ends the run. */
  #writeEncoded(posts: number, encoded: Promise<EncodedBlock>): void {
    const { buffers } = this.#writer;
    this.#append(posts, async () => {
      const { parts, lineBytes } = await encoded;
      const [block] = parts as [Uint8Array];
      this.#encodedLineBytes += lineBytes;
      this.lineBytes += lineBytes;
      const done = () => {
        buffers.hold(-block.byteLength);
        // The main thread makes too little garbage for it to be collected soon.
        releaseMemory(block);
      };
      return { block, isEncoded: true, done };
    });
  }

  #append(posts: number, blockOf: () => Promise<QueuedBlock>): void {
    const queue = (this.#queue ?? Promise.resolve()).then(async () => {
      let queued: QueuedBlock | undefined;
      try {
        queued = await blockOf();
        const { block, isEncoded } = queued;
        const bytes = await this.#writer.append(this, block, posts, isEncoded);
        this.bytes += bytes;
        this.posts += posts;
      } catch (error) {
        this.#writer.fail(error);
      }
      queued?.done();
      if (this.#queue === queue) this.#queue = undefined;
    });
    this.#queue = queue;
  }
}

interface QueuedBlock {
  readonly block: Uint8Array;
  /** Whether it is not to be compressed. */
  readonly isEncoded: boolean;
  done(): void;
}
