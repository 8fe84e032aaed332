import type { RowEncoding } from '../../files/encode-rows.js';
import type { RunInThread } from '../../files/record-columns.js';
import type { EncodedBlock } from '../../files/rows.js';
import { LINE_FEED, type Line } from '../../flow/line.js';
import { releaseMemory } from '../../gzip/release-memory.js';

/** Defines how the items of a sink are encoded in its files. */
export interface FileFormat<T, Entry extends FileEntry = FileEntry> {
  /**
   * Converts an item to an entry for the encoder of its file.
   *
   * @throws DataError for an item that cannot be encoded. The encoder may throw it, too.
   */
  encode(item: T, origin: string | undefined): Entry;
  /** Creates the encoder of a file. */
  encoder(file: FileToEncode): Encoder<Entry>;
  /** Set if a finished file cannot be continued. A commit then ends all open files, and lists only finished files. */
  readonly wholeFiles?: WholeFiles | undefined;
  /** How a thread encodes posts in the same format, if it can. */
  readonly rows?: RowEncoding | undefined;
}

/** An item in the form in which an encoder takes it. */
export interface FileEntry {
  /** The size of the entry in the file in bytes, without a line feed after it; 0 if it is unknown before encoding. */
  readonly byteLength: number;
}

export interface WholeFiles {
  /** Maximum memory of all encoders of a run together, in bytes. If it is exceeded, the largest are flushed. */
  readonly maxHeldBytes: number;
  /**
   * The size at which a file ends in a run with a checkpoint, unless `maxBytes` is set. A crash loses the
   * open files, so they must not become too large.
   */
  readonly committedBytes: number;
  /**
   * In a run with a checkpoint, files are committed once the files that still get items have this number of
   * items on average.
   */
  readonly committedItems: number;
}

/** The arguments of an encoder. */
export interface FileToEncode {
  /** Whether the file is empty. */
  readonly isNew: boolean;
  /** Memory for blocks. It is reused once their bytes are written. */
  readonly buffers: Buffers;
  /** Runs a task in another thread; returns `undefined` if there is none. */
  readonly inThread?: RunInThread | undefined;
}

/** Encodes the items of one file. */
export interface Encoder<Entry> {
  /** Adds an entry. */
  add(entry: Entry): void;
  /**
   * Adds rows that a thread encodes as a block. If the block fails, `flush` and `end` fail. Absent if blocks
   * are already bytes of the file.
   */
  addBlock?(rows: number, block: Promise<EncodedBlock>): void;
  /** The number of rows that `addBlock` may add before the next `flush`. */
  readonly room?: number;
  /** The value of `room` after a `flush`. */
  readonly maxRoom?: number;
  /** Memory of the items since the last `flush`, in bytes, without blocks. May be an estimate. */
  readonly heldBytes: number;
  /** The number of bytes that the next `flush` returns, if it differs from `heldBytes`. */
  readonly size?: number;
  /** Whether `flush` must be called now. */
  readonly full: boolean;
  /**
   * Returns the next bytes of the file, with everything that was added since the last call. The caller owns
   * their memory.
   */
  flush(): Uint8Array | Promise<Uint8Array>;
  /** Returns the last bytes of the file, including everything that was added since the last `flush`. */
  end(): Uint8Array | Promise<Uint8Array>;
}

/** The largest buffer. Larger writes are not faster. */
export const MAX_BUFFER_BYTES = 1 << 20;
export const MIN_BUFFER_BYTES = 1 << 14;
/** The memory limit of all outputs together, in bytes, if the format sets none. */
const DEFAULT_MAX_BYTES = 16 << 20;
const SPARE = 16;

/**
 * The format of files of lines. Each line ends in a line feed, so that a file can be truncated after any line
 * and continued.
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

/** A full-size buffer with less space than this is flushed, because the next line may not fit. */
const ROOM_FOR_A_LINE = MAX_BUFFER_BYTES / 16;
const NOTHING = new Uint8Array();

/** Appends lines to a buffer. */
class LinesEncoder implements Encoder<Line> {
  readonly #buffers: Buffers;
  /** Undefined after it was written to the buffer, in the same block as the first line. */
  #header: Line | undefined;
  #buffer: Buffer | undefined;
  #used = 0;
  /** The size of the next buffer. */
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

  flush(): Uint8Array {
    // A block of a thread may follow, which must come after the header.
    this.#addHeader();
    const lines = this.#buffer?.subarray(0, this.#used) ?? NOTHING;
    this.#size = nextSize(this.#size, this.#used);
    this.#buffer = undefined;
    this.#used = 0;
    return lines;
  }

  end(): Uint8Array {
    return this.flush();
  }

  #addHeader(): void {
    const header = this.#header;
    if (header === undefined) return;
    this.#header = undefined;
    this.add(header);
  }

  /** The buffer, replaced by a larger one if it has less space than this. */
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

/** The memory of items that wait to be written. It is limited in total, and reused. */
export class Buffers {
  readonly #limit: number;
  #held = 0;
  readonly #spare: Buffer[] = [];
  /** The memory that was taken and not given back yet. */
  readonly #taken = new WeakSet<ArrayBufferLike>();
  #waiting: (() => void)[] = [];

  constructor(limit = DEFAULT_MAX_BYTES) {
    this.#limit = limit;
  }

  /** Memory to collect items in. It does not count towards the limit before `hold`. */
  take(size: number): Buffer {
    const spare = size === MAX_BUFFER_BYTES ? this.#spare.pop() : undefined;
    const buffer = spare ?? Buffer.allocUnsafeSlow(size);
    this.#taken.add(buffer.buffer);
    return buffer;
  }

  /** The memory that a block occupies until it is written: the whole buffer in which it was collected. */
  memoryOf({ buffer, byteLength }: Uint8Array): number {
    return this.#taken.has(buffer) ? buffer.byteLength : byteLength;
  }

  /** Gives back the memory of a written block. */
  give(block: Uint8Array): void {
    const bytes = this.memoryOf(block);
    const { buffer } = block;
    const isTaken = this.#taken.delete(buffer);
    // Freed immediately, because the main thread creates so little garbage that it would be
    // collected late.
    if (!isTaken) releaseMemory(block);
    else if (bytes === MAX_BUFFER_BYTES && this.#spare.length < SPARE)
      this.#spare.push(Buffer.from(buffer as ArrayBuffer));
    this.hold(-bytes);
  }

  /** Counts memory in bytes. Freed memory is negative. */
  hold(bytes: number): void {
    this.#held += bytes;
    if (bytes < 0 && this.#held <= this.half) this.release();
  }

  /** Whether items must be written before more are collected. */
  get full(): boolean {
    return this.#held > this.#limit;
  }

  /** Whether a caller waits for memory. */
  get awaited(): boolean {
    return this.#waiting.length > 0;
  }

  /** Half of the limit. A wait for `relief` ends when at most this much is held. */
  get half(): number {
    return this.#limit / 2;
  }

  /** Waits until half of the memory is free. */
  relief(): Promise<void> {
    if (this.#held <= this.half) return Promise.resolve();
    return new Promise(resolve => this.#waiting.push(resolve));
  }

  /** Ends all waits, for example after a failure. */
  release(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/**
 * The size for an output's next buffer, computed from the `used` bytes of its last buffer. Busy outputs get
 * larger buffers.
 */
export function nextSize(last: number, used: number): number {
  if (used * 2 < last) return Math.max(MIN_BUFFER_BYTES, last / 4);
  return Math.min(MAX_BUFFER_BYTES, last * 4);
}
