import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { compressionOf, type InflateLimits } from '../gzip/compression.js';
import { isZstd } from '../gzip/zstd.js';
import { OPEN_OBJECT, startsWithMark } from '../json/byte-codes.js';
import { LineFramer } from '../json/line-framer.js';
import { ObjectLines } from '../json/object-lines.js';
import type { CheckedLimits } from '../json/records.js';
import { FileRecords, type RecordKind } from './file-records.js';
import type { Decoding } from './plan.js';

/** The maximum stored size of a file that is decoded in one piece, in bytes. */
export const MAX_FILE_BYTES = 8 * 1024 * 1024;
/**
 * The maximum number of records in a file that is decoded in one piece. Each record takes memory on the main
 * thread. Files of posts have far fewer records.
 */
export const MAX_RECORDS = 256 * 1024;
/** The assumed size of a record in bytes. It determines the initial capacity of the arrays of rows. */
const BYTES_A_RECORD = 2_048;

export type ReadColumn = (rows: FileRecords) => unknown;

export interface Decoded {
  readonly rows: FileRecords;
  /** The results of the `ReadColumn` functions, in the order of the columns. */
  readonly columns: readonly unknown[];
  /** Records that are not items, such as messages of the service. */
  readonly messages: readonly Uint8Array[];
}

/** Inflates a whole file. Returns or resolves to `undefined` if the file is damaged or too large. */
export type Inflate = (
  file: Buffer,
  maxBytes: number,
) => Buffer | undefined | Promise<Buffer | undefined>;

/**
 * Inflates a file, cuts it into records, and reads the columns of the records that are items. This
 * replaces the pipeline stages `gunzip`, `jsonLines` and `activities`. Returns `undefined` if the
 * file is damaged, is too large or starts with a byte order mark. Those stages then process the
 * file in blocks and deliver everything before the error.
 *
 * @param file The stored bytes. The caller may reuse their memory after the call.
 */
export async function decodeFile(
  file: Buffer,
  { gunzip, limits, records }: Decoding,
  columns: readonly ReadColumn[],
  inflate: Inflate,
): Promise<Decoded | undefined> {
  if (file.length > MAX_FILE_BYTES) return undefined;
  try {
    const bytes = gunzip === undefined ? copyOf(file) : await contentOf(file, gunzip, inflate);
    // A file that starts with a byte order mark is not decoded here. `jsonLines` skips the mark, but the
    // check of a job's files refuses it.
    if (bytes === undefined || startsWithMark(bytes)) return undefined;
    const { rows, messages } =
      cutLines(bytes, limits, records) ?? (await cutRecords(bytes, limits, records));
    const read = columns.map(column => column(rows));
    rows.forgetItems();
    return { rows, columns: read, messages };
  } catch {
    return undefined;
  }
}

function contentOf(file: Buffer, { plain, maxBytes }: InflateLimits, inflate: Inflate) {
  if (file.length === 0 || compressionOf(file) !== 'plain') return inflate(file, maxBytes);
  // For a file of fewer than 4 bytes, `isZstd` may return `undefined`, because the file may be a truncated
  // zstd file. The stages of the pipeline then process it.
  const passes = plain === 'pass' && isZstd(file) === false && file.length <= maxBytes;
  return passes ? copyOf(file) : undefined;
}

/**
 * Copies the content of a file, because the memory of `file` is reused. The copy is not allocated from Node's
 * shared pool, because it may be transferred to another thread.
 */
function copyOf(file: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(file.length);
  file.copy(copy);
  return copy;
}

/**
 * Splits a file into records, if each of its lines is one complete JSON object. This is faster than
 * `LineFramer`. Returns `undefined` for any other file.
 */
function cutLines(
  bytes: Buffer,
  limits: CheckedLimits,
  kind: RecordKind,
): SplitRecords | undefined {
  const records = new SplitRecords(bytes, kind);
  const lines = new ObjectLines('\n', limits);
  for (let from = 0; from < bytes.length; from = lines.next) {
    const count = lines.find(bytes, from, bytes.length);
    if (count === 0) return undefined;
    for (let index = 0; index < count; index++)
      records.add(lines.startOf(index), lines.endOf(index));
  }
  return records;
}

async function cutRecords(
  bytes: Buffer,
  limits: CheckedLimits,
  kind: RecordKind,
): Promise<SplitRecords> {
  const framed: Buffer[] = [];
  const framer = new LineFramer('\n', limits, undefined);
  await framer.push(bytes, framed);
  await framer.end(framed);
  const records = new SplitRecords(bytes, kind);
  let end = 0;
  for (const { length } of framed) {
    // Searches for the start of the record, because the framer may return a copy that has no position. Only
    // white space and commas can be between records.
    const start = bytes.indexOf(OPEN_OBJECT, end);
    end = start + length;
    records.add(start, end);
  }
  return records;
}

class SplitRecords {
  /**
   * V8 discards the optimised code for a class if a garbage collection finds no object of it, for example
   * between two files. This object prevents that.
   */
  static readonly staying: unknown = new SplitRecords(Buffer.alloc(0), {
    name: '',
    mark: () => 0,
    item: () => undefined,
  });
  readonly rows: FileRecords;
  readonly messages: Uint8Array[] = [];
  readonly #kind: RecordKind;

  constructor(bytes: Buffer, kind: RecordKind) {
    this.rows = new FileRecords(bytes, kind, Math.ceil(bytes.length / BYTES_A_RECORD));
    this.#kind = kind;
  }

  /** @throws RangeError if there are too many records */
  add(start: number, end: number): void {
    const { rows, messages } = this;
    if (rows.count + messages.length === MAX_RECORDS) throw new RangeError('Many records');
    const mark = this.#kind.mark(rows.content, start, end);
    if (mark !== -1) rows.add(start, end - start, mark);
    // Copies the message, because transferring a view to another thread would transfer the memory of the
    // whole file.
    else messages.push(new Uint8Array(rows.content.subarray(start, end)));
  }
}

/**
 * The flags to open a file for reading. Without `O_NONBLOCK`, opening a named pipe would wait until another
 * process writes to it. Windows does not have this flag.
 */
const TO_READ = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** The initial size of the reused buffer in bytes. Most files fit in it, so it seldom grows. */
const SMALLEST = 1024 * 1024;

/**
 * A buffer that all files reuse. Allocating new memory costs more than reading a small file from the system's
 * cache.
 */
let buffer = Buffer.alloc(0);

/**
 * Returns the content of a file. The next call overwrites it. Returns `undefined` if the file cannot be read,
 * is not a regular file, is too large to be decoded in one piece, or is smaller than `minBytes`.
 */
export function readWhole(path: string, minBytes: number): Buffer | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, TO_READ);
    const status = fstatSync(file);
    if (!status.isFile() || status.size > MAX_FILE_BYTES) return undefined;
    const content = readAll(file, status.size);
    return content.length < minBytes ? undefined : content;
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function readAll(file: number, size: number): Buffer {
  if (buffer.length < size) buffer = Buffer.allocUnsafeSlow(Math.max(SMALLEST, 2 * size));
  let used = 0;
  while (used < size) {
    const read = readSync(file, buffer, used, size - used, used);
    if (read === 0) break;
    used += read;
  }
  return buffer.subarray(0, used);
}
