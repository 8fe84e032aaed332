import { type InspectOptions, inspect } from 'node:util';
import { DataError } from '../errors.js';
import { bufferOf } from '../json/decode-utf8.js';
import { parseExact } from '../json/exact-json.js';
import { excerpt } from '../json/excerpt.js';
import { JsonObject, spanNearEnd } from '../json/json-object.js';
import type { ActivityStreamsPost } from './activity-streams-post.js';
import { leadingId } from './leading-id.js';
import {
  type Matches,
  type MatchingRule,
  NO_MATCHES,
  parseMatches,
  printMatchingRules,
} from './matching-rules.js';
import type { OriginalPost } from './original-post.js';
import { parsePost } from './parse-post.js';
import { parseCreatedAt, parseIsoTime } from './posted-at.js';

export type { MatchingRule } from './matching-rules.js';

/** The two formats in which the service sends posts. */
export type Format = 'original' | 'activity_streams';

/** The author of a post, the same for both formats. */
export interface Author {
  /** Digits. */
  readonly id: string;
  /** Without `@`. */
  readonly handle: string;
  readonly name: string;
}

/** Edit metadata, on posts from 29 September 2022 on. */
export interface Edits {
  /** Id of the first version. */
  readonly initialId: string;
  /** Ids of all versions, ascending. */
  readonly ids: readonly string[];
  readonly editableUntil?: Date | undefined;
  readonly remaining?: number | undefined;
  readonly editable?: boolean | undefined;
}

/** Members that have different names in the two formats. */
const TIMES = ['created_at', 'postedTime'] as const;
const AUTHORS = ['user', 'actor'] as const;

/**
 * One delivered post: a lazy view of the bytes that the service sent, the same for both formats. Ids are
 * exact strings of digits. Properties read their field from the bytes when they are used; only `post`
 * parses the whole post.
 *
 * @throws DataError From every property, when the bytes are not a post or lack the field.
 *
 * @example
 * const activity = new Activity(line);
 * console.log(activity.id, activity.postedAt, activity.author.handle, activity.text);
 */
export class Activity {
  /** The exact bytes as received. */
  readonly raw: Buffer;
  #fields: JsonObject | undefined;
  /** What `leadingId` found; empty where it found nothing. */
  #leading: string | undefined;
  #id: string | undefined;
  #matches: Matches | undefined;
  #post: OriginalPost | ActivityStreamsPost | undefined;

  /** @param bytes One JSON document. It is viewed, not copied, so it must not change any more. */
  constructor(bytes: Uint8Array) {
    this.raw = bufferOf(bytes);
  }

  get byteLength(): number {
    return this.raw.byteLength;
  }

  /** By the field that holds the time: `created_at` or `postedTime`. */
  get format(): Format {
    const key = this.#root.firstOf(TIMES);
    if (key === undefined) throw this.#lacks('created_at or postedTime');
    return key === 'created_at' ? 'original' : 'activity_streams';
  }

  /** The whole post, parsed on first use, with ids as strings. `format` tells which type it is of. */
  get post(): OriginalPost | ActivityStreamsPost {
    this.#post ??= parsePost(this.raw);
    return this.#post;
  }

  get id(): string {
    this.#id ??= this.#readId();
    return this.#id;
  }

  get postedAt(): Date {
    const key = this.#root.firstOf(TIMES) ?? 'created_at';
    const text = this.#root.string(key) ?? '';
    const date = new Date(key === 'created_at' ? parseCreatedAt(text) : parseIsoTime(text));
    if (Number.isNaN(date.getTime())) throw this.#lacks('a time in created_at or postedTime');
    return date;
  }

  /** In full, also past 140 characters. A share repeats the shared text cut: see `retweeted`. */
  get text(): string {
    const root = this.#root;
    const text =
      this.format === 'original'
        ? (root.object('extended_tweet')?.string('full_text') ??
          root.string('full_text') ??
          root.string('text'))
        : (root.object('long_object')?.string('body') ?? root.string('body'));
    if (text === undefined) throw this.#lacks('text or body');
    return text;
  }

  get author(): Author {
    const key = this.#root.firstOf(AUTHORS);
    const author = key === undefined ? undefined : this.#root.object(key);
    if (author === undefined) throw this.#lacks('user or actor');
    const original = key === 'user';
    const id = original ? idOf(author) : author.lastDigits('id');
    const handle = author.string(original ? 'screen_name' : 'preferredUsername');
    if (id === undefined || handle === undefined) throw this.#lacks('an author with id and name');
    return { id, handle, name: author.string(original ? 'name' : 'displayName') ?? '' };
  }

  /** `share` when it is a retweet. */
  get verb(): 'post' | 'share' {
    return this.#sharedKey === undefined ? 'post' : 'share';
  }

  /** As the service classified it; `und` where it recognised no language. */
  get lang(): string | undefined {
    const root = this.#root;
    if (this.format === 'original') return root.string('lang');
    // Before there was twitter_lang, the language was an enrichment.
    return root.string('twitter_lang') ?? root.object('gnip')?.object('language')?.string('value');
  }

  /** Where the post is shown, in the form that the `activity_streams` format uses. */
  get link(): string | undefined {
    if (this.format === 'activity_streams') return this.#root.string('link');
    return `http://twitter.com/${this.author.handle}/statuses/${this.id}`;
  }

  /** The rules that the post matched; none where it was not delivered for a rule. */
  get matchingRules(): readonly MatchingRule[] {
    this.#matches ??= this.#readMatches();
    return this.#matches.rules;
  }

  /** The distinct tags of the matching rules, in their order. Untagged rules add nothing. */
  get tags(): readonly string[] {
    this.#matches ??= this.#readMatches();
    return this.#matches.tags;
  }

  /** The post that this one shares: a view of the same bytes. */
  get retweeted(): Activity | undefined {
    return this.#sharedKey === undefined ? undefined : this.#nested(this.#sharedKey);
  }

  /** The post that this one quotes: a view of the same bytes. */
  get quoted(): Activity | undefined {
    return this.#nested(this.format === 'original' ? 'quoted_status' : 'twitter_quoted_status');
  }

  get edits(): Edits | undefined {
    const history = this.#root.object('edit_history');
    if (history === undefined) return undefined;
    const { edit_tweet_ids: ids } = this.#value('edit_history') as { edit_tweet_ids?: unknown };
    const controls = this.#root.object('edit_controls');
    const until = controls?.integer('editable_until_ms');
    const remaining = controls?.integer('edits_remaining');
    const editable = this.#value('editable');
    const initialId = history.string('initial_tweet_id') ?? history.integer('initial_tweet_id');
    if (initialId === undefined || !Array.isArray(ids))
      throw this.#lacks('ids in its edit_history');
    return {
      initialId,
      ids: ids.map(String),
      editableUntil: until === undefined ? undefined : new Date(Number(until)),
      remaining: remaining === undefined ? undefined : Number(remaining),
      editable: typeof editable === 'boolean' ? editable : undefined,
    };
  }

  /**
   * The same post with other matching rules. All other bytes stay as they are.
   *
   * @throws OptionError when a rule's id is not a whole number.
   */
  withMatchingRules(rules: readonly MatchingRule[]): Activity {
    const json = printMatchingRules(rules);
    const root = this.#root;
    const gnip = this.#root.object('gnip');
    const span = root.span('matching_rules') ?? gnip?.span('matching_rules');
    if (span !== undefined) return this.#spliced(span, json);
    const member = `"matching_rules":${json}`;
    if (this.format === 'original') return this.#spliced(...before(root, member));
    if (gnip !== undefined) return this.#spliced(...before(gnip, member));
    const other = root.span('gnip');
    if (other !== undefined) return this.#spliced(other, `{${member}}`);
    return this.#spliced(...before(root, `"gnip":{${member}}`));
  }

  toJSON(): OriginalPost | ActivityStreamsPost {
    return this.post;
  }

  [inspect.custom](_depth: number, options: InspectOptions): string {
    try {
      const { id, postedAt, author, text } = this;
      return `Activity ${inspect({ id, postedAt, author: author.handle, text }, options)}`;
    } catch {
      return `Activity (not a post) ${excerpt(this.raw)}`;
    }
  }

  get #root(): JsonObject {
    this.#fields ??= JsonObject.of(this.raw);
    if (this.#fields === undefined) throw this.#lacks('an object');
    return this.#fields;
  }

  get #leadingId(): string {
    this.#leading ??= leadingId(this.raw) ?? '';
    return this.#leading;
  }

  #readId(): string {
    if (this.#leadingId !== '') return this.#leadingId;
    const root = this.#root;
    const stated = root.lastDigits('id') ?? idOf(root);
    if (stated === undefined) throw this.#lacks('an id in id_str or id');
    return stated;
  }

  #readMatches(): Matches {
    // A numeric id means the original format: the rules are not in `gnip`, and mostly the last member.
    const last = this.#leadingId === '' ? undefined : spanNearEnd(this.raw, 'matching_rules');
    if (last !== undefined) return parseMatches(this.raw, ...last);
    const root = this.#root;
    // The formats have different members for the rules, mostly the last one. Both are tried.
    const inGnip = root.string('id')?.startsWith('tag:') === true;
    root.seekFromEnd(inGnip ? 'gnip' : 'matching_rules');
    const span = inGnip
      ? (root.object('gnip')?.span('matching_rules') ?? root.span('matching_rules'))
      : (root.span('matching_rules') ?? root.object('gnip')?.span('matching_rules'));
    return span === undefined ? NO_MATCHES : parseMatches(this.raw, ...span);
  }

  /** The key of the post that this one shares. */
  get #sharedKey(): 'retweeted_status' | 'object' | undefined {
    const root = this.#root;
    if (this.format === 'original')
      return root.object('retweeted_status') === undefined ? undefined : 'retweeted_status';
    return root.string('verb') === 'share' ? 'object' : undefined;
  }

  #nested(key: string): Activity | undefined {
    const span = this.#root.object(key) === undefined ? undefined : this.#root.span(key);
    return span === undefined ? undefined : new Activity(this.raw.subarray(...span));
  }

  #value(key: string): unknown {
    const span = this.#root.span(key);
    return span === undefined ? undefined : parseExact(this.raw.subarray(...span));
  }

  #spliced([start, end]: readonly [number, number], json: string): Activity {
    const { raw } = this;
    return new Activity(
      Buffer.concat([raw.subarray(0, start), Buffer.from(json), raw.subarray(end)]),
    );
  }

  #lacks(what: string): DataError {
    return new DataError(`Not a post: expected ${what}; it starts with ${excerpt(this.raw)}`);
  }
}

/** The exact id of an object of the original format. */
function idOf(fields: JsonObject): string | undefined {
  return fields.lastDigits('id_str') ?? fields.integer('id');
}

/** How to add a member to an object: where, and what. */
function before(object: JsonObject, member: string): readonly [readonly [number, number], string] {
  const { at, empty } = object.closing;
  return [[at, at], empty ? member : `,${member}`];
}
