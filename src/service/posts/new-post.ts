import { createHash } from 'node:crypto';
import { type OptionTable, required, special, text, whole } from '../../base/check.js';
import { isRecord } from '../../base/record.js';
import { FIRST_POST } from '../../base/time.js';
import type { Format } from '../../post/activity.js';
import { parseInstant } from '../clock.js';
import type { SampleAuthor } from '../sample/sample-authors.js';
import { languageAt } from '../sample/sample-vocabulary.js';
import { escapeText } from './entities.js';

/**
 * The fields of a post that a test can choose. The service completes all other fields. It finds tags, mentions,
 * symbols and links in the text.
 */
export interface NewPost {
  /** The full text, not escaped. For a retweet, the default is `RT @handle: ` and the retweeted text. */
  readonly text?: string | undefined;
  /** The id, as digits. By default, an id with the time of the post, like the ids of the real service. */
  readonly id?: string | undefined;
  /**
   * The time of the post: a `Date`, epoch milliseconds, `YYYYMMDDHHMM` or an ISO 8601 time. The default is
   * one minute before the current time of the service.
   */
  readonly postedAt?: Date | number | string | undefined;
  /**
   * The handle of the author, or more fields of the author. The same handle always has the same id.
   *
   * @default 'someone'
   */
  readonly author?: string | NewAuthor | undefined;
  /** The language code. @default 'en' */
  readonly lang?: string | undefined;
  /** The number of likes. @default 0 */
  readonly likes?: number | undefined;
  /** The number of retweets. @default 0 */
  readonly retweets?: number | undefined;
  /** The id of the post that this post replies to. */
  readonly inReplyTo?: string | undefined;
  /** The post that this post retweets: its fields, or the id of a post that was added before. */
  readonly retweeted?: NewPost | string | undefined;
  /** The post that this post quotes: its fields, or the id of a post that was added before. */
  readonly quoted?: NewPost | string | undefined;
}

/** The author of a `NewPost`. */
export interface NewAuthor {
  /** The handle, without `@`. */
  readonly handle: string;
  /** The id, as digits. By default, it is derived from the handle. */
  readonly id?: string | undefined;
  /** The display name. By default, the handle. */
  readonly name?: string | undefined;
  /** The text of the profile. */
  readonly description?: string | undefined;
  /** The location in the profile. */
  readonly location?: string | undefined;
  /** The number of followers. @default 0 */
  readonly followers?: number | undefined;
}

const id = (meaning: string) => special<string>(meaning, 'an id as a string of digits', isId);

const another = (meaning: string) =>
  special<NewPost | string>(
    meaning,
    'the fields of a post, or an id as a string of digits',
    value => isRecord(value) || isId(value),
  );

export const NEW_POST = {
  text: special<string>('the text', 'a string that is not empty', isText),
  id: id('of the post'),
  postedAt: special<Date | number | string>(
    'time of the post',
    "a time since 2006-03-21: a Date, epoch milliseconds, YYYYMMDDHHMM or an ISO 8601 time such as '2024-01-31T23:59:00Z'",
    value => {
      const at = instantOf(value);
      return at !== undefined && at >= FIRST_POST && at < LAST_POST;
    },
  ),
  author: special<string | NewAuthor>(
    'who posted it',
    "a handle of letters, digits and underscores without '@', or an object with a `handle`",
    value => isHandle(value) || isRecord(value),
  ),
  lang: text('language code', 'en'),
  likes: whole('number of likes', { default: 0 }),
  retweets: whole('number of retweets', { default: 0 }),
  inReplyTo: id('of the post that this one replies to'),
  retweeted: another('the post that this one shares'),
  quoted: another('the post that this one quotes'),
} as const satisfies OptionTable<NewPost>;

export const NEW_AUTHOR = {
  handle: required(
    special<string>('name of the author', "letters, digits and underscores, without '@'", isHandle),
  ),
  id: id('of the author'),
  name: text('display name'),
  description: special<string>('text of the profile', 'a string that is not empty', isText),
  location: text('location in the profile'),
  followers: whole('number of followers', { default: 0 }),
} as const satisfies OptionTable<NewAuthor>;

/** The latest time of a post. Later ids would have more than 63 bits. */
const LAST_POST = Date.UTC(2079, 0, 1);

export function instantOf(value: unknown): number | undefined {
  if (typeof value === 'string') return instantOf(parseInstant(value));
  const at = value instanceof Date ? value.getTime() : value;
  return typeof at === 'number' && Number.isFinite(at) ? Math.floor(at) : undefined;
}

function isId(value: unknown): boolean {
  return typeof value === 'string' && /^[1-9]\d{0,19}$/.test(value) && BigInt(value) < 2n ** 64n;
}

function isHandle(value: unknown): boolean {
  return typeof value === 'string' && /^\w{1,50}$/.test(value);
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '' && value.isWellFormed();
}

/**
 * Completes the profile of an author with default values. `createdAt` is when the account was created, in
 * epoch milliseconds.
 */
export function profileOf(author: NewAuthor, createdAt: number): SampleAuthor {
  const { handle, id = idOfHandle(handle), name = handle } = author;
  return {
    id,
    handle,
    name: escapeText(name),
    description: author.description === undefined ? null : escapeText(author.description),
    url: null,
    location: author.location === undefined ? null : escapeText(author.location),
    home: undefined,
    city: 0,
    language: languageAt(0),
    createdAt,
    verified: false,
    isDefaultProfile: true,
    colors: ['F5F8FA', '1DA1F2', 'C0DEED', 'DDEEF6', '333333'],
    theme: 1,
    image: `/profile_images/${id}/${handle}_normal.jpg`,
    banner: undefined,
    followers: author.followers ?? 0,
    friends: 0,
    statusesPerDay: 0,
  };
}

function idOfHandle(handle: string): string {
  const digest = createHash('sha256').update(handle.toLowerCase()).digest();
  return String(1_000_000_000 + (digest.readUInt32BE() % 1_000_000_000));
}

/** A post that another post contains or replies to. */
export interface ContainedPost {
  readonly id: string;
  readonly handle: string;
  readonly userId: string;
  /** The text, not escaped. */
  readonly text: string;
  render(format: Format): string;
}

/** A `NewPost` whose missing fields were completed. */
export interface CompletedPost {
  readonly id: string;
  /** The time in epoch milliseconds. */
  readonly at: number;
  readonly author: SampleAuthor;
  readonly text: string;
  readonly lang: string;
  readonly likes: number;
  readonly retweets: number;
  /** The post that this post replies to. Its author is known only if that post was added. */
  readonly reply: ({ readonly id: string } & Partial<ContainedPost>) | undefined;
  readonly retweeted: ContainedPost | undefined;
  readonly quoted: ContainedPost | undefined;
  /** Returns the id of the author with this handle, if an added post is by this author. */
  idOf(handle: string): string | undefined;
}
