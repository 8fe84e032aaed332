import { Activity } from '../activity/activity.js';
import { DataError } from '../errors.js';
import { excerpt } from '../json/excerpt.js';
import { CLOSE_OBJECT, isSpace } from '../json/json-bytes.js';
import { ValueEnd } from '../json/value-end.js';

/** As of records of other sources by default. */
const MAX_DEPTH = 3_000;

/**
 * The post that a payload is. What comes behind the reader does not know which message it was, so a payload that is
 * not one JSON object with an id is refused here.
 *
 * @param isOurs Whether `toJetStream` sent it, which had it from a source: then only the id and the end are read.
 * @throws DataError
 */
export function postOf(payload: Buffer, isOurs: boolean): Activity {
  const post = new Activity(payload);
  // Reads it, which need not read the rest.
  void post.id;
  if (!isOurs) mustBeOneObject(payload);
  let end = payload.length;
  while (isSpace(payload[end - 1] as number)) end--;
  if (payload[end - 1] === CLOSE_OBJECT) return post;
  throw new DataError(`A post is cut: it ends with ${excerpt(payload.subarray(-40))}`);
}

/** Not by `JSON.parse`: what it makes of a large message can fill the heap. */
function mustBeOneObject(payload: Buffer): void {
  const fail = (_: string, byteOffset: number) =>
    new DataError(`A message is not one JSON object: it starts with ${excerpt(payload)}`, {
      position: { byteOffset },
    });
  const value = new ValueEnd(MAX_DEPTH, fail);
  let end = value.find(
    payload,
    payload.findIndex(byte => !isSpace(byte)),
  );
  while (end < payload.length && isSpace(payload[end] as number)) end++;
  if (value.open || end < payload.length) throw fail('', end);
}
