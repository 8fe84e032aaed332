import { formatSent } from '../base/time.js';
import { LazyObject } from '../json/lazy-object.js';
import { Activity } from '../post/activity.js';
import { countryNumber, ID_OF, SHOWN_INTS, type ShownIds } from '../post/bytes/shown-ids.js';
import type { PostTombstone, Tombstones, UserTombstone } from './tombstones.js';

/** The reason why a post must not be shown. */
export type HiddenReason =
  | 'deleted'
  | 'dropped'
  | 'edited'
  | 'withheld'
  | 'user deleted'
  | 'user protected'
  | 'user suspended'
  | 'user withheld';

/** The byte range of a part of a post that must not be shown, such as a location or a quoted post. */
type Span = readonly [start: number, end: number];

/** Options that decide which posts are hidden. Deleted, dropped and protected posts are always hidden. */
export interface VisibilityOptions {
  /**
   * The country in which posts are shown, as two letters, such as `DE`. Posts withheld there are hidden.
   * Posts withheld everywhere (`XX`, `XY`) are always hidden.
   */
  readonly country?: string | undefined;
  /** Whether earlier versions of an edited post are hidden or kept. @default 'hide' */
  readonly earlierVersions?: 'hide' | 'keep' | undefined;
}

/** Options for hiding posts: which posts are hidden, and whether they are removed or replaced with a mask. */
export interface HidingOptions extends VisibilityOptions {
  /**
   * Whether to replace a hidden post with a mask. The mask contains the id, time, author id and matching
   * rules of the post and the reason why it is hidden, but no text. If false, a hidden post is removed.
   * @default false
   */
  readonly mask?: boolean | undefined;
}

export interface HidingResult {
  /**
   * The post without its hidden parts. The same object if nothing changed. If the whole post is hidden, this
   * is its mask, or `undefined` without the option `mask`.
   */
  readonly activity: Activity | undefined;
  readonly hidden: HiddenReason | undefined;
  readonly changed: boolean;
}

const NULL = Buffer.from('null');

/**
 * Hides what must no longer be shown of a post. If the whole post is hidden, the result has its mask, or no
 * post. Otherwise, `null` replaces the hidden parts, and the other bytes are unchanged.
 */
export function hideDeleted(
  tombstones: Tombstones,
  activity: Activity,
  options: HidingOptions = {},
): HidingResult {
  const cleared: Span[] = [];
  const hidden = visit(tombstones, activity, options, activity.raw, cleared);
  if (hidden !== undefined) {
    if (options.mask !== true) return { activity: undefined, hidden, changed: true };
    const mask = masked(activity, hidden);
    return { activity: mask, hidden, changed: !mask.raw.equals(activity.raw) };
  }
  if (cleared.length === 0) return { activity, hidden, changed: false };
  cleared.sort(([a], [b]) => a - b);
  return { activity: new Activity(withNulls(activity.raw, cleared)), hidden, changed: true };
}

/**
 * Whether a post may have to be hidden or changed, because one of its ids has a tombstone or because it is
 * withheld in one of `countries`. If false, the post stays unchanged.
 */
export function isSuspect(
  tombstones: Tombstones,
  { numbers, length }: ShownIds,
  countries: ReadonlySet<number>,
): boolean {
  for (let at = 0; at < length; at += SHOWN_INTS) {
    const [of, high, low] = [numbers[at]!, numbers[at + 1]!, numbers[at + 2]!];
    if ((of & ID_OF.country) !== 0) {
      if (countries.has(low)) return true;
      continue;
    }
    const isUser = (of & ID_OF.user) !== 0;
    if ((isUser ? tombstones.userAt(high, low) : tombstones.postAt(high, low)) !== undefined)
      return true;
  }
  return false;
}

/** @param spans Spans in order, which do not overlap. */
function withNulls(bytes: Buffer, spans: readonly Span[]): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  for (const [start, end] of spans) {
    parts.push(bytes.subarray(at, start), NULL);
    at = end;
  }
  return Buffer.concat([...parts, bytes.subarray(at)]);
}

function masked(activity: Activity, reason: HiddenReason): Activity {
  const { id, postedAt, matchingRules, format } = activity;
  const stub =
    format === 'original'
      ? `{"created_at":${JSON.stringify(createdAt(postedAt))},"id":${id},"id_str":"${id}","text":""${maskedAuthor(activity)},"hidden":"${reason}"}`
      : `{"id":"tag:search.twitter.com,2005:${id}","objectType":"activity","verb":"post","postedTime":"${formatSent(postedAt.getTime()).slice(0, 19)}.000Z","body":""${maskedAuthor(activity)},"hidden":"${reason}"}`;
  const mask = new Activity(Buffer.from(stub));
  return matchingRules.length === 0 ? mask : mask.withMatchingRules(matchingRules);
}

function maskedAuthor({ authorId, format }: Activity): string {
  if (authorId === undefined) return '';
  return format === 'original'
    ? `,"user":{"id":${authorId},"id_str":"${authorId}","name":"","screen_name":""}`
    : `,"actor":{"objectType":"person","id":"id:twitter.com:${authorId}","displayName":"","preferredUsername":""}`;
}

/** Formats a time as posts in the original format do: `Wed Oct 10 20:19:24 +0000 2018`. */
function createdAt(date: Date): string {
  const [day = '', number, month, year, clock] = date.toUTCString().split(' ');
  return `${day.slice(0, 3)} ${month} ${number} ${clock} +0000 ${year}`;
}

const EVERYWHERE = ['XX', 'XY'];
/**
 * The members that hold the location of a post, in each format. The location of the post's author is in other
 * members and is kept.
 */
const PLACES = {
  original: ['geo', 'coordinates', 'place'],
  activity_streams: ['geo', 'location'],
} as const;

/**
 * Returns the reason why the whole post must not be shown. Otherwise, returns `undefined`, and adds to
 * `cleared` the spans of the parts that must not be shown. A retweet of a hidden post is hidden, too. A post
 * that quotes a hidden post loses the quote.
 */
function visit(
  tombstones: Tombstones,
  activity: Activity,
  options: VisibilityOptions,
  root: Buffer,
  cleared: Span[],
): HiddenReason | undefined {
  const hidden = hiddenBy(tombstones, activity, options);
  if (hidden !== undefined) return hidden;
  const { retweeted, quoted, raw, format } = activity;
  if (retweeted !== undefined) {
    const shared = visit(tombstones, retweeted, options, root, cleared);
    if (shared !== undefined) return shared;
  }
  const offset = raw.byteOffset - root.byteOffset;
  if (quoted !== undefined) {
    const within: Span[] = [];
    if (visit(tombstones, quoted, options, root, within) === undefined) cleared.push(...within);
    else {
      const start = quoted.raw.byteOffset - root.byteOffset;
      cleared.push([start, start + quoted.raw.length]);
    }
  }
  const upTo = markOfAuthor(tombstones, activity)?.scrubbedUpTo;
  if (upTo !== undefined && BigInt(activity.id) <= BigInt(upTo)) {
    const fields = LazyObject.of(raw);
    for (const key of PLACES[format]) {
      const span = fields?.span(key);
      if (span === undefined || raw.toString('latin1', ...span) === 'null') continue;
      cleared.push([offset + span[0], offset + span[1]]);
    }
  }
  return undefined;
}

function hiddenBy(
  tombstones: Tombstones,
  activity: Activity,
  options: VisibilityOptions,
): HiddenReason | undefined {
  const post = tombstones.post(activity.id);
  // If one version of an edited post is deleted, all versions are hidden.
  if (activity.versionIds.some(id => tombstones.post(id)?.deleted)) return 'deleted';
  const hidden =
    (post && hiddenByPost(post, options)) ??
    hiddenByUser(markOfAuthor(tombstones, activity) ?? {}, options);
  if (hidden !== undefined) return hidden;
  const { withheldIn } = activity;
  if (isWithheld(withheldIn.post, options)) return 'withheld';
  return isWithheld(withheldIn.author, options) ? 'user withheld' : undefined;
}

function markOfAuthor(tombstones: Tombstones, { authorId }: Activity): UserTombstone | undefined {
  return authorId === undefined ? undefined : tombstones.user(authorId);
}

export function hiddenByPost(
  post: PostTombstone,
  options: VisibilityOptions,
): HiddenReason | undefined {
  if (post.deleted) return 'deleted';
  if (post.dropped?.[1]) return 'dropped';
  if (post.edited && options.earlierVersions !== 'keep') return 'edited';
  return isWithheld(post.withheld?.[1] ?? [], options) ? 'withheld' : undefined;
}

export function hiddenByUser(
  user: UserTombstone,
  options: VisibilityOptions,
): HiddenReason | undefined {
  if (user.deleted?.[1]) return 'user deleted';
  if (user.protected?.[1]) return 'user protected';
  if (user.suspended?.[1]) return 'user suspended';
  return isWithheld(user.withheld?.[1] ?? [], options) ? 'user withheld' : undefined;
}

export function hidingCountries({ country }: VisibilityOptions): ReadonlySet<number> {
  const codes = country === undefined ? EVERYWHERE : [...EVERYWHERE, country];
  return new Set(codes.map(countryNumber));
}

function isWithheld(countries: readonly string[], options: VisibilityOptions): boolean {
  if (countries.length === 0) return false;
  const hiding = hidingCountries(options);
  return countries.some(code => hiding.has(countryNumber(code)));
}
