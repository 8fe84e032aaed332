import { gunzipSync, type Zlib, type ZlibOptions } from 'node:zlib';
import { Activity } from '../activity/activity.js';
import { IdNumber } from '../activity/id-number.js';
import { parseInStreamMessage } from '../activity/in-stream-message.js';
import { leadingIdStart } from '../activity/leading-id.js';
import { matchesAtEnd } from '../activity/matching-rules.js';
import { POST_KEYS } from '../activity/post-keys.js';
import type { InflateLimits } from '../gzip/gzip-file.js';
import { GZIP_MAGIC } from '../gzip/gzip-magic.js';
import { inflatedSize } from '../gzip/inflated-size.js';
import { isZstd } from '../gzip/zstd-frames.js';
import { CLOSE_OBJECT, CR, LF, OPEN_OBJECT, startsWithMark } from '../json/json-bytes.js';
import { isDeeperThan } from '../json/json-depth.js';
import { JsonObject } from '../json/json-object.js';
import { LineFramer } from '../json/line-framer.js';
import type { CheckedLimits } from '../json/record-limits.js';
import type { ScanFields, ScanStages } from './scan-task.js';
import { ScannedColumns } from './scanned-columns.js';

/** Maximum size, compressed and inflated, of a file that is scanned: it is held in memory as a whole. */
export const MAX_FILE_BYTES = 8 * 1024 * 1024;
export const MAX_INFLATED_BYTES = 64 * 1024 * 1024;
/** A gzip header and trailer around empty data. */
const SMALLEST_GZIP = 20;
const SMALLEST_CHUNK = 64 * 1024;
const LARGE_CHUNK = 1024 * 1024;
/** Of a file that is scanned: each takes memory of the main thread. Files of posts have far fewer. */
export const MAX_POSTS = 256 * 1024;
/** Columns are made for posts of this size, and grow where they are smaller. */
const BYTES_A_POST = 2_048;

/** The posts of a file. */
export interface ScannedFile {
  /** The content of the file, inflated. */
  readonly bytes: Buffer;
  readonly columns: ScannedColumns;
  /** Records that are messages in place of posts. */
  readonly messages: readonly Uint8Array[];
}

/**
 * Inflates a file, cuts it into records, and reads the wanted fields of each post: what `gunzip`,
 * `jsonLines`, `activities` and the stages after them do, by the same code. Returns `undefined` where
 * any of it fails or the file is too large: the stages themselves then process the file, and deliver
 * what comes before the error.
 *
 * @param file Its memory can be used again afterwards.
 */
export async function scanFile(
  file: Buffer,
  { gunzip, limits }: ScanStages,
  fields: ScanFields,
): Promise<ScannedFile | undefined> {
  if (file.length > MAX_FILE_BYTES) return undefined;
  try {
    const bytes = gunzip === undefined ? copyOf(file) : inflate(file, gunzip);
    // The check of a job's files refuses a mark at the start, which `jsonLines` skips.
    if (bytes === undefined || startsWithMark(bytes)) return undefined;
    return scanLines(bytes, limits, fields) ?? (await scanRecords(bytes, limits, fields));
  } catch {
    return undefined;
  }
}

function inflate(file: Buffer, { plain, maxBytes }: InflateLimits): Buffer | undefined {
  if (file.length > 0 && file[0] !== GZIP_MAGIC)
    return plain === 'pass' && isZstd(file) === false && file.length <= maxBytes
      ? copyOf(file)
      : undefined;
  if (file.length < SMALLEST_GZIP) return undefined;
  const maxOutputLength = Math.min(maxBytes, MAX_INFLATED_BYTES);
  const size = inflatedSize(file);
  if (size > maxOutputLength) return undefined;
  const { buffer, engine } = inflateInfo(file, {
    info: true,
    chunkSize: roundedUp(size + 1),
    maxOutputLength,
  });
  // The decoder does not read what follows the last member.
  return engine.bytesWritten === file.length ? buffer : undefined;
}

/**
 * Files of one source have similar sizes: blocks of equal size take the memory of released ones, where
 * others need new memory from the system, which takes 4 % of the time.
 */
function roundedUp(bytes: number): number {
  const unit = bytes < LARGE_CHUNK ? SMALLEST_CHUNK : LARGE_CHUNK;
  return Math.ceil(bytes / unit) * unit;
}

/** The types of node:zlib lack the option `info`. */
const inflateInfo = gunzipSync as unknown as (
  file: Buffer,
  options: ZlibOptions & { readonly info: true },
) => { buffer: Buffer; engine: Zlib };

/** The content of a file outlives `file`, and must not share the memory of Node's pool: it is transferred. */
function copyOf(file: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(file.length);
  file.copy(copy);
  return copy;
}

/**
 * The posts of a file in which each line is an object and has an end, found with less work than by
 * `LineFramer`; `undefined` for other files.
 */
function scanLines(
  bytes: Buffer,
  { maxBytes, maxDepth }: CheckedLimits,
  fields: ScanFields,
): ScannedFile | undefined {
  const posts = new Posts(bytes, fields);
  let start = 0;
  for (let end = bytes.indexOf(LF); end !== -1; end = bytes.indexOf(LF, start)) {
    const to = bytes[end - 1] === CR ? end - 1 : end;
    const length = to - start;
    if (bytes[start] !== OPEN_OBJECT || bytes[to - 1] !== CLOSE_OBJECT || length > maxBytes)
      return undefined;
    if (length > 2 * maxDepth && isDeeperThan(maxDepth, bytes.subarray(start, to)))
      return undefined;
    posts.add(start, to);
    start = end + 1;
  }
  return start === bytes.length ? posts : undefined;
}

async function scanRecords(
  bytes: Buffer,
  limits: CheckedLimits,
  fields: ScanFields,
): Promise<ScannedFile> {
  const records: Buffer[] = [];
  const framer = new LineFramer('\n', limits, undefined);
  await framer.push(bytes, records);
  await framer.end(records);
  const posts = new Posts(bytes, fields);
  for (const record of records) {
    const start = startIn(bytes, record);
    posts.add(start, start + record.length);
  }
  return posts;
}

/** The framer copies a last line that has no line end. */
function startIn(bytes: Buffer, record: Buffer): number {
  const start = record.byteOffset - bytes.byteOffset;
  const isView = record.buffer === bytes.buffer && start >= 0 && start < bytes.length;
  return isView ? start : bytes.indexOf(OPEN_OBJECT, bytes.lastIndexOf(LF) + 1);
}

const number = new IdNumber();

class Posts implements ScannedFile {
  /**
   * V8 discards the optimised code for objects of a class where a garbage collection finds none of them, such as
   * between two files. One of each class of the scan stays.
   */
  static readonly staying: readonly unknown[] = [
    new Posts(Buffer.alloc(0), { id: true, tags: true, keys: [] }),
    new Activity(Buffer.from('{}')),
    JsonObject.of(Buffer.from('{}')),
  ];
  readonly bytes: Buffer;
  readonly columns: ScannedColumns;
  readonly messages: Uint8Array[] = [];
  readonly #fields: ScanFields;
  readonly #keys: readonly ((activity: Activity) => string | number)[];

  constructor(bytes: Buffer, fields: ScanFields) {
    this.bytes = bytes;
    this.columns = ScannedColumns.ofSize(Math.ceil(bytes.length / BYTES_A_POST));
    this.#fields = fields;
    this.#keys = fields.keys.map(key => POST_KEYS[key]);
  }

  /** @throws RangeError where there are too many. */
  add(start: number, end: number): void {
    if (this.columns.count + this.messages.length === MAX_POSTS) throw new RangeError('Many posts');
    const idStart = leadingIdStart(this.bytes, start);
    // What starts with an id cannot be a message.
    if (idStart !== -1) this.#addPost(start, end, idStart);
    else this.#addOther(start, end);
  }

  /** A post as the service prints it. */
  #addPost(start: number, end: number, idStart: number): void {
    const { bytes, columns } = this;
    const row = columns.add(start, end - start);
    if (this.#fields.id) {
      if (number.parseDigits(bytes, idStart)) columns.setId(row, number.high, number.low);
      else this.#setId(row, this.#activity(start, end));
    }
    if (this.#fields.tags) {
      const matches = matchesAtEnd(bytes, start, end) ?? this.#activity(start, end);
      columns.setTags(row, matches.tags);
    }
    if (this.#fields.keys.length > 0) this.#setKeys(row, this.#activity(start, end));
  }

  #addOther(start: number, end: number): void {
    const activity = this.#activity(start, end);
    if (parseInStreamMessage(activity.raw) !== undefined) {
      // A copy: a view takes all of its memory along to another thread.
      this.messages.push(new Uint8Array(activity.raw));
      return;
    }
    const row = this.columns.add(start, end - start);
    if (this.#fields.id) this.#setId(row, activity);
    if (this.#fields.tags) this.columns.setTags(row, activity.tags);
    if (this.#fields.keys.length > 0) this.#setKeys(row, activity);
  }

  #setId(row: number, { id }: Activity): void {
    if (number.parse(id)) this.columns.setId(row, number.high, number.low);
    else this.columns.otherIds.set(row, id);
  }

  #setKeys(row: number, activity: Activity): void {
    this.columns.setKeys(
      row,
      this.#keys.map(keyOf => keyOf(activity)),
    );
  }

  #activity(start: number, end: number): Activity {
    return new Activity(this.bytes.subarray(start, end));
  }
}
