import type { RowEncoding } from '../../files/encode-rows.js';

import { LINE_FEED, type Line } from '../line.js';
import { type Buffers, MAX_BUFFER_BYTES, MIN_BUFFER_BYTES, nextSize } from './buffers.js';
import type { Encoder, FileToEncode, Format } from './format.js';

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
}): Format<T, Line> {
  return { encode, encoder: file => new LinesEncoder(file, header), rows };
}

/** Where a buffer of the maximum size has no more room than this, the next line may not fit. */
const ROOM_FOR_A_LINE = MAX_BUFFER_BYTES / 16;
const NOTHING = new Uint8Array();

/** Appends lines to a buffer. */
class LinesEncoder implements Encoder<Line> {
  readonly #buffers: Buffers;
  /** Until it is in the buffer: it is in the same block as the first line. */
  #header: Line | undefined;
  #buffer: Buffer | undefined;
  #used = 0;
  /** Of the next buffer. */
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
