import { DataError } from '../base/errors.js';
import { isRecord } from '../base/record.js';
import { bufferOf } from '../json/byte-codes.js';
import { parseExact } from '../json/exact-ids.js';
import { excerpt } from '../json/excerpt.js';
import { parseIsoTime } from './posted-at.js';

/** The members that every event has. */
interface EventCommon {
  /** When the event happened. `undefined` if it has no valid time. */
  readonly at: Date | undefined;
  /** The exact bytes of the event, as received. */
  readonly raw: Buffer;
}

/** A post was deleted, dropped or undropped, or lost a like. */
export interface PostEvent extends EventCommon {
  /** `delete` is permanent. `undrop` reverts a `drop`. `favorite_delete` means that a like was removed. */
  readonly kind: 'delete' | 'drop' | 'undrop' | 'favorite_delete';
  readonly postId: string;
  /** The author of the post. For `favorite_delete`, the user whose like was removed. */
  readonly userId: string | undefined;
}

/** A post must not be shown in some countries. */
export interface PostWithheldEvent extends EventCommon {
  readonly kind: 'status_withheld';
  readonly postId: string;
  readonly userId: string | undefined;
  /**
   * The countries, as two-letter codes in upper case. `XX` means all countries. `XY` means all countries,
   * because of a DMCA request.
   */
  readonly countries: readonly string[];
}

/** A post was edited. The new version has a new id. */
export interface PostEditEvent extends EventCommon {
  readonly kind: 'tweet_edit';
  /** The id of the new version. */
  readonly postId: string;
  readonly initialId: string | undefined;
  /** The ids of all versions, in ascending order. */
  readonly ids: readonly string[];
}

/**
 * The account of a user was deleted, protected or suspended, or one of these was reverted. This affects all
 * posts of the user.
 */
export interface UserEvent extends EventCommon {
  readonly kind:
    | 'user_delete'
    | 'user_undelete'
    | 'user_protect'
    | 'user_unprotect'
    | 'user_suspend'
    | 'user_unsuspend';
  readonly userId: string;
}

/** The posts of a user must not be shown in some countries. */
export interface UserWithheldEvent extends EventCommon {
  readonly kind: 'user_withheld';
  readonly userId: string;
  /** The countries, in the same notation as in `status_withheld`. */
  readonly countries: readonly string[];
}

/** A user removed the locations from all posts up to a certain post. */
export interface ScrubGeoEvent extends EventCommon {
  readonly kind: 'scrub_geo';
  readonly userId: string;
  /** The id of the newest post that is affected. */
  readonly upToId: string;
}

/**
 * An event of an unknown kind, or an event of a known kind that lacks a required field. This is not an error,
 * because new kinds may appear.
 */
export interface UnknownEvent extends EventCommon {
  readonly kind: 'unknown';
  /** The name of the event, such as `user_profile_update` or `delete.list`. */
  readonly name: string;
}

/** One message of the compliance stream. Ids are strings of digits. */
export type ComplianceEvent =
  | PostEvent
  | PostWithheldEvent
  | PostEditEvent
  | UserEvent
  | UserWithheldEvent
  | ScrubGeoEvent
  | UnknownEvent;

type Fields = Readonly<Record<string, unknown>>;

type EventFields<E = ComplianceEvent> = E extends ComplianceEvent
  ? Omit<E, keyof EventCommon>
  : never;

const USER_KINDS: ReadonlySet<string> = new Set<UserEvent['kind']>([
  'user_delete',
  'user_undelete',
  'user_protect',
  'user_unprotect',
  'user_suspend',
  'user_unsuspend',
]);

/**
 * Parses one message of the compliance stream. Reads both the current notation, such as `{"delete":{...}}`,
 * and the Activity Streams notation of earlier messages, such as `{"verb":"delete",...}`. Ids keep all of
 * their digits. Returns an `UnknownEvent` for an event of an unknown kind.
 *
 * @throws DataError If the document is not a JSON object.
 * @example
 * const event = parseComplianceEvent(line);
 * if (event.kind === 'delete') console.log(event.postId);
 */
export function parseComplianceEvent(document: Uint8Array): ComplianceEvent {
  const raw = bufferOf(document);
  const root = objectOf(parseExact(raw));
  if (root === undefined)
    throw new DataError(`Not a compliance event: expected an object, got ${excerpt(raw)}`);
  const first = Object.keys(root)[0] ?? '';
  const inside = typeof root.verb === 'string' ? undefined : objectOf(root[first]);
  const parsed = inside === undefined ? activityEvent(root) : streamEvent(first, inside);
  const name = typeof root.verb === 'string' ? root.verb : first;
  const at = timeOf(inside ?? root);
  return { ...(parsed ?? { kind: 'unknown', name: nameOf(name, inside) }), at, raw };
}

export function isComplianceEvent(item: unknown): item is ComplianceEvent {
  return isRecord(item) && typeof item.kind === 'string' && item.raw instanceof Uint8Array;
}

/** Parses an event such as `{"delete":{"status":{...},"timestamp_ms":"..."}}`. */
function streamEvent(name: string, fields: Fields): EventFields | undefined {
  const status = objectOf(fields.status);
  const favorite = objectOf(fields.favorite);
  const about = status ?? favorite ?? objectOf(fields.user) ?? fields;
  const id = idIn(about, 'id');
  const userId = idIn(about, 'user_id');
  if (name === 'delete' && status === undefined) {
    if (id === undefined || favorite === undefined) return undefined;
    return { kind: 'favorite_delete', postId: id, userId };
  }
  if (name === 'tweet_edit') return id === undefined ? undefined : editEvent(id, fields);
  return eventOf(name, {
    id,
    userId,
    countries: countriesIn(fields) ?? countriesIn(about),
    upToId: idIn(fields, 'up_to_status_id'),
  });
}

/** Parses an event such as `{"verb":"delete","object":{"id":"tag:..."},...}`. */
function activityEvent(root: Fields): EventFields | undefined {
  const object = objectOf(root.object) ?? {};
  return eventOf(String(root.verb), {
    id: lastDigits(object.id),
    userId: lastDigits(objectOf(root.actor)?.id) ?? lastDigits(object.user_id),
    countries: countriesIn(root) ?? countriesIn(object),
    upToId: lastDigits(objectOf(root.target)?.up_to_id),
  });
}

interface EventParts {
  /** The id of the post or user that the event is about. */
  readonly id: string | undefined;
  readonly userId: string | undefined;
  readonly countries: readonly string[] | undefined;
  readonly upToId: string | undefined;
}

/**
 * Creates an event from its name and from the parts that `streamEvent` or `activityEvent` has read. Returns
 * `undefined` if a required part is missing.
 */
function eventOf(
  name: string,
  { id, userId, countries, upToId }: EventParts,
): EventFields | undefined {
  if (name === 'scrub_geo') {
    if (userId === undefined || upToId === undefined) return undefined;
    return { kind: name, userId, upToId };
  }
  if (id === undefined) return undefined;
  switch (name) {
    case 'delete':
    case 'drop':
    case 'undrop':
      return { kind: name, postId: id, userId };
    case 'status_withheld':
      return countries && { kind: name, postId: id, userId, countries };
    case 'user_withheld':
      return countries && { kind: name, userId: id, countries };
    default:
      return USER_KINDS.has(name) ? { kind: name as UserEvent['kind'], userId: id } : undefined;
  }
}

function editEvent(postId: string, fields: Fields): EventFields {
  const listed = Array.isArray(fields.edit_tweet_ids) ? fields.edit_tweet_ids : [];
  const ids = listed.map(lastDigits).filter(id => id !== undefined);
  const initialId = idIn(fields, 'initial_tweet_id');
  return { kind: 'tweet_edit', postId, initialId, ids };
}

function nameOf(name: string, inside: Fields | undefined): string {
  const inner = name === 'delete' && inside !== undefined ? Object.keys(inside)[0] : undefined;
  return inner === undefined ? name : `${name}.${inner}`;
}

/** Reads an exact id. Prefers the member with `_str`, because the number may already have been rounded. */
function idIn(fields: Fields, key: string): string | undefined {
  return lastDigits(fields[`${key}_str`]) ?? lastDigits(fields[key]);
}

/**
 * Returns the digits at the end of an id, which may look like `tag:search.twitter.com,2012:user/1602954684`.
 */
function lastDigits(value: unknown): string | undefined {
  return typeof value === 'string' ? /(?:^|[:/])(\d+)$/.exec(value)?.[1] : undefined;
}

function countriesIn({ withheld_in_countries: listed }: Fields): readonly string[] | undefined {
  if (!Array.isArray(listed)) return undefined;
  return listed.filter(code => typeof code === 'string').map(code => code.toUpperCase());
}

/** Parses the time of an event, in epoch milliseconds or ISO 8601. The member has one of two names. */
function timeOf({ timestamp_ms: stamp, timestampMs: other }: Fields): Date | undefined {
  const text = String(stamp ?? other ?? '');
  const ms = /^\d+$/.test(text) ? Number(text) : parseIsoTime(text);
  const at = new Date(ms);
  return Number.isNaN(at.getTime()) ? undefined : at;
}

function objectOf(value: unknown): Fields | undefined {
  return isRecord(value) ? value : undefined;
}
