import { DataError } from '../errors.js';
import { bufferOf } from '../json/decode-utf8.js';
import { parseExact } from '../json/exact-json.js';
import { excerpt } from '../json/excerpt.js';
import { JsonObject } from '../json/json-object.js';
import type { Window } from '../time.js';
import { parseIsoTime } from './posted-at.js';

/** What a stream or a job file carries between and after its activities. */
export type InStreamMessage = InfoMessage | NoticeMessage;

/** The end of a replay, and the last line of every job file. */
export interface InfoMessage {
  readonly kind: 'info';
  readonly message: string;
  /** What `message` says of the request; `undefined` for a message of another kind. */
  readonly outcome: 'completed' | 'completed_with_errors' | 'failed' | undefined;
  readonly sent: Date | undefined;
  /** Activities sent. */
  readonly activityCount: number | undefined;
  /** Starts of the minutes to ask for again, epoch milliseconds. */
  readonly minutesFailed: readonly number[];
  /** What was not sent at all. */
  readonly unprocessedRange: Window | undefined;
}

/** A problem of the stream, present or announced. */
export interface NoticeMessage {
  readonly kind: 'error' | 'warn';
  readonly message: string;
  readonly sent: Date | undefined;
}

const OUTCOMES: ReadonlyMap<string, NonNullable<InfoMessage['outcome']>> = new Map([
  ['Replay Request Completed', 'completed'],
  ['Replay Request Completed with Errors', 'completed_with_errors'],
  ['Replay Request Failed to Complete', 'failed'],
]);

const MESSAGE_KEYS = ['info', 'error', 'warn'] as const;

/** Found first in a post, in one order of members or another, so that a post is told by its start. */
const POST_KEYS = [
  ...['created_at', 'id', 'id_str', 'text', 'retweet_count', 'favorite_count', 'user', 'entities'],
  ...['objectType', 'verb', 'postedTime', 'object', 'body', 'actor', 'gnip'],
];

const KEYS: readonly string[] = [...MESSAGE_KEYS, ...POST_KEYS];

/** How the service begins its posts, in either format. */
const BEGINNINGS = ['{"created_at":', '{"id":'].map(text => Buffer.from(text));

/**
 * The message that a document is, or `undefined` when it is none: told by its own top-level key,
 * `info`, `error` or `warn`, whatever a post may say in its text. Costs a post a look at its first
 * key, or few.
 *
 * @throws DataError when the document is not JSON up to that key, or a message has bad times.
 * @example
 * parseInStreamMessage(line)?.kind // 'info' for the last line of a job file
 */
export function parseInStreamMessage(document: Uint8Array): InStreamMessage | undefined {
  const bytes = bufferOf(document);
  if (BEGINNINGS.some(beginning => startsWith(bytes, beginning))) return undefined;
  const fields = JsonObject.of(bytes);
  const first = fields?.firstOf(KEYS);
  const kind = MESSAGE_KEYS.find(key => key === first);
  const span = kind === undefined ? undefined : fields?.span(kind);
  if (kind === undefined || span === undefined) return undefined;
  return messageOf(kind, parseExact(bytes.subarray(...span)), bytes);
}

function startsWith(bytes: Buffer, beginning: Buffer): boolean {
  for (let at = 0; at < beginning.length; at++) if (bytes[at] !== beginning[at]) return false;
  return true;
}

type Fields = Readonly<Record<string, unknown>>;

function messageOf(
  kind: (typeof MESSAGE_KEYS)[number],
  value: unknown,
  document: Buffer,
): InStreamMessage {
  const fields: Fields = isFields(value) ? value : { message: value };
  const message =
    typeof fields.message === 'string' ? fields.message : JSON.stringify(fields.message ?? value);
  const sent = typeof fields.sent === 'string' ? parseIsoTime(fields.sent) : Number.NaN;
  const notice = { message, sent: Number.isNaN(sent) ? undefined : new Date(sent) };
  if (kind !== 'info') return { kind, ...notice };

  const instant = (time: unknown): number => {
    const ms = typeof time === 'string' ? parseIsoTime(time) : Number.NaN;
    if (Number.isNaN(ms))
      throw new DataError(`Not a time in an info message: ${excerpt(document)}`);
    return ms;
  };
  const { activity_count: count, minutes_failed: failed, unprocessed_range: range } = fields;
  return {
    kind,
    ...notice,
    outcome: OUTCOMES.get(message),
    activityCount: typeof count === 'number' ? count : undefined,
    minutesFailed: Array.isArray(failed) ? failed.map(instant) : [],
    unprocessedRange: isFields(range)
      ? { from: instant(range.fromDate), to: instant(range.toDate) }
      : undefined,
  };
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
