import { DataError } from '../base/errors.js';
import { isRecord } from '../base/record.js';
import { BACKSLASH, COLON, COMMA, isDigit, isOpening, MINUS, QUOTE } from '../json/byte-codes.js';
import { isLong, parseJson, quoteIntegers } from '../json/exact-ids.js';
import { excerpt } from '../json/excerpt.js';
import { jsonText } from '../json/json-text.js';
import type { ActivityStreamsPost } from './activity-streams-post.js';
import type { OriginalPost } from './original-post.js';

/**
 * Parses a post in either format and keeps its ids exact. The ids in known fields, and all other integers
 * with 16 digits or more, become strings.
 *
 * `JSON.parse` rounds long ids. Each id is therefore restored from its exact copy in a string member, such as
 * `id_str` for `id`. If some long number may not have been restored, all long numbers are put in quotes and
 * the text is parsed again. Most posts are parsed only once.
 *
 * @throws DataError If the bytes are not a JSON object.
 */
export function parsePost(bytes: Buffer): OriginalPost | ActivityStreamsPost {
  const text = jsonText(bytes);
  let post = parseJson(text, bytes);
  if (!isRecord(post))
    throw new DataError(`Not a post: expected a JSON object, got ${excerpt(bytes)}`);
  if (restoreIds(post) !== countLongIds(bytes)) {
    post = JSON.parse(quoteIntegers(text, isLong));
    if (isRecord(post)) restoreIds(post);
  }
  return post as unknown as OriginalPost | ActivityStreamsPost;
}

type Fields = Record<string, unknown>;

/** The smallest number that has 16 digits. */
const LONG = 1e15;

/**
 * Replaces the ids in a post with the exact strings of their `_str` members, such as `id_str`. Returns how
 * many of these ids were numbers of 16 digits or more, or `NaN` if such a number has no `_str` member.
 */
function restoreIds(post: Fields): number {
  let restored = restoreText(post) + restoreEach(post.matching_rules);
  if (post.id !== undefined) {
    restored += countRestored(post.id, post.id_str);
    post.id = exactId(post.id, post.id_str);
  }
  if (post.in_reply_to_status_id !== undefined) {
    restored += countRestored(post.in_reply_to_status_id, post.in_reply_to_status_id_str);
    post.in_reply_to_status_id = exactId(
      post.in_reply_to_status_id,
      post.in_reply_to_status_id_str,
    );
  }
  if (post.in_reply_to_user_id !== undefined) {
    restored += countRestored(post.in_reply_to_user_id, post.in_reply_to_user_id_str);
    post.in_reply_to_user_id = exactId(post.in_reply_to_user_id, post.in_reply_to_user_id_str);
  }
  if (post.quoted_status_id !== undefined) {
    restored += countRestored(post.quoted_status_id, post.quoted_status_id_str);
    post.quoted_status_id = exactId(post.quoted_status_id, post.quoted_status_id_str);
  }
  if (isRecord(post.user)) restored += restoreFields(post.user);
  if (isRecord(post.gnip)) restored += restoreEach(post.gnip.matching_rules);
  if (isRecord(post.extended_tweet)) restored += restoreText(post.extended_tweet);
  if (isRecord(post.long_object)) restored += restoreText(post.long_object);
  if (isRecord(post.retweeted_status)) restored += restoreIds(post.retweeted_status);
  if (isRecord(post.quoted_status)) restored += restoreIds(post.quoted_status);
  if (isRecord(post.object)) restored += restoreIds(post.object);
  if (isRecord(post.twitter_quoted_status)) restored += restoreIds(post.twitter_quoted_status);
  return restored;
}

function restoreText(post: Fields): number {
  return (
    restoreEntities(post.entities) +
    restoreEntities(post.extended_entities) +
    restoreEntities(post.twitter_entities) +
    restoreEntities(post.twitter_extended_entities)
  );
}

function restoreEntities(entities: unknown): number {
  if (!isRecord(entities)) return 0;
  return restoreEach(entities.user_mentions) + restoreEach(entities.media);
}

function restoreEach(values: unknown): number {
  let restored = 0;
  if (Array.isArray(values))
    for (const value of values) if (isRecord(value)) restored += restoreFields(value);
  return restored;
}

function restoreFields(fields: Fields): number {
  let restored = 0;
  if (fields.id !== undefined) {
    restored += countRestored(fields.id, fields.id_str);
    fields.id = exactId(fields.id, fields.id_str);
  }
  if (fields.source_status_id !== undefined) {
    restored += countRestored(fields.source_status_id, fields.source_status_id_str);
    fields.source_status_id = exactId(fields.source_status_id, fields.source_status_id_str);
  }
  if (fields.source_user_id !== undefined) {
    restored += countRestored(fields.source_user_id, fields.source_user_id_str);
    fields.source_user_id = exactId(fields.source_user_id, fields.source_user_id_str);
  }
  return restored;
}

function countRestored(id: unknown, twin: unknown): number {
  if (typeof id !== 'number' || (id < LONG && id > -LONG)) return 0;
  return typeof twin === 'string' ? 1 : Number.NaN;
}

/** Returns the exact id: `twin` (the member with `_str`) if it is a string, otherwise `id`. */
export function exactId(id: unknown, twin: unknown): unknown {
  if (typeof id !== 'number' && typeof id !== 'string') return id;
  return typeof twin === 'string' ? twin : String(id);
}

const DOT = 0x2e;
const E = 0x65;

const LONG_DIGITS = 16;

/**
 * Counts the integers of 16 digits or more that are values of keys in a JSON document, without parsing it.
 * The bytes around the digits tell whether they are a number or a part of a string. Returns -1 if this is
 * unclear.
 *
 * Reads only every 16th byte, because 16 adjacent digits always include one of these bytes.
 */
export function countLongIds(json: Uint8Array): number {
  const { length } = json;
  let count = 0;
  for (let probe = LONG_DIGITS - 1; probe < length; probe += LONG_DIGITS) {
    // If the probed byte is one of 16 adjacent digits, at least 8 of the others are before it, or at least 8
    // are after it. Therefore, the byte 8 positions before it or 8 positions after it is a digit. Most probes
    // fail this check.
    if (!isDigit(json[probe])) continue;
    if (!isDigit(json[probe - 8]) && !(probe + 8 < length && isDigit(json[probe + 8]))) continue;
    let start = probe;
    while (start > 0 && isDigit(json[start - 1])) start--;
    const role = start < 3 ? 'doubtful' : roleOf(json, start);
    if (role === 'string') continue;
    let end = probe + 1;
    while (end < length && isDigit(json[end])) end++;
    if (end - start < LONG_DIGITS) continue;
    if (role === 'doubtful' || end === length || isFraction(json[end])) return -1;
    count++;
    probe += (end - 1 - probe) & -LONG_DIGITS;
  }
  return count;
}

/**
 * Tells whether the digits at this position are the value of a key or a part of a string. `doubtful` if they
 * may be either.
 */
function roleOf(json: Uint8Array, start: number): 'value' | 'string' | 'doubtful' {
  const before = json[start - 1];
  if (before === MINUS) return mayPrecedeValue(json[start - 2]) ? 'doubtful' : 'string';
  // A number cannot start directly after a quote, a letter or a slash.
  if (before !== COLON) return mayPrecedeValue(before) ? 'doubtful' : 'string';
  const quote = json[start - 2];
  // A colon outside of a string always follows a key.
  if (quote !== QUOTE) return mayPrecedeValue(quote) ? 'doubtful' : 'string';
  const last = json[start - 3];
  // After any of these bytes, the quote may open a string or be escaped, so the colon may be inside a string.
  // After any other byte, the quote closes a string, which is a key because a colon follows it.
  return last === QUOTE || last === BACKSLASH || mayPrecedeValue(last) ? 'doubtful' : 'value';
}

/**
 * Whether a value can begin right after this byte: white space, a comma, a colon, an opening bracket or an
 * opening brace.
 */
function mayPrecedeValue(byte: number | undefined): boolean {
  return byte === undefined || byte <= 0x20 || byte === COMMA || byte === COLON || isOpening(byte);
}

function isFraction(byte: number | undefined): boolean {
  return byte === DOT || byte === E || byte === E - 0x20;
}
