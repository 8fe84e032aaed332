import type { RowEncoding } from '../../files/encode-rows.js';
import type { RunInThread } from '../../files/record-columns.js';
import type { EncodedBlock } from '../../files/rows.js';
import { LINE_FEED, type Line } from '../../flow/line.js';
import { releaseMemory } from '../../gzip/release-memory.js';

export interface FileFormat<T, Entry extends FileEntry = FileEntry> {
  /**
   * Converts an item to an entry, which is then passed to the encoder of the item's file.
   *
   * @throws DataError for an item that cannot be encoded. The encoder may also throw it.
   */
  encode(item: T, origin: string | undefined): Entry;
  encoder(file: FileToEncode): Encoder<Entry>;
  /**
   * Set if a finished file cannot be continued later. A commit then ends all open files, and the checkpoint
   * lists only finished files.
   */
  readonly wholeFiles?: WholeFiles | undefined;
  /** How a thread encodes posts in this format. Absent if threads cannot encode it. */
  readonly rows?: RowEncoding | undefined;
}

export interface FileEntry {
  /**
   * The size in bytes that the entry will take in the file, without a line feed after it. 0 if the size is
   * unknown before encoding.
   */
  readonly byteLength: number;
}

export interface WholeFiles {
  /**
   * The maximum total memory of all encoders of a run, in bytes. If it is exceeded, the encoders that hold
   * the most are flushed.
   */
  readonly maxHeldBytes: number;
  /**
   * In a run with a checkpoint, the size at which a file is closed, unless `maxBytes` is set. A crash loses the
   * open files, so they must not become too large.
   */
  readonly committedBytes: number;
  /**
   * In a run with a checkpoint, the number of items at which a commit is due. A commit is due when the files
   * that still get items have this many on average.
   */
  readonly committedItems: number;
}

export interface FileToEncode {
  readonly isNew: boolean;
  /** The memory for blocks of encoded bytes. The memory of a block is reused once the block is written. */
  readonly buffers: Buffers;
  /** Runs a task in another thread; returns `undefined` if there is no thread. */
  readonly inThread?: RunInThread | undefined;
}

/** Bytes of a file, in order. They are not joined, because that would take as much memory again. */
export type ByteChunks = readonly Uint8Array[];

export interface Encoder<Entry> {
  add(entry: Entry): void;
  /**
   * Adds rows that another thread encodes as a block. If the encoding fails, `flush` and `end` fail. A format
   * without this method has its encoded blocks appended to the file unchanged.
   */
  addBlock?(rows: number, block: Promise<EncodedBlock>): void;
  /** The maximum number of rows that `addBlock` may still add before the next `flush`. */
  readonly room?: number;
  /** The value of `room` directly after a `flush`. */
  readonly maxRoom?: number;
  /**
   * The memory in bytes that the items added since the last `flush` occupy, not counting blocks added by
   * `addBlock`. May be an estimate.
   */
  readonly heldBytes: number;
  /** The number of bytes that the next `flush` will return. Absent if it is the same as `heldBytes`. */
  readonly size?: number;
  /** Whether `flush` must be called before anything else is added. */
  readonly full: boolean;
  /**
   * Returns everything that was added since the last call, as the next bytes of the file, in chunks. The
   * caller owns the memory of the chunks.
   */
  flush(): ByteChunks | Promise<ByteChunks>;
  end(): ByteChunks | Promise<ByteChunks>;
}

/** The size of the largest buffer in bytes. Larger writes are not faster. */
export const MAX_BUFFER_BYTES = 1 << 20;
export const MIN_BUFFER_BYTES = 1 << 14;
/** The limit on the memory of all outputs together, in bytes, for a format that does not set a limit. */
const DEFAULT_MAX_BYTES = 16 << 20;
const SPARE = 16;

/**
 * Creates a format for files of lines. Each line ends with a line feed, so that a file can be truncated after
 * any line and then continued.
 *
 * @param encode Returns the line of an item.
 */
export function linesFormat<T>({
  encode,
  header,
  rows,
}: {
  readonly encode: (item: T, origin: string | undefined) => Line;
  /** The first line of each new file. It counts towards `maxBytes`, but not as an item. */
  readonly header?: Line | undefined;
  readonly rows?: RowEncoding | undefined;
}): FileFormat<T, Line> {
  return { encode, encoder: file => new LinesEncoder(file, header), rows };
}

/**
 * The minimum free space in a buffer of the maximum size. If less is free, the buffer is flushed, because the
 * next line may not fit.
 */
const ROOM_FOR_A_LINE = MAX_BUFFER_BYTES / 16;

class LinesEncoder implements Encoder<Line> {
  readonly #buffers: Buffers;
  /** The header; `undefined` after it was added to the buffer, in the same block as the first line. */
  #header: Line | undefined;
  #buffer: Buffer | undefined;
  #used = 0;
  #size = MIN_BUFFER_BYTES;

  constructor({ isNew, buffers }: FileToEncode, header: Line | undefined) {
    this.#buffers = buffers;
    this.#header = isNew ? header : undefined;
  }

  get heldBytes(): number {
    return this.#buffer?.length ?? 0;
  }

  get size(): number {
    return this.#used;
  }

  get full(): boolean {
    return this.#used > MAX_BUFFER_BYTES - ROOM_FOR_A_LINE;
  }

  add(line: Line): void {
    this.#addHeader();
    const start = this.#used;
    const end = start + line.byteLength + 1;
    const buffer = this.#bufferOf(end);
    buffer.set(line, start);
    buffer[end - 1] = LINE_FEED;
    this.#used = end;
  }

  flush(): ByteChunks {
    // A block from a thread may be written next, and it must come after the header.
    this.#addHeader();
    const lines = this.#buffer?.subarray(0, this.#used);
    this.#size = nextSize(this.#size, this.#used);
    this.#buffer = undefined;
    this.#used = 0;
    return lines === undefined ? [] : [lines];
  }

  end(): ByteChunks {
    return this.flush();
  }

  #addHeader(): void {
    const header = this.#header;
    if (header === undefined) return;
    this.#header = undefined;
    this.add(header);
  }

  /** Returns the buffer. If the buffer is smaller than `bytes`, first replaces it with a larger one. */
  #bufferOf(bytes: number): Buffer {
    const buffer = this.#buffer;
    if (buffer !== undefined && bytes <= buffer.length) return buffer;
    while (this.#size < bytes && this.#size < MAX_BUFFER_BYTES)
      this.#size = nextSize(this.#size, this.#size);
    const larger = this.#buffers.take(Math.max(this.#size, bytes));
    if (buffer !== undefined) larger.set(buffer.subarray(0, this.#used));
    this.#buffer = larger;
    return larger;
  }
}

/** The memory of items that wait to be written. The total is limited, and buffers are reused. */
export class Buffers {
  readonly #limit: number;
  #held = 0;
  readonly #spare: Buffer[] = [];
  /** The memory that was taken and not yet given back. */
  readonly #taken = new WeakSet<ArrayBufferLike>();
  #waiting: (() => void)[] = [];

  constructor(limit = DEFAULT_MAX_BYTES) {
    this.#limit = limit;
  }

  /**
   * Returns a buffer to collect items in. Its memory counts towards the memory limit only once the caller has
   * passed its size to `hold`.
   */
  take(size: number): Buffer {
    const spare = size === MAX_BUFFER_BYTES ? this.#spare.pop() : undefined;
    const buffer = spare ?? Buffer.allocUnsafeSlow(size);
    this.#taken.add(buffer.buffer);
    return buffer;
  }

  /**
   * Returns the memory that a block occupies until it is written. For a block in a buffer from `take`, this
   * is the whole buffer.
   */
  memoryOf({ buffer, byteLength }: Uint8Array): number {
    return this.#taken.has(buffer) ? buffer.byteLength : byteLength;
  }

  give(block: Uint8Array): void {
    const bytes = this.memoryOf(block);
    const { buffer } = block;
    const isTaken = this.#taken.delete(buffer);
    // Frees the memory immediately. The main thread creates so little garbage that the garbage collector
    // would run late.
    if (!isTaken) releaseMemory(block);
    else if (bytes === MAX_BUFFER_BYTES && this.#spare.length < SPARE)
      this.#spare.push(Buffer.from(buffer as ArrayBuffer));
    this.hold(-bytes);
  }

  /**
   * Adds to the memory that counts towards the limit, in bytes. A negative number subtracts memory that was
   * freed.
   */
  hold(bytes: number): void {
    this.#held += bytes;
    if (bytes < 0 && this.#held <= this.half) this.release();
  }

  /** Whether items must be written before more items are collected. */
  get full(): boolean {
    return this.#held > this.#limit;
  }

  get awaited(): boolean {
    return this.#waiting.length > 0;
  }

  get half(): number {
    return this.#limit / 2;
  }

  /** Waits until at most half of the limit is held. */
  relief(): Promise<void> {
    if (this.#held <= this.half) return Promise.resolve();
    return new Promise(resolve => this.#waiting.push(resolve));
  }

  /** Ends all waits for memory, for example after a failure. */
  release(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/**
 * Returns the size of an output's next buffer. The size depends on how many bytes of the last buffer were
 * used, so that busy outputs get larger buffers.
 */
export function nextSize(last: number, used: number): number {
  if (used * 2 < last) return Math.max(MIN_BUFFER_BYTES, last / 4);
  return Math.min(MAX_BUFFER_BYTES, last * 4);
}
