import type { EncodedBlock } from '../../files/rows.js';
import type { Buffers, Encoder, FileEntry } from './format.js';
import { PART } from './output-names.js';
import type { PartFile, PartFiles } from './part-files.js';

/** What a file has on disk: its entry in a checkpoint. */
export interface FileCounts {
  readonly path: string;
  readonly posts: number;
  readonly bytes: number;
  /** Its bytes before compression. */
  readonly lineBytes: number;
}

/** What the output files of a sink share. */
export interface SharedByFiles {
  readonly buffers: Buffers;
  readonly parts: PartFiles;
  /** Whether each commit ends all files. */
  readonly endsFiles: boolean;
  /** @param isNew Whether the file has nothing yet. */
  encoderOf(path: string, isNew: boolean): Encoder<FileEntry>;
  /** Called when the file has items that are not on disk. */
  changed(file: OutputFile): void;
  /** Counts items that were added, and returns how many there are since the last commit. */
  counted(items: number): number;
  /** Called with each block of another thread: counts its memory, and ends the run if it cannot be made. */
  expect(block: Promise<EncodedBlock>): void;
  /** Counts what was written to disk. */
  wrote(posts: number, bytes: number): void;
  /** Called with what a write threw; nothing is written afterwards. */
  fail(error: unknown): void;
}

/** What the encoder of a file has since its last `flush`. */
interface Collected {
  posts: number;
  /** Memory of the items that were added one by one. */
  heldBytes: number;
  /** Memory of the blocks that have come, also of those that came after the `flush`. */
  blockBytes: number;
}

/**
 * A file being written. Its encoder collects items in memory and makes large blocks of them. These, the blocks that threads
 * encode, and the ranges that threads write themselves are appended in the order in which they were added.
 */
export class OutputFile implements PartFile {
  readonly path: string;
  /** The number of posts in the part on disk. */
  posts: number;
  /** The size of the part on disk. */
  bytes: number;
  /** Its size before compression. */
  lineBytes: number;
  fresh: boolean;
  ino = 0;
  named = false;
  /** Whether nothing can be added to it. */
  ended: boolean;
  /** How many items all files had when it got its last. */
  lastItem = 0;
  readonly #shared: SharedByFiles;
  /** Made with the first item. */
  #encoder: Encoder<FileEntry> | undefined;
  #collected: Collected | undefined;
  /** What is behind `lineBytes` and not collected, where its size is known: queued blocks, ranges, blocks of an encoder. */
  #pendingBytes = 0;
  /** The running writes; unset for most of many files. */
  #queue: Promise<void> | undefined;

  constructor(path: string, shared: SharedByFiles, before?: FileCounts) {
    this.path = path;
    this.#shared = shared;
    this.posts = before?.posts ?? 0;
    this.bytes = before?.bytes ?? 0;
    this.lineBytes = before?.lineBytes ?? 0;
    this.fresh = before === undefined;
    // Files of an earlier run that end at commits are finished.
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

  /** Its bytes so far before compression, with those in memory. */
  get size(): number {
    const encoder = this.#encoder;
    const collected = encoder === undefined ? 0 : (encoder.size ?? encoder.heldBytes);
    return this.lineBytes + this.#pendingBytes + collected;
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
   * @param allocated The bytes that were allocated for their lines.
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
      // What waits for the block fails, too.
      () => {},
    );
    this.#shared.expect(block);
    if (encoder.full) this.flush();
  }

  /**
   * Allocates space for a line that another thread writes or encodes, with a line feed after it, and returns its
   * position; in a file that is compressed, that within its lines.
   */
  allocate(byteLength: number): number {
    this.flush();
    const position = this.lineBytes + this.#pendingBytes;
    this.#pendingBytes += byteLength + 1;
    return position;
  }

  /** Appends what another thread writes to allocated space. Threads may end in any order. */
  appendRange(posts: number, bytes: number, written: Promise<void>): void {
    this.#shared.changed(this);
    this.#inTurn(bytes, async () => {
      await written;
      return { posts, bytes, lineBytes: bytes };
    });
  }

  /** Queues the collected items after the running writes. */
  flush(): void {
    if (this.#collected !== undefined && this.#encoder !== undefined)
      this.#pass(this.#encoder.flush());
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

  /** Appends what the encoder has made of the items that it had. */
  #pass(encoded: Uint8Array | Promise<Uint8Array>): void {
    const { buffers } = this.#shared;
    const collected = this.#collected ?? NOTHING;
    const { posts, heldBytes } = collected;
    this.#collected = undefined;
    if (encoded instanceof Promise) {
      // What was held is held until it is encoded.
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
   * Appends bytes, compressed as the options demand, or a block that is already encoded.
   *
   * @param pending The number of `#pendingBytes` that they account for.
   */
  #append(posts: number, content: Uint8Array | Promise<EncodedBlock>, pending: number): void {
    const { buffers, parts } = this.#shared;
    // Its turn may come late.
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
   * Writes after the running writes, and counts what was written then: a commit counts what is before its cursor.
   * A failure ends the run.
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
