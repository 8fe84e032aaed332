import { checkOptions } from '../../base/check.js';
import { DataError, OptionError } from '../../base/errors.js';
import { isRecord } from '../../base/record.js';
import { FIRST_POST, floorTo, SECOND } from '../../base/time.js';
import { withoutMark } from '../../json/byte-codes.js';
import { ElementSplitter } from '../../json/element-splitter.js';
import { parseExact } from '../../json/exact-ids.js';
import { Activity, type Format } from '../../post/activity.js';
import { rulePost } from '../../rules/post/rule-post.js';
import { NEW_AUTHOR, NEW_POST, type NewAuthor, type NewPost } from './new-post.js';

/**
 * A post for the service. It is either the exact JSON of a post, as string, bytes, object or `Activity`, or
 * an object with some fields. The service completes the other fields.
 */
export type GivenPost = NewPost | Activity | Uint8Array | string | object;

/** A post after validation: either its exact JSON, or its fields, which the service has yet to complete. */
export type ReadPost = {
  /** The name of the post in errors. */
  readonly at: string;
} & (
  | { readonly kind: 'exact'; readonly activity: Activity; readonly format: Format }
  | { readonly kind: 'fields'; readonly fields: NewPost }
);

const CALL = 'posts';
const ID_LIMIT = 2n ** 64n;

/** @throws OptionError that names the invalid post and its invalid member. */
export function readGiven(given: unknown): readonly ReadPost[] {
  const all = Array.isArray(given) ? given : [given];
  return all.map((post, i) => readOne(post, Array.isArray(given) ? `posts[${i}]` : 'posts'));
}

/**
 * Splits JSON into posts and keeps their exact bytes. The JSON is one object, an array of objects, or one
 * object per line.
 *
 * @throws OptionError for anything else.
 */
export function splitPosts(given: Buffer): readonly Buffer[] {
  const body = utf8(given);
  const start = body.toString('utf8', 0, 1024).trimStart();
  if (start === '') return [];
  if (start.startsWith('[')) {
    try {
      const splitter = new ElementSplitter('posts');
      const posts = splitter.push(
        Buffer.concat([Buffer.from('{"posts":'), body, Buffer.from('}')]),
      );
      splitter.end();
      return posts.map(bytes => Buffer.from(bytes));
    } catch (cause) {
      throw refused('posts', (cause as Error).message, cause);
    }
  }
  try {
    parseExact(body);
    return [body];
  } catch {
    // This text is not one JSON document, so it is read as one object per line.
  }
  return body
    .toString()
    .split(/\r?\n/)
    .filter(line => line.trim() !== '')
    .map(line => Buffer.from(line));
}

function utf8(given: Buffer): Buffer {
  try {
    return withoutMark(given);
  } catch (cause) {
    throw refused('posts', (cause as Error).message, cause);
  }
}

function readOne(given: unknown, at: string): ReadPost {
  if (given instanceof Activity) return exactPost(given, at);
  const json =
    typeof given === 'string' || given instanceof Uint8Array ? oneLine(given) : undefined;
  const post = json === undefined ? given : parsed(json, at);
  if (!isRecord(post))
    throw refused(at, `Expected a post: its JSON, an object or an Activity, got ${typeof post}`);
  return isExactPost(post)
    ? exactPost(new Activity(Buffer.from(json ?? exactJson(post, at))), at)
    : fieldsOf(post, at);
}

/** Converts JSON to one line, because a line of an archive is one post. */
function oneLine(json: string | Uint8Array): string {
  return Buffer.from(json as string)
    .toString()
    .replaceAll(/[\r\n]+/g, ' ')
    .trim();
}

function parsed(json: string, at: string): unknown {
  try {
    return parseExact(json);
  } catch (cause) {
    throw refused(at, (cause as Error).message, cause);
  }
}

function isExactPost(value: Readonly<Record<string, unknown>>): boolean {
  return 'created_at' in value || 'postedTime' in value;
}

function fieldsOf(value: Readonly<Record<string, unknown>>, at: string): ReadPost {
  const fields = checkOptions<NewPost, typeof NEW_POST>(CALL, NEW_POST, value as NewPost, at);
  const { author, retweeted, quoted, text } = fields;
  if (text === undefined && retweeted === undefined)
    throw refused(`${at}.text`, `\`${at}.text\` is missing: the text of the post`);
  if (typeof author === 'object')
    checkOptions<NewAuthor, typeof NEW_AUTHOR>(CALL, NEW_AUTHOR, author, `${at}.author`);
  for (const [name, other] of [
    ['retweeted', retweeted],
    ['quoted', quoted],
  ] as const)
    if (isRecord(other)) fieldsOf(other, `${at}.${name}`);
  return { at, kind: 'fields', fields: value as NewPost };
}

/**
 * Checks a post given as exact JSON. Reads every member that the service will read, so that no later read can
 * fail.
 */
function exactPost(activity: Activity, at: string): ReadPost {
  try {
    const { format, id, author, postedAt } = activity;
    if (BigInt(id) >= ID_LIMIT) throw new DataError(`The id ${id} has more than 64 bits`);
    if (postedAt.getTime() < FIRST_POST)
      throw new DataError(`The time ${postedAt.toISOString()} is before 2006-03-21`);
    rulePost(activity, 'search').texts.length;
    void [author.id, activity.text, activity.retweeted?.author.id];
    return { at, kind: 'exact', activity, format };
  } catch (cause) {
    if (!(cause instanceof DataError)) throw cause;
    throw refused(at, cause.message, cause);
  }
}

/**
 * Returns the time of a post in epoch milliseconds, rounded down to a whole second. Archives sort posts by
 * this time.
 */
export function secondOf(activity: Activity): number {
  return floorTo(SECOND, activity.postedAt.getTime());
}

/** Returns the JSON of a value, with all digits of its ids. `at` names the value in error messages. */
function exactJson(value: unknown, at: string): string {
  if (Array.isArray(value)) return `[${value.map((item, i) => exactJson(item, `${at}[${i}]`))}]`;
  if (typeof value === 'bigint') return String(value);
  if (!isRecord(value) || 'toJSON' in value) return JSON.stringify(value) ?? 'null';
  const members: string[] = [];
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue;
    members.push(`${JSON.stringify(key)}:${exactMember(value, key, member, `${at}.${key}`)}`);
  }
  return `{${members}}`;
}

/**
 * Returns the JSON of a member. If it is an id that `JSON.parse` has rounded, takes the exact digits from the
 * member with the same name plus `_str`.
 */
function exactMember(
  value: Readonly<Record<string, unknown>>,
  key: string,
  member: unknown,
  at: string,
): string {
  if (!Number.isInteger(member) || Number.isSafeInteger(member)) return exactJson(member, at);
  const digits = value[`${key}_str`];
  if (typeof digits === 'string' && /^-?\d+$/.test(digits)) return digits;
  throw refused(
    at,
    `\`${at}\` is ${member}, whose last digits JSON.parse has lost. Give the post as text or bytes`,
  );
}

function refused(at: string, problem: string, cause?: unknown): OptionError {
  const message = problem.includes(at) ? problem : `\`${at}\`: ${problem}`;
  return new OptionError(at, `${CALL}: ${message}`, { cause });
}
