import type { EncodedBlock } from '../../files/rows.js';
import type { Buffers, Encoder, FileEntry } from './format.js';
import { PART } from './output-names.js';
import type { PartFile, PartFiles } from './part-files.js';

/** The counts of a file on disk, for its entry in a checkpoint. */
export interface FileCounts {
  readonly path: string;
  readonly posts: number;
  readonly bytes: number;
  /** The number of bytes before compression. */
  readonly lineBytes: number;
}

/** The state that all output files of a sink share. */
export interface SharedByFiles {
  readonly buffers: Buffers;
  readonly parts: PartFiles;
  /** Whether each commit ends all files. */
  readonly endsFiles: boolean;
  /**
   * Creates the encoder of a file.
   * @param isNew Whether the file is empty.
   */
  encoderOf(path: string, isNew: boolean): Encoder<FileEntry>;
  /** Called when the file has items that are not on disk. */
  changed(file: OutputFile): void;
  /** Counts added items, and returns their number since the last commit. */
  counted(items: number): number;
  /** Called with each block of another thread. Counts its memory, and ends the run if it fails. */
  expect(block: Promise<EncodedBlock>): void;
  /** Counts items and bytes that were written to disk. */
  wrote(posts: number, bytes: number): void;
  /** Called with the error of a write. Nothing is written after that. */
  fail(error: unknown): void;
}

/** The items that an encoder has collected since its last `flush`. */
interface Collected {
  posts: number;
  /** Memory of the items that were added one by one, in bytes. */
  heldBytes: number;
  /** Memory of the blocks that have arrived, in bytes. Includes blocks that arrive after the `flush`. */
  blockBytes: number;
}

/**
 * A file being written. Its encoder collects items in memory and makes large blocks of them. Threads also
 * encode blocks, or write ranges of the file themselves. All of these are appended in the order in which they
 * were added.
 */
export class OutputFile implements PartFile {
  readonly path: string;
  /** The number of posts in the part on disk. */
  posts: number;
  /** The size of the part on disk. */
  bytes: number;
  /** The size of the part before compression, in bytes. */
  lineBytes: number;
  fresh: boolean;
  ino = 0;
  named = false;
  /** Whether the file has ended, so that nothing can be added to it. */
  ended: boolean;
  /** The number of items of all files when this file got its last item. */
  lastItem = 0;
  readonly #shared: SharedByFiles;
  /** Created with the first item. */
  #encoder: Encoder<FileEntry> | undefined;
  #collected: Collected | undefined;
  /** The known bytes between `lineBytes` and the collected items: queued blocks, ranges, and blocks of an encoder. */
  #pendingBytes = 0;
  /** The running writes. Unset for most files if there are many. */
  #queue: Promise<void> | undefined;

  constructor(path: string, shared: SharedByFiles, before?: FileCounts) {
    this.path = path;
    this.#shared = shared;
    this.posts = before?.posts ?? 0;
    this.bytes = before?.bytes ?? 0;
    this.lineBytes = before?.lineBytes ?? 0;
    this.fresh = before === undefined;
    // If each commit ends files, the files of an earlier run are finished.
    this.ended = before !== undefined && shared.endsFiles;
  }

  get part(): string {
    return this.path + PART;
  }

  /** Memory of the collected items, in bytes. */
  get heldBytes(): number {
    const { heldBytes, blockBytes } = this.#collected ?? NOTHING;
    return heldBytes + blockBytes;
  }

  /** The size so far before compression, including items in memory. */
  get size(): number {
    const encoder = this.#encoder;
    const collected = encoder === undefined ? 0 : (encoder.size ?? encoder.heldBytes);
    return this.lineBytes + this.#pendingBytes + collected;
  }

  /** The number of rows that the next block may have. */
  get room(): number {
    return this.#open().room ?? Number.POSITIVE_INFINITY;
  }

  /** The number of rows that a block may have after a `flush`. */
  get maxRoom(): number {
    return this.#open().maxRoom ?? Number.POSITIVE_INFINITY;
  }

  /** Adds an item. */
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
   * @param allocated The bytes that were allocated for the lines of these rows.
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
      // Ignored here, because everything that waits for the block fails, too.
      () => {},
    );
    this.#shared.expect(block);
    if (encoder.full) this.flush();
  }

  /**
   * Allocates space for a line with a line feed, which another thread writes or encodes. Returns its
   * position, in a compressed file the position before compression.
   */
  allocate(byteLength: number): number {
    this.flush();
    const position = this.lineBytes + this.#pendingBytes;
    this.#pendingBytes += byteLength + 1;
    return position;
  }

  /** Appends a range that another thread writes to allocated space. Threads may end in any order. */
  appendRange(posts: number, bytes: number, written: Promise<void>): void {
    this.#shared.changed(this);
    this.#inTurn(bytes, async () => {
      await written;
      return { posts, bytes, lineBytes: bytes };
    });
  }

  /** Queues the collected items for writing. */
  flush(): void {
    if (this.#collected !== undefined && this.#encoder !== undefined)
      this.#pass(this.#encoder.flush());
  }

  /** Writes the rest of the file. Nothing may be added after that. */
  end(): void {
    if (this.ended) return;
    this.ended = true;
    const encoder = this.#encoder;
    this.#encoder = undefined;
    if (encoder !== undefined) this.#pass(encoder.end());
  }

  /** Resolves to the counts once all items so far are on disk. */
  settle(): FileCounts | Promise<FileCounts> {
    // A commit lists only files that are finished or can be continued.
    if (this.#shared.endsFiles) this.end();
    else this.flush();
    const counts = () => {
      const { path, posts, bytes, lineBytes } = this;
      return { path, posts, bytes, lineBytes };
    };
    return this.#queue === undefined ? counts() : this.#queue.then(counts);
  }

  /** Waits for the running writes. */
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

  /** Appends the bytes that the encoder has made of the collected items. */
  #pass(encoded: Uint8Array | Promise<Uint8Array>): void {
    const { buffers } = this.#shared;
    const collected = this.#collected ?? NOTHING;
    const { posts, heldBytes } = collected;
    this.#collected = undefined;
    if (encoded instanceof Promise) {
      // The memory of these items counts until they are encoded.
      const block = encoded.then(bytes => {
        buffers.hold(bytes.byteLength - heldBytes - collected.blockBytes);
        this.#pendingBytes -= collected.blockBytes;
        return { rows: posts, parts: [bytes], lineBytes: bytes.byteLength };
      });
      this.#append(posts, block, 0);
      return;
    }
    buffers.hold(buffers.memoryOf(encoded) - heldBytes);
    if (encoded.byteLength === 0) {
      buffers.give(encoded);
      return;
    }
    this.#pendingBytes += encoded.byteLength;
    this.#append(posts, encoded, encoded.byteLength);
  }

  /**
   * Appends bytes, which are compressed if the sink compresses, or an encoded block.
   *
   * @param pending Its part of `#pendingBytes`.
   */
  #append(posts: number, content: Uint8Array | Promise<EncodedBlock>, pending: number): void {
    const { buffers, parts } = this.#shared;
    // The block is awaited later. Until then, a failure must not be an unhandled rejection.
    if (content instanceof Promise) content.catch(() => {});
    this.#inTurn(pending, async () => {
      const isEncoded = content instanceof Promise;
      const { parts: made, lineBytes } = isEncoded
        ? await content
        : { parts: [content], lineBytes: content.byteLength };
      const [block] = made as [Uint8Array];
      try {
        return { posts, bytes: await parts.write(this, block, isEncoded), lineBytes };
      } finally {
        buffers.give(block);
      }
    });
  }

  /**
   * Queues a write, and counts what it has written after it ends, because a commit counts only what is before
   * its cursor. A failure ends the run.
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
