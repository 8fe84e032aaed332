import type { RowEncoding } from '../../files/encode-rows.js';
import type { RunInThread } from '../../files/record-columns.js';
import type { EncodedBlock } from '../../files/rows.js';
import { LINE_FEED, type Line } from '../../flow/line.js';
import { releaseMemory } from '../../gzip/release-memory.js';

/** How the items of a sink become the bytes of its files. */
export interface FileFormat<T, Entry extends FileEntry = FileEntry> {
  /**
   * What the encoder of a file takes for an item.
   *
   * @throws DataError for an item that does not fit, which the encoder may throw, too.
   */
  encode(item: T, origin: string | undefined): Entry;
  /** Begins to encode a file. */
  encoder(file: FileToEncode): Encoder<Entry>;
  /** Set where a file cannot be continued, as it has an end: a commit then ends all open files, and lists only such. */
  readonly wholeFiles?: WholeFiles | undefined;
  /** How a thread does the same for posts, where it can. */
  readonly rows?: RowEncoding | undefined;
}

/** What a file takes for an item. */
export interface FileEntry {
  /** How many bytes it takes in the file, without the line feed after it; 0 where that is not known before it is encoded. */
  readonly byteLength: number;
}

export interface WholeFiles {
  /** Memory of all encoders of a run together; beyond it the largest are flushed. */
  readonly maxHeldBytes: number;
  /** With a checkpoint, a file ends at this size where `maxBytes` is not given: a crash costs the files under way. */
  readonly committedBytes: number;
  /** With a checkpoint, files are committed once those that still get items have this number of them on average. */
  readonly committedItems: number;
}

/** What an encoder gets. */
export interface FileToEncode {
  /** Whether the file has nothing yet. */
  readonly isNew: boolean;
  /** Memory that is used again once the bytes in it are written. */
  readonly buffers: Buffers;
  /** Runs a task in another thread; returns `undefined` if there is none. */
  readonly inThread?: RunInThread | undefined;
}

/** Encodes one file. */
export interface Encoder<Entry> {
  /** Takes what `encode` has made of an item. */
  add(entry: Entry): void;
  /**
   * Takes rows of a block that a thread makes. A block that fails makes `flush` and `end` fail. Absent where blocks are
   * bytes of the file as they are.
   */
  addBlock?(rows: number, block: Promise<EncodedBlock>): void;
  /** How many rows `addBlock` may take before it is time to `flush`. */
  readonly room?: number;
  /** The same after a `flush`. */
  readonly maxRoom?: number;
  /** Memory of what was added since the last `flush`, in bytes, without blocks; an estimate will do. */
  readonly heldBytes: number;
  /** How many bytes of the file the next `flush` gives, where that is not `heldBytes`. */
  readonly size?: number;
  /** Whether it is time to `flush`. */
  readonly full: boolean;
  /** The next bytes of the file: all that was added since the last call. The caller owns their memory. */
  flush(): Uint8Array | Promise<Uint8Array>;
  /** The last bytes of the file, including all that was added since the last `flush`. */
  end(): Uint8Array | Promise<Uint8Array>;
}

/** Larger writes are not faster. */
export const MAX_BUFFER_BYTES = 1 << 20;
export const MIN_BUFFER_BYTES = 1 << 14;
/** The memory limit of all outputs together, where the format sets none. */
const LIMIT = 16 << 20;
const SPARE = 16;

/**
 * The format of files of lines, each with a line feed after it: they can be cut after any line and continued.
 *
 * @param encode The line of an item.
 */
export function linesFormat<T>({
  encode,
  header,
  rows,
}: {
  readonly encode: (item: T, origin: string | undefined) => Line;
  /** What each new file begins with; it counts in `maxBytes`, not as an item. */
  readonly header?: Line | undefined;
  readonly rows?: RowEncoding | undefined;
}): FileFormat<T, Line> {
  return { encode, encoder: file => new LinesEncoder(file, header), rows };
}

/** If a buffer of the maximum size has less room than this, the next line may not fit. */
const ROOM_FOR_A_LINE = MAX_BUFFER_BYTES / 16;
const NOTHING = new Uint8Array();

/** Appends lines to a buffer. */
class LinesEncoder implements Encoder<Line> {
  readonly #buffers: Buffers;
  /** Until it is in the buffer: it is in the same block as the first line. */
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
    // A block of a thread may follow.
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

  /** The buffer, larger where it has less than these bytes. */
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

/** The memory that items wait in before they are written: limited in total, and reused. */
export class Buffers {
  readonly #limit: number;
  #held = 0;
  readonly #spare: Buffer[] = [];
  /** The memory that was taken and not given back. */
  readonly #taken = new WeakSet<ArrayBufferLike>();
  #waiting: (() => void)[] = [];

  constructor(limit = LIMIT) {
    this.#limit = limit;
  }

  /** Memory to collect items in, which is not counted yet. */
  take(size: number): Buffer {
    const spare = size === MAX_BUFFER_BYTES ? this.#spare.pop() : undefined;
    const buffer = spare ?? Buffer.allocUnsafeSlow(size);
    this.#taken.add(buffer.buffer);
    return buffer;
  }

  /** The memory that a block takes until it is written: all of what it was collected in. */
  memoryOf({ buffer, byteLength }: Uint8Array): number {
    return this.#taken.has(buffer) ? buffer.byteLength : byteLength;
  }

  /** Takes back the memory of a block that is written. */
  give(block: Uint8Array): void {
    const bytes = this.memoryOf(block);
    const { buffer } = block;
    const isTaken = this.#taken.delete(buffer);
    // The main thread makes too little garbage for it to be collected soon.
    if (!isTaken) releaseMemory(block);
    else if (bytes === MAX_BUFFER_BYTES && this.#spare.length < SPARE)
      this.#spare.push(Buffer.from(buffer as ArrayBuffer));
    this.hold(-bytes);
  }

  /** Counts memory, in bytes; what is free again is negative. */
  hold(bytes: number): void {
    this.#held += bytes;
    if (bytes < 0 && this.#held <= this.half) this.release();
  }

  /** Whether items must be written before more are collected. */
  get full(): boolean {
    return this.#held > this.#limit;
  }

  /** Whether somebody waits for memory. */
  get awaited(): boolean {
    return this.#waiting.length > 0;
  }

  /** The maximum that is held after a wait for `relief`. */
  get half(): number {
    return this.#limit / 2;
  }

  /** Waits until half of the memory is free again. */
  relief(): Promise<void> {
    if (this.#held <= this.half) return Promise.resolve();
    return new Promise(resolve => this.#waiting.push(resolve));
  }

  /** Ends all waits, after a failure too. */
  release(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** The next buffer size of an output that filled `used` bytes of its last one: busy outputs get larger buffers. */
export function nextSize(last: number, used: number): number {
  if (used * 2 < last) return Math.max(MIN_BUFFER_BYTES, last / 4);
  return Math.min(MAX_BUFFER_BYTES, last * 4);
}
