import { DataError } from '../errors.js';
import { bufferOf } from '../json/decode-utf8.js';
import { parseExact } from '../json/exact-json.js';
import { excerpt } from '../json/excerpt.js';
import { parseIsoTime } from './posted-at.js';

/** What every event has. */
interface EventCommon {
  /** When it happened, as the event says. */
  readonly at: Date | undefined;
  /** The exact bytes that came. */
  readonly raw: Buffer;
}

/** Something happened to one post. */
export interface PostEvent extends EventCommon {
  /** `delete` is for good; `undrop` takes a `drop` back; `favorite_delete` is a like taken back. */
  readonly kind: 'delete' | 'drop' | 'undrop' | 'favorite_delete';
  readonly postId: string;
  /** The post's author, or who had liked it. */
  readonly userId: string | undefined;
}

/** A post is not to be shown in some countries. */
export interface PostWithheldEvent extends EventCommon {
  readonly kind: 'status_withheld';
  readonly postId: string;
  readonly userId: string | undefined;
  /** Two letters each, upper case. `XX` stands for all countries, `XY` for all after a DMCA request. */
  readonly countries: readonly string[];
}

/** There is a new version of a post, with an id of its own. */
export interface PostEditEvent extends EventCommon {
  readonly kind: 'tweet_edit';
  /** Of the new version. */
  readonly postId: string;
  readonly initialId: string | undefined;
  /** Of all versions, ascending. */
  readonly ids: readonly string[];
}

/** Something happened to a user, and so to all posts of theirs. */
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

/** All posts of a user are not to be shown in some countries. */
export interface UserWithheldEvent extends EventCommon {
  readonly kind: 'user_withheld';
  readonly userId: string;
  /** As in `status_withheld`. */
  readonly countries: readonly string[];
}

/** A user took the places off their posts, up to one of them. */
export interface ScrubGeoEvent extends EventCommon {
  readonly kind: 'scrub_geo';
  readonly userId: string;
  /** Of the newest post that is meant. */
  readonly upToId: string;
}

/** A kind that Millrace does not know, or a known one that lacks what makes it one. */
export interface UnknownEvent extends EventCommon {
  readonly kind: 'unknown';
  /** The event's own name, such as `user_profile_update` or `delete.list`. */
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

/** What is left of an event once its time and bytes are told. */
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
 * The event that a document is: in the shapes of the stream, with ids and their `_str` twins, and in
 * the activity streams shapes of its first version. An unknown kind is not an error.
 *
 * @throws DataError when the document is not a JSON object.
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
  const told = inside === undefined ? activityEvent(root) : streamEvent(first, inside);
  const name = typeof root.verb === 'string' ? root.verb : first;
  const at = timeOf(inside ?? root);
  return { ...(told ?? { kind: 'unknown', name: nameOf(name, inside) }), at, raw };
}

/** `{"delete":{"status":{...},"timestamp_ms":"..."}}` and the like. */
function streamEvent(name: string, fields: Fields): EventFields | undefined {
  const status = objectOf(fields.status);
  const about = status ?? objectOf(fields.favorite) ?? objectOf(fields.user) ?? fields;
  const id = idIn(about, 'id');
  const userId = idIn(about, 'user_id');
  const countries = countriesIn(fields) ?? countriesIn(about);
  switch (name) {
    case 'delete':
      if (id === undefined) return undefined;
      if (status !== undefined) return { kind: 'delete', postId: id, userId };
      if (objectOf(fields.favorite) === undefined) return undefined;
      return { kind: 'favorite_delete', postId: id, userId };
    case 'drop':
    case 'undrop':
      return id === undefined ? undefined : { kind: name, postId: id, userId };
    case 'status_withheld':
      if (id === undefined || countries === undefined) return undefined;
      return { kind: name, postId: id, userId, countries };
    case 'tweet_edit':
      return id === undefined ? undefined : editEvent(id, fields);
    case 'scrub_geo': {
      const upToId = idIn(fields, 'up_to_status_id');
      if (userId === undefined || upToId === undefined) return undefined;
      return { kind: name, userId, upToId };
    }
    case 'user_withheld':
      if (id === undefined || countries === undefined) return undefined;
      return { kind: name, userId: id, countries };
    default:
      return userEvent(name, id);
  }
}

/** `{"verb":"delete","object":{"id":"tag:..."},...}` and the like. */
function activityEvent(root: Fields): EventFields | undefined {
  const object = objectOf(root.object) ?? {};
  const id = lastDigits(object.id);
  const userId = lastDigits(objectOf(root.actor)?.id) ?? lastDigits(object.user_id);
  const countries = countriesIn(root) ?? countriesIn(object);
  switch (root.verb) {
    case 'delete':
    case 'drop':
    case 'undrop':
      return id === undefined ? undefined : { kind: root.verb, postId: id, userId };
    case 'status_withheld':
      if (id === undefined || countries === undefined) return undefined;
      return { kind: root.verb, postId: id, userId, countries };
    case 'scrub_geo': {
      const upToId = lastDigits(objectOf(root.target)?.up_to_id);
      if (userId === undefined || upToId === undefined) return undefined;
      return { kind: root.verb, userId, upToId };
    }
    case 'user_withheld':
      if (id === undefined || countries === undefined) return undefined;
      return { kind: root.verb, userId: id, countries };
    default:
      return userEvent(String(root.verb), id);
  }
}

function userEvent(name: string, userId: string | undefined): EventFields | undefined {
  if (userId === undefined || !USER_KINDS.has(name)) return undefined;
  return { kind: name as UserEvent['kind'], userId };
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

/** An exact id: the twin that is a string first, as the number may have been rounded before us. */
function idIn(fields: Fields, key: string): string | undefined {
  return lastDigits(fields[`${key}_str`]) ?? lastDigits(fields[key]);
}

/** The digits that an id ends with: `tag:search.twitter.com,2012:user/1602954684` is one, too. */
function lastDigits(value: unknown): string | undefined {
  return typeof value === 'string' ? /(?:^|[:/])(\d+)$/.exec(value)?.[1] : undefined;
}

function countriesIn({ withheld_in_countries: listed }: Fields): readonly string[] | undefined {
  if (!Array.isArray(listed)) return undefined;
  return listed.filter(code => typeof code === 'string').map(code => code.toUpperCase());
}

/** Epoch milliseconds or ISO 8601, under either name. */
function timeOf({ timestamp_ms: stamp, timestampMs: other }: Fields): Date | undefined {
  const text = String(stamp ?? other ?? '');
  const ms = /^\d+$/.test(text) ? Number(text) : parseIsoTime(text);
  const at = new Date(ms);
  return Number.isNaN(at.getTime()) ? undefined : at;
}

function objectOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : undefined;
}
