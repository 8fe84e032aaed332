import { Activity } from '../activity/activity.js';
import { formatSent } from '../time.js';
import { type HiddenReason, type VisibilityOptions, visibilityOf } from './judge.js';
import type { Tombstones } from './tombstones.js';

/** Options of `withoutDeleted`. */
export interface RedactOptions extends VisibilityOptions {
  /**
   * Leave something in the place of a hidden post: its id, its time, its author's id, the rules that
   * it matched and why it is hidden, without a word of it.
   * @default false: it is left out
   */
  readonly mask?: boolean | undefined;
}

/** What is left of a post. */
export interface Redacted {
  /** The very same one where nothing had to go; absent where all of it had to. */
  readonly activity: Activity | undefined;
  readonly hidden: HiddenReason | undefined;
  readonly changed: boolean;
}

const NULL = Buffer.from('null');

/** A post without what tombstones forbid. What may stay keeps its bytes. */
export function redact(
  tombstones: Tombstones,
  activity: Activity,
  options: RedactOptions = {},
): Redacted {
  const { hidden, cleared } = visibilityOf(tombstones, activity, options);
  if (hidden !== undefined) {
    if (options.mask !== true) return { activity: undefined, hidden, changed: true };
    const mask = masked(activity, hidden);
    return { activity: mask, hidden, changed: !mask.raw.equals(activity.raw) };
  }
  if (cleared.length === 0) return { activity, hidden, changed: false };
  return { activity: new Activity(withNulls(activity.raw, cleared)), hidden, changed: true };
}

function withNulls(bytes: Buffer, spans: readonly (readonly [number, number])[]): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  for (const [start, end] of spans) {
    // What lies within a quoted post that goes, goes with it.
    if (start < at) continue;
    parts.push(bytes.subarray(at, start), NULL);
    at = end;
  }
  return Buffer.concat([...parts, bytes.subarray(at)]);
}

function masked(activity: Activity, reason: HiddenReason): Activity {
  const { id, author, postedAt, matchingRules, format } = activity;
  const stub =
    format === 'original'
      ? `{"created_at":${JSON.stringify(createdAt(postedAt))},"id":${id},"id_str":"${id}","text":"","user":{"id":${author.id},"id_str":"${author.id}","name":"","screen_name":""},"hidden":"${reason}"}`
      : `{"id":"tag:search.twitter.com,2005:${id}","objectType":"activity","verb":"post","postedTime":"${formatSent(postedAt.getTime()).slice(0, 19)}.000Z","body":"","actor":{"objectType":"person","id":"id:twitter.com:${author.id}","displayName":"","preferredUsername":""},"hidden":"${reason}"}`;
  const mask = new Activity(Buffer.from(stub));
  return matchingRules.length === 0 ? mask : mask.withMatchingRules(matchingRules);
}

/** `Wed Oct 10 20:19:24 +0000 2018` */
function createdAt(date: Date): string {
  const [day = '', number, month, year, clock] = date.toUTCString().split(' ');
  return `${day.slice(0, 3)} ${month} ${number} ${clock} +0000 ${year}`;
}
