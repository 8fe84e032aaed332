import { DataError } from '../errors.js';
import { isRecord } from '../is-record.js';
import { isLong, parseJson, quoteIntegers } from '../json/exact-json.js';
import { excerpt } from '../json/excerpt.js';
import { jsonText } from '../json/json-text.js';
import type { ActivityStreamsPost } from './activity-streams-post.js';
import { countLongIds } from './count-long-ids.js';
import type { OriginalPost } from './original-post.js';

/**
 * Parses a post of either format with exact ids: ids in known fields, and all other integers of 16 or
 * more digits, become strings.
 *
 * JSON.parse rounds long ids; the `id_str` twin restores each. The long numbers in the bytes are
 * counted: if twins did not restore all of them, or the count is uncertain, the numbers are quoted
 * and the text is parsed again. This is nearly as fast as `JSON.parse`. Assumes that ids are
 * integers.
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

/** An object within a parsed post, with any members. */
type Fields = Record<string, unknown>;

/** The smallest number of 16 digits. */
const LONG = 1e15;

/** An id beside its text. */
const twinsOf = (...keys: readonly string[]) => keys.map(key => ({ key, twin: `${key}_str` }));
const POST_IDS = twinsOf('id', 'in_reply_to_status_id', 'in_reply_to_user_id', 'quoted_status_id');
const OTHER_IDS = twinsOf('id', 'source_status_id', 'source_user_id');

/** Restores ids in place. Returns the number of long ids with a twin, or `NaN` if one has none. */
function restoreIds(post: Fields): number {
  let restored = restoreText(post) + restoreEach(post.matching_rules) + restore(post, POST_IDS);
  if (isRecord(post.user)) restored += restore(post.user, OTHER_IDS);
  if (isRecord(post.gnip)) restored += restoreEach(post.gnip.matching_rules);
  if (isRecord(post.extended_tweet)) restored += restoreText(post.extended_tweet);
  if (isRecord(post.long_object)) restored += restoreText(post.long_object);
  if (isRecord(post.retweeted_status)) restored += restoreIds(post.retweeted_status);
  if (isRecord(post.quoted_status)) restored += restoreIds(post.quoted_status);
  if (isRecord(post.object)) restored += restoreIds(post.object);
  if (isRecord(post.twitter_quoted_status)) restored += restoreIds(post.twitter_quoted_status);
  return restored;
}

/** The entities of a post or of its long text. */
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
    for (const value of values) if (isRecord(value)) restored += restore(value, OTHER_IDS);
  return restored;
}

function restore(fields: Fields, ids: typeof POST_IDS): number {
  let restored = 0;
  for (const { key, twin } of ids) {
    const id = fields[key];
    if (id === undefined) continue;
    restored += countRestored(id, fields[twin]);
    fields[key] = exactId(id, fields[twin]);
  }
  return restored;
}

/** 1 for a long number with a twin, `NaN` for one without. */
function countRestored(id: unknown, twin: unknown): number {
  if (typeof id !== 'number' || (id < LONG && id > -LONG)) return 0;
  return typeof twin === 'string' ? 1 : Number.NaN;
}

/** An id with all of its digits, by the text beside it. */
export function exactId(id: unknown, twin: unknown): unknown {
  if (typeof id !== 'number' && typeof id !== 'string') return id;
  return typeof twin === 'string' ? twin : String(id);
}
