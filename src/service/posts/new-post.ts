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
 * The fields of a post that a test decides; the service completes all others. Tags, mentions, symbols and links are
 * read from the text.
 */
export interface NewPost {
  /** The full text, not escaped. Of a retweet, by default `RT @handle: ` and the shared text. */
  readonly text?: string | undefined;
  /** Digits. By default an id of its time, as the service makes them. */
  readonly id?: string | undefined;
  /** Time of the post: a `Date`, epoch milliseconds, `YYYYMMDDHHMM` or an ISO 8601 time. By default a minute ago, by the service's clock: the default window of a search ends with the last full minute. */
  readonly postedAt?: Date | number | string | undefined;
  /** Handle of the author, or more about them. The same handle has the same id. @default 'someone' */
  readonly author?: string | NewAuthor | undefined;
  /** Language code. @default 'en' */
  readonly lang?: string | undefined;
  /** Number of likes. @default 0 */
  readonly likes?: number | undefined;
  /** Number of retweets. @default 0 */
  readonly retweets?: number | undefined;
  /** Id of the post that this one replies to. */
  readonly inReplyTo?: string | undefined;
  /** The post that this one retweets: its fields, or the id of a post that was added before. */
  readonly retweeted?: NewPost | string | undefined;
  /** The post that this one quotes: its fields, or the id of a post that was added before. */
  readonly quoted?: NewPost | string | undefined;
}

/** The author of a `NewPost`. */
export interface NewAuthor {
  /** Without `@`. */
  readonly handle: string;
  /** Digits. By default derived from the handle. */
  readonly id?: string | undefined;
  /** Display name. By default the handle. */
  readonly name?: string | undefined;
  /** Text of the profile. */
  readonly description?: string | undefined;
  /** Location in the profile. */
  readonly location?: string | undefined;
  /** @default 0 */
  readonly followers?: number | undefined;
}

const id = (meaning: string) => special<string>(meaning, 'an id as a string of digits', isId);

const another = (meaning: string) =>
  special<NewPost | string>(
    meaning,
    'the fields of a post, or an id as a string of digits',
    value => isRecord(value) || isId(value),
  );

/** The fields of a post, each with its check. */
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

/** The fields of an author, each with its check. */
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

/** Later ids would have more than 63 bits. */
const LAST_POST = Date.UTC(2079, 0, 1);

/** Epoch milliseconds of a time that a post was given. */
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

/** An author with all that a profile shows. Their account is as old as the post. */
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

/** A post that another one contains, or that it replies to. */
export interface ContainedPost {
  readonly id: string;
  readonly handle: string;
  readonly userId: string;
  /** Not escaped. */
  readonly text: string;
  /** One line of JSON in a format. */
  render(format: Format): string;
}

/** A `NewPost` with everything that was not given. */
export interface CompletedPost {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly author: SampleAuthor;
  readonly text: string;
  readonly lang: string;
  readonly likes: number;
  readonly retweets: number;
  /** The post that it replies to; its author, if it was added. */
  readonly reply: ({ readonly id: string } & Partial<ContainedPost>) | undefined;
  readonly retweeted: ContainedPost | undefined;
  readonly quoted: ContainedPost | undefined;
  /** The id of an author of another post, by handle. */
  idOf(handle: string): string | undefined;
}
