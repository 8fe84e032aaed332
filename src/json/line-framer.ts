import { DataError } from '../base/errors.js';
import type { OnDamaged } from './damaged-record.js';
import { excerpt } from './excerpt.js';
import { CarryOver, type Framer } from './framer.js';
import {
  afterBlankLines,
  CLOSE_OBJECT,
  CR,
  countOf,
  isSpace,
  LF,
  OPEN_OBJECT,
  startsWithMark,
} from './json-bytes.js';
import { isDeeperThan } from './json-depth.js';
import type { CheckedLimits } from './record-limits.js';

const EMPTY = Buffer.alloc(0);

export type Separator = '\n' | '\r\n';

export interface LineFramerOptions {
  /** Called with each damaged line; without it the first one throws. */
  readonly onDamaged?: OnDamaged | undefined;
  /** Whether the user can set the limits: errors then name the option. @default true */
  readonly limitsAreOptions?: boolean | undefined;
  /** Whether errors are retryable: of bytes that may have been damaged in transit. @default false */
  readonly isRetryable?: boolean | undefined;
  /**
   * Bytes of a line that is too large to skip before it throws: a stream may send a line without an end.
   * @default no limit
   */
  readonly maxSkippedBytes?: number | undefined;
}

/** Cuts bytes into lines that are JSON objects; see `jsonLines`. */
export class LineFramer implements Framer<Buffer> {
  readonly #end: number;
  readonly #maxBytes: number;
  readonly #maxDepth: number;
  readonly #origin: string | undefined;
  readonly #options: LineFramerOptions;
  /** Whether the current line is too large, and the rest of it is skipped. */
  #skips = false;
  #skippedBytes = 0;
  /** The part of the current line in earlier blocks. */
  readonly #carried = new CarryOver();
  #line = 1;
  /** Offsets in the file of the current line and block. */
  #lineAt = 0;
  #blockAt = 0;

  constructor(
    separator: Separator,
    { maxBytes, maxDepth }: CheckedLimits,
    origin: string | undefined,
    options: LineFramerOptions = {},
  ) {
    this.#options = options;
    // With CRLF no record contains a CR, so CR alone ends a record and the LF after it is white space.
    this.#end = separator === '\n' ? LF : CR;
    this.#maxBytes = maxBytes;
    this.#maxDepth = maxDepth;
    this.#origin = origin;
  }

  /** Returns a promise only if `onDamaged` is awaited: one for each block made replays slower by some percent. */
  push(block: Buffer, records: Buffer[]): Promise<void> | undefined {
    return this.#pushFrom(0, block, records);
  }

  #pushFrom(from: number, block: Buffer, records: Buffer[]): Promise<void> | undefined {
    let start = this.#skipBlankLines(block, from);
    for (
      let end = block.indexOf(this.#end, start);
      end !== -1;
      start = this.#skipBlankLines(block, end + 1), end = block.indexOf(this.#end, start)
    ) {
      const to = end > start && block[end - 1] === CR ? end - 1 : end;
      const line = this.#skips ? EMPTY : this.#carried.join(block.subarray(start, to));
      this.#skips = false;
      this.#skippedBytes = 0;
      const waiting = this.#take(line, records);
      this.#line++;
      this.#lineAt = this.#blockAt + end + 1;
      if (waiting !== undefined) return waiting.then(() => this.#pushFrom(end + 1, block, records));
    }
    if (this.#skips) this.#skip(block.length - start);
    else this.#carried.add(block.subarray(start));
    this.#blockAt += block.length;
    if (this.#carried.byteLength <= this.#maxBytes) return undefined;
    this.#skips = true;
    return this.#tooLong(this.#carried.join(EMPTY));
  }

  #skip(bytes: number): void {
    this.#skippedBytes += bytes;
    if (this.#skippedBytes > (this.#options.maxSkippedBytes ?? Number.POSITIVE_INFINITY))
      throw this.#error(`A line has no end within ${this.#maxBytes + this.#skippedBytes} bytes`);
  }

  /** Skips blank lines at the start of a line; a search and a view for each take 50 times as long. */
  #skipBlankLines(block: Buffer, start: number): number {
    if (this.#skips || this.#carried.byteLength > 0 || !isSpace(block[start]!)) return start;
    const after = afterBlankLines(block, start, this.#end);
    if (after === start) return start;
    this.#line += countOf(this.#end, block, start, after);
    this.#lineAt = this.#blockAt + after;
    return after;
  }

  async end(records: Buffer[]): Promise<void> {
    if (this.#skips) return;
    const before = records.length;
    await this.#take(this.#carried.join(EMPTY), records, 'The last line is cut short');
    const last = records[before];
    if (last === undefined) return;
    try {
      JSON.parse(last.toString());
    } catch (cause) {
      records.pop();
      await this.#damaged(last, this.#error('The last line is cut short, or is not JSON', cause));
    }
  }

  /** A promise only where the line is damaged: one for each line would take longer than framing it. */
  #take(
    line: Buffer,
    records: Buffer[],
    otherwise = 'Expected a JSON object on each line',
  ): Promise<void> | undefined {
    const record = isObject(line) ? line : trim(line, this.#lineAt === 0);
    if (record.length === 0) return undefined;
    if (record.length > this.#maxBytes) return this.#tooLong(record);
    if (!isObject(record)) {
      const isGzip = record[0] === 0x1f && record[1] === 0x8b;
      if (isGzip) throw this.#error('These bytes are gzip; put gunzip() first');
      return this.#damaged(record, this.#error(`${otherwise}: ${excerpt(record)}`));
    }
    if (record.length > 2 * this.#maxDepth && isDeeperThan(this.#maxDepth, record))
      return this.#damaged(
        record,
        this.#error(`A line is nested deeper than ${this.#maxDepth}${this.#option('maxDepth')}`),
      );
    records.push(record);
    return undefined;
  }

  /** Passes on a copy: the memory of the block may be released. */
  async #damaged(record: Buffer, error: DataError, more: { truncated?: true } = {}): Promise<void> {
    const { onDamaged } = this.#options;
    if (onDamaged === undefined) throw error;
    await onDamaged({ raw: Buffer.from(record), ...error.position, ...more }, error);
  }

  #tooLong(record: Buffer): Promise<void> {
    const message = `A line is larger than ${this.#maxBytes} bytes${this.#option('maxBytes')}`;
    const shown = record.subarray(0, this.#maxBytes);
    return this.#damaged(shown, this.#error(message), { truncated: true });
  }

  #option(name: string): string {
    return this.#options.limitsAreOptions === false ? '' : ` (\`${name}\`)`;
  }

  #error(message: string, cause?: unknown): DataError {
    const position = { origin: this.#origin, line: this.#line, byteOffset: this.#lineAt };
    const { isRetryable: retryable = false } = this.#options;
    return new DataError(message, { cause, position, retryable });
  }
}

function isObject(record: Buffer): boolean {
  return record[0] === OPEN_OBJECT && record[record.length - 1] === CLOSE_OBJECT;
}

function trim(line: Buffer, first: boolean): Buffer {
  let start = first && startsWithMark(line) ? 3 : 0;
  let end = line.length;
  while (start < end && isSpace(line[start]!)) start++;
  while (end > start && isSpace(line[end - 1]!)) end--;
  return line.subarray(start, end);
}
