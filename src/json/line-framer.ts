import { DataError } from '../base/errors.js';
import {
  afterBlankLines,
  COMMA,
  CR,
  countBytes,
  isSpace,
  isUtf16,
  LF,
  OPEN_ARRAY,
  OPEN_OBJECT,
  startsWithMark,
  UTF_16,
} from './byte-codes.js';
import { isOneObject, type ScannedObject, scanObject } from './check-object.js';
import { excerpt } from './excerpt.js';
import { ObjectLines, type Separator } from './object-lines.js';
import type { CheckedLimits, OnDamaged } from './records.js';
import { CarryOver, type Framer } from './records.js';

const EMPTY = Buffer.alloc(0);

export type { Separator } from './object-lines.js';

export interface LineFramerOptions {
  /** Called with each damaged line. If absent, the first damaged line throws. */
  readonly onDamaged?: OnDamaged | undefined;
  /** Whether the user can set the limits with options. If so, errors name these options. @default true */
  readonly limitsAreOptions?: boolean | undefined;
  /**
   * Whether the records were already validated. If so, the framer only looks for their ends.
   * @default false
   */
  readonly areProven?: boolean | undefined;
  /** Whether errors are retryable, because the bytes may have been damaged in transit. @default false */
  readonly isRetryable?: boolean | undefined;
  /**
   * How many more bytes of a line that is too large are skipped before the framer throws. Without this limit,
   * a stream that never ends a line would be read forever.
   * @default no limit
   */
  readonly maxSkippedBytes?: number | undefined;
}

export class LineFramer implements Framer<Buffer> {
  readonly #end: number;
  readonly #lines: ObjectLines;
  readonly #maxBytes: number;
  readonly #maxDepth: number;
  readonly #origin: string | undefined;
  readonly #options: LineFramerOptions;
  #skips = false;
  #skippedBytes = 0;
  readonly #carried = new CarryOver();
  #line = 1;
  /** The position of the current line, in bytes from the start of the file. */
  #lineAt = 0;
  /** The position of the current block, in bytes from the start of the file. */
  #blockAt = 0;

  constructor(
    separator: Separator,
    limits: CheckedLimits,
    origin: string | undefined,
    options: LineFramerOptions = {},
  ) {
    const { maxBytes, maxDepth } = limits;
    this.#options = options;
    this.#lines = new ObjectLines(separator, limits);
    // If the separator is CRLF, no record contains a CR. A CR therefore ends a record, and the LF after it
    // counts as white space.
    this.#end = separator === '\n' ? LF : CR;
    this.#maxBytes = maxBytes;
    this.#maxDepth = maxDepth;
    this.#origin = origin;
  }

  /**
   * Processes a block. Returns a promise only if `onDamaged` has to be awaited. A promise for each block
   * would make replays several percent slower.
   */
  push(block: Buffer, records: Buffer[]): Promise<void> | undefined {
    return this.#pushFrom(0, block, records);
  }

  #pushFrom(from: number, block: Buffer, records: Buffer[]): Promise<void> | undefined {
    const lastEnd = block.lastIndexOf(this.#end);
    let start = this.#takeObjects(from, lastEnd + 1, block, records);
    while (start <= lastEnd) {
      const end = block.indexOf(this.#end, start);
      const to = end > start && block[end - 1] === CR ? end - 1 : end;
      const line = this.#skips ? EMPTY : this.#carried.join(block.subarray(start, to));
      this.#skips = false;
      this.#skippedBytes = 0;
      const waiting = this.#take(line, records);
      this.#line++;
      this.#lineAt = this.#blockAt + end + 1;
      if (waiting !== undefined) return waiting.then(() => this.#pushFrom(end + 1, block, records));
      start = this.#takeObjects(end + 1, lastEnd + 1, block, records);
    }
    if (this.#skips) this.#skip(block.length - start);
    else this.#carried.add(block.subarray(start));
    this.#blockAt += block.length;
    if (this.#carried.byteLength <= this.#maxBytes) return undefined;
    this.#skips = true;
    return this.#tooLong(this.#carried.join(EMPTY));
  }

  /**
   * Takes complete records up to the first line that is not exactly one record. Returns the start of that
   * line.
   */
  #takeObjects(from: number, to: number, block: Buffer, records: Buffer[]): number {
    let start = this.#skipBlankLines(block, from);
    if (this.#options.areProven === true || this.#skips || this.#carried.byteLength > 0)
      return start;
    const lines = this.#lines;
    for (
      let count = lines.find(block, start, to);
      count > 0;
      count = lines.find(block, start, to)
    ) {
      for (let index = 0; index < count; index++)
        records.push(block.subarray(lines.startOf(index), lines.endOf(index)));
      this.#line += count;
      this.#lineAt = this.#blockAt + lines.next;
      start = this.#skipBlankLines(block, lines.next);
    }
    return start;
  }

  #skip(bytes: number): void {
    this.#skippedBytes += bytes;
    if (this.#skippedBytes > (this.#options.maxSkippedBytes ?? Number.POSITIVE_INFINITY))
      throw this.#error(`A line has no end within ${this.#maxBytes + this.#skippedBytes} bytes`);
  }

  /**
   * Skips blank lines in a loop. Searching for the end of each blank line and creating a view of it would
   * take 50 times as long.
   */
  #skipBlankLines(block: Buffer, start: number): number {
    if (this.#skips || this.#carried.byteLength > 0 || !isSpace(block[start]!)) return start;
    const after = afterBlankLines(block, start, this.#end);
    if (after === start) return start;
    this.#line += countBytes(this.#end, block, start, after);
    this.#lineAt = this.#blockAt + after;
    return after;
  }

  async end(records: Buffer[]): Promise<void> {
    if (!this.#skips) await this.#take(this.#carried.join(EMPTY), records, true);
  }

  /**
   * Adds the JSON objects of one line to `records`. Returns a promise only if the line is damaged, because
   * creating a promise for each line would take longer than framing it.
   */
  #take(line: Buffer, records: Buffer[], isLast = false): Promise<void> | undefined {
    const record = trim(line, this.#lineAt === 0);
    if (record.length === 0) return undefined;
    if (record.length > this.#maxBytes) return this.#tooLong(record);
    if (this.#options.areProven === true || isOneObject(record, this.#maxDepth)) {
      records.push(record);
      return undefined;
    }
    return this.#takeParts(record, record.byteOffset - line.byteOffset, records, isLast);
  }

  /**
   * Takes the objects at the start of a line. If the line has anything else after them, the rest of the line
   * is damaged.
   */
  #takeParts(
    line: Buffer,
    offset: number,
    records: Buffer[],
    isLast: boolean,
  ): Promise<void> | undefined {
    let from = 0;
    for (let start = 0; ; start = afterSeparator(line, from)) {
      const scanned = scanObject(line, start, this.#maxDepth);
      if (scanned.end === undefined) {
        const rest = line.subarray(from === 0 ? 0 : afterSpace(line, from));
        const at = this.#lineAt + offset + rest.byteOffset - line.byteOffset;
        return this.#damaged(rest, this.#errorOf(rest, scanned, { at, from, start, isLast }));
      }
      from = scanned.end;
      records.push(line.subarray(start, from));
      if (from === line.length) return undefined;
    }
  }

  /**
   * Passes a copy of a damaged record to `onDamaged`, because the memory of the input block may be released.
   * Without `onDamaged`, throws `error`.
   */
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

  #errorOf(
    rest: Buffer,
    { wrongAt = 0, isTooDeep }: ScannedObject,
    { at, from, start, isLast }: { at: number; from: number; start: number; isLast: boolean },
  ): DataError {
    if (rest[0] === 0x1f && rest[1] === 0x8b)
      throw this.#error('These bytes are gzip; put gunzip() first');
    const error = (message: string, advice?: string) => this.#error(message, at, advice);
    if (from === 0 && isUtf16(rest)) return error(`${UTF_16}: ${excerpt(rest)}`);
    if (isTooDeep === true)
      return error(`A line is nested deeper than ${this.#maxDepth}${this.#option('maxDepth')}`);
    let advice = '';
    if (rest[0] === OPEN_ARRAY) advice = 'jsonArray() reads a document that is an array';
    if (isLast && from === 0)
      return error(`The last line is cut short, or is not JSON: ${excerpt(rest)}`, advice);
    if (from > 0)
      return error(`Expected one JSON object on a line, but more follows: ${excerpt(rest)}`);
    if (rest[0] === OPEN_OBJECT) advice = `It is not valid JSON from byte ${wrongAt - start} on`;
    return error(`Expected a JSON object on each line: ${excerpt(rest)}`, advice);
  }

  #error(message: string, byteOffset = this.#lineAt, advice = ''): DataError {
    const position = { origin: this.#origin, line: this.#line, byteOffset };
    const { isRetryable: retryable = false } = this.#options;
    return new DataError(message, { position, retryable, advice });
  }
}

function trim(line: Buffer, first: boolean): Buffer {
  const start = afterSpace(line, first && startsWithMark(line) ? 3 : 0);
  let end = line.length;
  while (end > start && isSpace(line[end - 1]!)) end--;
  return line.subarray(start, end);
}

function afterSpace(line: Buffer, from: number): number {
  let at = from;
  while (at < line.length && isSpace(line[at]!)) at++;
  return at;
}

/**
 * Returns the position after the separator between two objects on a line. The separator is white space, one
 * comma, both or nothing.
 */
function afterSeparator(line: Buffer, from: number): number {
  const at = afterSpace(line, from);
  return line[at] === COMMA ? afterSpace(line, at + 1) : at;
}
