import type { EncodedBlock } from '../../files/rows.js';
import type { Buffers, ByteChunks, Encoder, FileEntry } from './format.js';
import { PART } from './output-names.js';
import type { PartFile, PartFiles } from './part-files.js';

/** The counts of a file on disk, as stored in a checkpoint. */
export interface FileCounts {
  readonly path: string;
  readonly posts: number;
  readonly bytes: number;
  /** The size of the file before compression, in bytes. */
  readonly lineBytes: number;
}

export interface SharedByFiles {
  readonly buffers: Buffers;
  readonly parts: PartFiles;
  readonly endsFiles: boolean;
  /** @param isNew Whether the file has no content yet. */
  encoderOf(path: string, isNew: boolean): Encoder<FileEntry>;
  /** Called when a file has items that are not on disk yet. */
  changed(file: OutputFile): void;
  /** Counts added items. Returns the number of items that were added to all files since the last commit. */
  counted(items: number): number;
  /**
   * Called with each block that another thread encodes. Counts the memory of the block, and ends the run if
   * the block fails.
   */
  expect(block: Promise<EncodedBlock>): void;
  wrote(posts: number, bytes: number): void;
  /** Called with the error of a failed write. Nothing is written after that. */
  fail(error: unknown): void;
}

/** The items that an encoder has collected since its last `flush`. */
interface Collected {
  posts: number;
  /** The memory in bytes of the items that were added one by one. */
  heldBytes: number;
  /**
   * The memory in bytes of the blocks that other threads have encoded from these items. A block counts when
   * it arrives, even if that is after the next `flush`.
   */
  blockBytes: number;
}

/**
 * A file that is being written. Its encoder collects items in memory, and makes large blocks of them. Other
 * threads also encode blocks, or write ranges of the file directly. Blocks and ranges are appended in the
 * order in which they were added.
 */
export class OutputFile implements PartFile {
  readonly path: string;
  /** The number of posts in the `.part` file on disk. */
  posts: number;
  bytes: number;
  /** The size of the content of the `.part` file before compression, in bytes. */
  lineBytes: number;
  fresh: boolean;
  ino = 0;
  named = false;
  /** Whether the file has ended. Nothing can be added to it then. */
  ended: boolean;
  /**
   * The value of the sink's item count when this file received its latest item. The count starts at 0 after
   * each commit and covers all files.
   */
  lastItem = 0;
  readonly #shared: SharedByFiles;
  /** The encoder, which is created with the first item. */
  #encoder: Encoder<FileEntry> | undefined;
  #collected: Collected | undefined;
  /**
   * The number of bytes before compression that are queued for this file but not yet in `lineBytes`. They are
   * in blocks, some of which the encoder still holds, or in ranges that other threads write.
   */
  #pendingBytes = 0;
  /**
   * The writes that are in progress. `undefined` if there are none, which saves memory if there are many
   * files.
   */
  #queue: Promise<void> | undefined;

  constructor(path: string, shared: SharedByFiles, before?: FileCounts) {
    this.path = path;
    this.#shared = shared;
    this.posts = before?.posts ?? 0;
    this.bytes = before?.bytes ?? 0;
    this.lineBytes = before?.lineBytes ?? 0;
    this.fresh = before === undefined;
    // If each commit ends all files, a file that an earlier run has committed is finished.
    this.ended = before !== undefined && shared.endsFiles;
  }

  get part(): string {
    return this.path + PART;
  }

  get heldBytes(): number {
    const { heldBytes, blockBytes } = this.#collected ?? NOTHING;
    return heldBytes + blockBytes;
  }

  /** The size of the file so far before compression, including items that are still in memory. */
  get size(): number {
    const encoder = this.#encoder;
    const collected = encoder === undefined ? 0 : (encoder.size ?? encoder.heldBytes);
    return this.lineBytes + this.#pendingBytes + collected;
  }

  get room(): number {
    return this.#open().room ?? Number.POSITIVE_INFINITY;
  }

  get maxRoom(): number {
    return this.#open().maxRoom ?? Number.POSITIVE_INFINITY;
  }

  add(entry: FileEntry): void {
    const encoder = this.#encoder ?? this.#open();
    encoder.add(entry);
    const collected = this.#collect(1);
    const { heldBytes } = encoder;
    if (heldBytes !== collected.heldBytes) {
      this.#shared.buffers.hold(heldBytes - collected.heldBytes);
      collected.heldBytes = heldBytes;
    }
    if (encoder.full) this.flush();
  }

  /**
   * Adds rows that another thread encodes as a block.
   *
   * @param allocated The number of bytes that were allocated for the lines of these rows.
   */
  addBlock(rows: number, block: Promise<EncodedBlock>, allocated = 0): void {
    const encoder = this.#open();
    if (encoder.addBlock === undefined) {
      this.#pass(encoder.flush());
      this.#shared.changed(this);
      this.#shared.expect(block);
      this.#append(rows, block, allocated);
      return;
    }
    encoder.addBlock(rows, block);
    const collected = this.#collect(rows);
    block.then(
      ({ parts }) => {
        for (const { byteLength } of parts) {
          collected.blockBytes += byteLength;
          this.#pendingBytes += byteLength;
        }
      },
      // The error of a failed block is ignored here, because `expect` below ends the run with it.
      () => {},
    );
    this.#shared.expect(block);
    if (encoder.full) this.flush();
  }

  /**
   * Allocates space for a line and its line feed, which another thread writes or encodes. Returns the
   * position of the space. In a compressed file, this is the position before compression.
   */
  allocate(byteLength: number): number {
    this.flush();
    const position = this.lineBytes + this.#pendingBytes;
    this.#pendingBytes += byteLength + 1;
    return position;
  }

  /**
   * Adds lines that another thread writes into the space from `allocate`. `written` resolves when they are
   * written. Threads may write in any order.
   */
  appendRange(posts: number, bytes: number, written: Promise<void>): void {
    this.#shared.changed(this);
    this.#inTurn(bytes, async () => {
      await written;
      return { posts, bytes, lineBytes: bytes };
    });
  }

  flush(): void {
    if (this.#collected !== undefined && this.#encoder !== undefined)
      this.#pass(this.#encoder.flush());
  }

  /** Writes everything that remains, and ends the file. Nothing may be added after that. */
  end(): void {
    if (this.ended) return;
    this.ended = true;
    const encoder = this.#encoder;
    this.#encoder = undefined;
    if (encoder !== undefined) this.#pass(encoder.end());
  }

  /** Resolves to the counts of the file once all items added so far are on disk. */
  settle(): FileCounts | Promise<FileCounts> {
    // A checkpoint can list only a file that is finished, or that a later run can continue.
    if (this.#shared.endsFiles) this.end();
    else this.flush();
    const counts = () => {
      const { path, posts, bytes, lineBytes } = this;
      return { path, posts, bytes, lineBytes };
    };
    return this.#queue === undefined ? counts() : this.#queue.then(counts);
  }

  async idle(): Promise<void> {
    await this.#queue;
  }

  #open(): Encoder<FileEntry> {
    this.#encoder ??= this.#shared.encoderOf(this.path, this.size === 0);
    return this.#encoder;
  }

  #collect(items: number): Collected {
    if (this.#collected === undefined) {
      this.#collected = { posts: 0, heldBytes: 0, blockBytes: 0 };
      this.#shared.changed(this);
    }
    this.#collected.posts += items;
    this.lastItem = this.#shared.counted(items);
    return this.#collected;
  }

  #pass(encoded: ByteChunks | Promise<ByteChunks>): void {
    const { buffers } = this.#shared;
    const collected = this.#collected ?? NOTHING;
    const { posts, heldBytes } = collected;
    this.#collected = undefined;
    if (encoded instanceof Promise) {
      // Until the collected items are encoded, their memory counts towards the limit. Then, the memory of the
      // encoded bytes counts instead.
      const block = encoded.then(parts => {
        const bytes = lengthOf(parts);
        buffers.hold(bytes - heldBytes - collected.blockBytes);
        this.#pendingBytes -= collected.blockBytes;
        return { rows: posts, parts, lineBytes: bytes };
      });
      this.#append(posts, block, 0);
      return;
    }
    const memory = encoded.reduce((sum, chunk) => sum + buffers.memoryOf(chunk), 0);
    buffers.hold(memory - heldBytes);
    const bytes = lengthOf(encoded);
    if (bytes === 0) {
      for (const chunk of encoded) buffers.give(chunk);
      return;
    }
    this.#pendingBytes += bytes;
    this.#append(posts, encoded, bytes);
  }

  /**
   * Appends content to the file. Chunks are compressed if the sink compresses; an encoded block is appended
   * unchanged.
   *
   * @param pending How much of `#pendingBytes` this content accounts for.
   */
  #append(posts: number, content: ByteChunks | Promise<EncodedBlock>, pending: number): void {
    const { buffers, parts } = this.#shared;
    // The block is awaited later. This handler prevents an unhandled rejection if the block fails before
    // that.
    if (content instanceof Promise) content.catch(() => {});
    this.#inTurn(pending, async () => {
      const isEncoded = content instanceof Promise;
      const { parts: chunks, lineBytes } = isEncoded
        ? await content
        : { parts: content, lineBytes: lengthOf(content) };
      try {
        return { posts, bytes: await parts.write(this, chunks, isEncoded), lineBytes };
      } finally {
        for (const chunk of chunks) buffers.give(chunk);
      }
    });
  }

  /**
   * Queues a write. The posts and bytes of a write are counted only after it has ended. Otherwise, a commit
   * could include posts that come after the cursor that it saves. A failed write ends the run.
   */
  #inTurn(pending: number, write: () => Promise<Omit<FileCounts, 'path'>>): void {
    const queue = (this.#queue ?? Promise.resolve()).then(async () => {
      try {
        const { posts, bytes, lineBytes } = await write();
        this.posts += posts;
        this.bytes += bytes;
        this.lineBytes += lineBytes;
        this.#pendingBytes -= pending;
        this.#shared.wrote(posts, bytes);
      } catch (error) {
        this.#shared.fail(error);
      }
      if (this.#queue === queue) this.#queue = undefined;
    });
    this.#queue = queue;
  }
}

const NOTHING: Readonly<Collected> = { posts: 0, heldBytes: 0, blockBytes: 0 };

function lengthOf(chunks: ByteChunks): number {
  return chunks.reduce((sum, { byteLength }) => sum + byteLength, 0);
}
