import { DataError } from '../base/errors.js';
import { isRecord } from '../base/record.js';
import type { Window } from '../base/time.js';
import { bufferOf, isTextAt } from '../json/byte-codes.js';
import { parseExact } from '../json/exact-ids.js';
import { excerpt } from '../json/excerpt.js';
import { LazyObject } from '../json/lazy-object.js';
import { parseIsoTime } from './posted-at.js';

/**
 * A message between or after the activities of a stream or job file: an end, an error, a warning or a notice.
 */
export type InStreamMessage = InfoMessage | NoticeMessage;

/** The message at the end of a replay. It is also the last line of every job file. */
export interface InfoMessage {
  readonly kind: 'info';
  readonly message: string;
  /** The outcome of a replay, if `message` states one. Otherwise `undefined`, for example in a job file. */
  readonly outcome: 'completed' | 'completed_with_errors' | 'failed' | undefined;
  readonly sent: Date | undefined;
  /** The number of activities that were sent. */
  readonly activityCount: number | undefined;
  /** The minutes to request again, each as its start in epoch milliseconds. */
  readonly minutesFailed: readonly number[];
  /** The span of time from which nothing was sent. */
  readonly unprocessedRange: Window | undefined;
}

/**
 * A notice between posts (such as a limit, a deletion or withheld content), a warning, or an error. After an
 * error, the service disconnects. `message` is the message of the service. For a notice without a message, it
 * is the content of the notice as JSON.
 */
export interface NoticeMessage {
  readonly kind: Exclude<(typeof MESSAGE_KEYS)[number], 'info'>;
  readonly message: string;
  readonly sent: Date | undefined;
}

const OUTCOMES: ReadonlyMap<string, NonNullable<InfoMessage['outcome']>> = new Map([
  ['Replay Request Completed', 'completed'],
  ['Replay Request Completed with Errors', 'completed_with_errors'],
  ['Replay Request Failed to Complete', 'failed'],
]);

const CONNECTION_KEYS = ['info', 'error', 'warn'] as const;
const MESSAGE_KEYS = [
  ...CONNECTION_KEYS,
  ...(['limit', 'warning', 'disconnect', 'delete', 'scrub_geo'] as const),
  ...(['status_withheld', 'user_withheld'] as const),
] as const;

/**
 * Keys of posts at the top level. If the first known key of a document is one of these, the document is a
 * post.
 */
const POST_KEYS = [
  ...['created_at', 'id', 'id_str', 'text', 'retweet_count', 'favorite_count', 'user', 'entities'],
  ...['objectType', 'verb', 'postedTime', 'object', 'body', 'actor', 'gnip'],
];

const KEYS: readonly string[] = [...MESSAGE_KEYS, ...POST_KEYS];
const KEYS_OF_CONNECTION: readonly string[] = [...CONNECTION_KEYS, ...POST_KEYS];

const POST_STARTS = ['{"created_at":', '{"id":'].map(text => Buffer.from(text));

/**
 * Parses a message of a stream or a job file. Returns `undefined` for a post or any other document. A message
 * has a top-level key `info`, `error` or `warn`, or the key of a notice, such as `limit` or `delete`. This is
 * fast for posts, because it reads only their first keys.
 *
 * @throws DataError If the document is not JSON up to that key, or a time in an `info` message is invalid.
 * @example
 * parseInStreamMessage(line)?.kind // 'info' for the last line of a job file
 */
export function parseInStreamMessage(document: Uint8Array): InStreamMessage | undefined {
  return parseMessage(document, KEYS);
}

/** Like `parseInStreamMessage`, but without notices. In a compliance stream, notices are events. */
export function parseConnectionMessage(document: Uint8Array): InStreamMessage | undefined {
  return parseMessage(document, KEYS_OF_CONNECTION);
}

function parseMessage(document: Uint8Array, keys: readonly string[]): InStreamMessage | undefined {
  const bytes = bufferOf(document);
  if (POST_STARTS.some(start => isTextAt(bytes, start, 0))) return undefined;
  const fields = LazyObject.of(bytes);
  const first = fields?.firstOf(keys);
  const kind = MESSAGE_KEYS.find(key => key === first);
  const span = kind === undefined ? undefined : fields?.span(kind);
  if (kind === undefined || span === undefined) return undefined;
  return messageOf(kind, parseExact(bytes.subarray(...span)), bytes);
}

type Fields = Readonly<Record<string, unknown>>;

function messageOf(
  kind: InStreamMessage['kind'],
  value: unknown,
  document: Buffer,
): InStreamMessage {
  const fields: Fields = isRecord(value) ? value : { message: value };
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
    unprocessedRange: isRecord(range)
      ? { from: instant(range.fromDate), to: instant(range.toDate) }
      : undefined,
  };
}
