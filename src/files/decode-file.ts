import { compressionOf } from '../gzip/compression.js';
import type { InflateLimits } from '../gzip/gzip-decoder.js';
import { isZstd } from '../gzip/zstd-frames.js';
import { OPEN_OBJECT, startsWithMark } from '../json/json-bytes.js';
import { JsonObject } from '../json/json-object.js';
import { LineFramer } from '../json/line-framer.js';
import { ObjectLines } from '../json/object-lines.js';
import type { CheckedLimits } from '../json/record-limits.js';
import { Activity } from '../post/activity.js';
import { IdNumber } from '../post/bytes/id-number.js';
import { leadingIdStart } from '../post/bytes/leading-id.js';
import { ShownIds } from '../post/bytes/shown-ids.js';
import { parseInStreamMessage } from '../post/in-stream-message.js';
import { matchesAtEnd } from '../post/matching-rules.js';
import type { PostKey } from '../post/post-keys.js';
import { matchRows, type RowRules } from './match-rows.js';
import { RowFields } from './row-fields.js';

/** The fields of each post that steps and sinks read. */
export interface Fields {
  readonly id: boolean;
  readonly tags: boolean;
  /** See `ShownIds`. */
  readonly shownIds?: boolean | undefined;
  readonly keys: readonly PostKey[];
  /** Rules that posts are matched against: the posts then have these in place of others. */
  readonly rules?: RowRules | undefined;
}

/** How a file becomes records. */
export interface Decoding {
  /** The options of `gunzip`; absent where the file is not to be inflated. */
  readonly gunzip?: InflateLimits | undefined;
  /** The limits of `jsonLines`. */
  readonly limits: CheckedLimits;
}

/** Maximum size of a file that is decoded as a whole, as it is stored. */
export const MAX_FILE_BYTES = 8 * 1024 * 1024;
/** Of a file that is decoded as a whole: each takes memory of the main thread. Files of posts have far fewer. */
export const MAX_POSTS = 256 * 1024;
/** Fields are made for posts of this size, and grow where they are smaller. */
const BYTES_A_POST = 2_048;

/** The posts of a file. */
export interface Decoded {
  /** The content of the file, inflated. */
  readonly bytes: Buffer;
  readonly fields: RowFields;
  /** Records that are messages in place of posts. */
  readonly messages: readonly Uint8Array[];
}

/** Inflates a whole file; gives nothing where it is damaged or too large. */
export type Inflate = (
  file: Buffer,
  maxBytes: number,
) => Buffer | undefined | Promise<Buffer | undefined>;

/**
 * Inflates a file, cuts it into records, and reads the wanted fields of each post: what `gunzip`,
 * `jsonLines`, `activities` and the steps after them do, `matchRules` included, by the same code. Gives `undefined` where
 * any of it fails or the file is too large: the stages themselves then process the file, and deliver
 * what comes before the error.
 *
 * @param file Its memory can be used again afterwards.
 */
export async function decodeFile(
  file: Buffer,
  { gunzip, limits }: Decoding,
  fields: Fields,
  inflate: Inflate,
): Promise<Decoded | undefined> {
  if (file.length > MAX_FILE_BYTES) return undefined;
  try {
    const bytes = gunzip === undefined ? copyOf(file) : await contentOf(file, gunzip, inflate);
    // The check of a job's files refuses a mark at the start, which `jsonLines` skips.
    if (bytes === undefined || startsWithMark(bytes)) return undefined;
    const { tags, rules } = fields;
    const read = rules === undefined ? fields : { ...fields, tags: false };
    const posts = cutLines(bytes, limits, read) ?? (await cutRecords(bytes, limits, read));
    if (rules === undefined) return posts;
    const { fields: found, messages } = posts;
    return { bytes: matchRows(posts.bytes, found, rules, tags), fields: found, messages };
  } catch {
    return undefined;
  }
}

function contentOf(file: Buffer, { plain, maxBytes }: InflateLimits, inflate: Inflate) {
  if (file.length === 0 || compressionOf(file) !== 'plain') return inflate(file, maxBytes);
  // A file of a few bytes may be the start of a zstd frame.
  const passes = plain === 'pass' && isZstd(file) === false && file.length <= maxBytes;
  return passes ? copyOf(file) : undefined;
}

/** The content of a file outlives `file`, and must not share the memory of Node's pool: it may be transferred. */
function copyOf(file: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(file.length);
  file.copy(copy);
  return copy;
}

/**
 * The posts of a file in which each line is an object and has an end, found with less work than by
 * `LineFramer`; `undefined` for other files.
 */
function cutLines(bytes: Buffer, limits: CheckedLimits, fields: Fields): Decoded | undefined {
  const posts = new Posts(bytes, fields);
  const lines = new ObjectLines('\n', limits);
  for (let from = 0; from < bytes.length; from = lines.next) {
    const count = lines.find(bytes, from, bytes.length);
    if (count === 0) return undefined;
    for (let index = 0; index < count; index++) posts.add(lines.startOf(index), lines.endOf(index));
  }
  return posts;
}

async function cutRecords(bytes: Buffer, limits: CheckedLimits, fields: Fields): Promise<Decoded> {
  const records: Buffer[] = [];
  const framer = new LineFramer('\n', limits, undefined);
  await framer.push(bytes, records);
  await framer.end(records);
  const posts = new Posts(bytes, fields);
  let end = 0;
  for (const { length } of records) {
    // The framer copies a last line that has no line end. Between records are only white space and commas.
    const start = bytes.indexOf(OPEN_OBJECT, end);
    end = start + length;
    posts.add(start, end);
  }
  return posts;
}

const number = new IdNumber();
/** Made once for all files of a thread. */
let shownIds: ShownIds | undefined;

class Posts implements Decoded {
  /**
   * V8 discards the optimised code for objects of a class where a garbage collection finds none of them, such as
   * between two files. One of each class stays.
   */
  static readonly staying: readonly unknown[] = [
    new Posts(Buffer.alloc(0), { id: true, tags: true, shownIds: true, keys: [] }),
    new Activity(Buffer.from('{}')),
    JsonObject.of(Buffer.from('{}')),
  ];
  readonly bytes: Buffer;
  readonly fields: RowFields;
  readonly messages: Uint8Array[] = [];
  readonly #wanted: Fields;

  constructor(bytes: Buffer, wanted: Fields) {
    this.bytes = bytes;
    this.fields = RowFields.ofSize(Math.ceil(bytes.length / BYTES_A_POST), wanted.keys);
    this.#wanted = wanted;
  }

  /** @throws RangeError where there are too many. */
  add(start: number, end: number): void {
    if (this.fields.count + this.messages.length === MAX_POSTS) throw new RangeError('Many posts');
    const idStart = leadingIdStart(this.bytes, start);
    // What starts with an id cannot be a message.
    if (idStart !== -1) this.#addPost(start, end, idStart);
    else this.#addOther(start, end);
  }

  /** A post as the service prints it. */
  #addPost(start: number, end: number, idStart: number): void {
    const { bytes, fields } = this;
    const row = fields.add(start, end - start);
    if (this.#wanted.id) {
      if (number.parseDigits(bytes, idStart)) fields.setId(row, number.high, number.low);
      else this.#setId(row, this.#activity(start, end));
    }
    if (this.#wanted.tags) {
      const matches = matchesAtEnd(bytes, start, end) ?? this.#activity(start, end);
      fields.setTags(row, matches.tags);
    }
    this.#addMore(row, start, end);
  }

  #addOther(start: number, end: number): void {
    const activity = this.#activity(start, end);
    if (parseInStreamMessage(activity.raw) !== undefined) {
      // A copy: a view takes all of its memory along to another thread.
      this.messages.push(new Uint8Array(activity.raw));
      return;
    }
    const row = this.fields.add(start, end - start);
    if (this.#wanted.id) this.#setId(row, activity);
    if (this.#wanted.tags) this.fields.setTags(row, activity.tags);
    this.#addMore(row, start, end, activity);
  }

  #addMore(row: number, start: number, end: number, activity?: Activity): void {
    const { keys, shownIds: hasIds } = this.#wanted;
    if (keys.length > 0) this.fields.setKeysOf(row, activity ?? this.#activity(start, end));
    if (hasIds !== true) return;
    shownIds ??= new ShownIds();
    shownIds.read(this.bytes, start, end);
    this.fields.setShownIds(row, shownIds);
  }

  #setId(row: number, { id }: Activity): void {
    if (number.parse(id)) this.fields.setId(row, number.high, number.low);
    else this.fields.otherIds.set(row, id);
  }

  #activity(start: number, end: number): Activity {
    return new Activity(this.bytes.subarray(start, end));
  }
}
