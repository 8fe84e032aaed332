import { type InspectOptions, inspect } from 'node:util';
import { DataError } from '../base/errors.js';
import { bufferOf } from '../json/byte-codes.js';
import { parseExact } from '../json/exact-ids.js';
import { excerpt } from '../json/excerpt.js';
import { LazyObject } from '../json/lazy-object.js';
import { isText } from '../json/type-guards.js';
import type { ActivityStreamsPost } from './activity-streams-post.js';
import { leadingId, trailingId } from './bytes/ids.js';
import {
  isLastMember,
  type Matches,
  type MatchingRule,
  matchesAtEnd,
  matchesInGnipAtEnd,
  NO_MATCHES,
  type PlaceOfRules,
  parseMatches,
  placeOfList,
  placeOfMember,
  printMatchingRules,
  RULES_KEY,
} from './matching-rules.js';
import type { OriginalPost } from './original-post.js';
import { parsePost } from './parse-post.js';
import { parseCreatedAt, parseIsoTime } from './posted-at.js';

export type { MatchingRule } from './matching-rules.js';

/**
 * The two JSON formats in which the service sends posts. An archive or stream has posts in only one of them.
 */
export type Format = 'original' | 'activity_streams';

/** The author of a post, in the same form for both formats: numeric id, handle and display name. */
export interface Author {
  /** The id of the author, as digits. */
  readonly id: string;
  /** The handle, without `@`. */
  readonly handle: string;
  readonly name: string;
}

/**
 * The versions of a post, and whether it can still be edited. Only posts since 29 September 2022 have this.
 */
export interface Edits {
  /** The id of the first version. */
  readonly initialId: string;
  /** The ids of all versions, in ascending order. */
  readonly ids: readonly string[];
  readonly editableUntil?: Date | undefined;
  readonly remaining?: number | undefined;
  readonly editable?: boolean | undefined;
}

const TIMES = ['created_at', 'postedTime'] as const;
const AUTHORS = ['user', 'actor'] as const;

/**
 * Keys that most posts do not have, each with its closing quote but without its opening quote. A post has
 * many quotes, so a search for bytes that begin with a quote would take three times as long.
 */
const HISTORY = Buffer.from('edit_history"');
const SHARED = Buffer.from('retweeted_status"');
const QUOTED = Buffer.from('quoted_status"');
const WITHHELD = Buffer.from('withheld_in_countries"');
const RULES = Buffer.from('matching_rules"');
/** The start of an escape for an ASCII letter. If a post contains this, its keys may have escapes. */
const ESCAPED_LETTER = Buffer.from('\\u00');

const NOWHERE: { readonly post: readonly string[]; readonly author: readonly string[] } = {
  post: [],
  author: [],
};

/**
 * A post: a lazy view of the bytes that the service sent. It has the same properties for both formats. Ids
 * are exact strings of digits. A property reads its field from the bytes when it is used. Only `post` parses
 * the whole post. A view keeps the whole received block of bytes in memory. If your own code keeps only a few
 * of many posts, keep copies: `new Activity(Buffer.from(activity.raw))`. Built-in stages also keep copies.
 *
 * @throws DataError From every property, if the bytes are not a post or the required field is missing.
 *
 * @example
 * const activity = new Activity(line);
 * console.log(activity.id, activity.postedAt, activity.author.handle, activity.text);
 */
export class Activity {
  /** The exact bytes of the post, as received. */
  readonly raw: Buffer;
  #fields: LazyObject | undefined;
  /**
   * The id that `leadingId` or `trailingId` has found at the start or end of `raw`. An empty string if
   * neither has found one; `undefined` until they are called.
   */
  #edgeId: string | undefined;
  #id: string | undefined;
  #matches: Matches | undefined;
  #hasEscapes: boolean | undefined;
  #post: OriginalPost | ActivityStreamsPost | undefined;

  /** @param bytes One JSON document. The activity does not copy the bytes, so they must not be changed. */
  constructor(bytes: Uint8Array) {
    this.raw = bufferOf(bytes);
  }

  get byteLength(): number {
    return this.raw.byteLength;
  }

  /** The format. It is recognised by the field that holds the time: `created_at` or `postedTime`. */
  get format(): Format {
    const key = this.#root.firstOf(TIMES);
    if (key === undefined) throw this.#missing('created_at or postedTime');
    return key === 'created_at' ? 'original' : 'activity_streams';
  }

  /** The whole post with ids as strings. It is parsed when it is first used. Its type depends on `format`. */
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
    if (Number.isNaN(date.getTime())) throw this.#missing('a time in created_at or postedTime');
    return date;
  }

  /**
   * The text of the post, complete even beyond 140 characters. Only a retweet is different: after
   * `RT @handle:`, the retweeted text may be truncated. `retweeted` has all of it.
   */
  get text(): string {
    const root = this.#root;
    const text =
      this.format === 'original'
        ? (root.object('extended_tweet')?.string('full_text') ??
          root.string('full_text') ??
          root.string('text'))
        : (root.object('long_object')?.string('body') ?? root.string('body'));
    if (text === undefined) throw this.#missing('text or body');
    return text;
  }

  get author(): Author {
    const author = this.#author;
    if (author === undefined) throw this.#missing('user or actor');
    const { key, fields } = author;
    const id = this.authorId;
    const handle = fields.string(key === 'user' ? 'screen_name' : 'preferredUsername');
    if (id === undefined || handle === undefined) throw this.#missing('an author with id and name');
    return { id, handle, name: fields.string(key === 'user' ? 'name' : 'displayName') ?? '' };
  }

  /**
   * The id of `author`. `undefined` if the post has no author, for example because the author was removed from
   * the archive.
   *
   * @internal
   */
  get authorId(): string | undefined {
    const author = this.#author;
    return author && (author.key === 'user' ? idOf(author.fields) : author.fields.lastDigits('id'));
  }

  /**
   * The codes of the countries in which the post is withheld (`post`), and in which its author is withheld
   * (`author`).
   *
   * @internal
   */
  get withheldIn(): typeof NOWHERE {
    const root = this.#root;
    if (this.#lacks(WITHHELD)) return NOWHERE;
    return { post: this.#countriesIn(root), author: this.#countriesIn(this.#author?.fields) };
  }

  /** `share` if the post is a retweet, otherwise `post`. */
  get verb(): 'post' | 'share' {
    return this.#sharedKey === undefined ? 'post' : 'share';
  }

  /** The language code that the service has assigned. It is `und` if the service recognised no language. */
  get lang(): string | undefined {
    const root = this.#root;
    if (this.format === 'original') return root.string('lang');
    // Old posts have no `twitter_lang`. The service has added their language as `gnip.language`.
    return root.string('twitter_lang') ?? root.object('gnip')?.object('language')?.string('value');
  }

  /** The URL of the post on the web, as the `activity_streams` format writes it. */
  get link(): string | undefined {
    if (this.format === 'activity_streams') return this.#root.string('link');
    return `http://twitter.com/${this.author.handle}/statuses/${this.id}`;
  }

  /** The rules that the post matched. Empty if the post was not delivered for a rule. */
  get matchingRules(): readonly MatchingRule[] {
    this.#matches ??= this.#readMatches();
    return this.#matches.rules;
  }

  /** The distinct tags of the matching rules, in the order of the rules. Rules without a tag are ignored. */
  get tags(): readonly string[] {
    this.#matches ??= this.#readMatches();
    return this.#matches.tags;
  }

  /** The post that this post retweets. Its `raw` shares memory with the `raw` of this post. */
  get retweeted(): Activity | undefined {
    return this.#sharedKey === undefined ? undefined : this.#nested(this.#sharedKey);
  }

  /** The post that this post quotes. Its `raw` shares memory with the `raw` of this post. */
  get quoted(): Activity | undefined {
    const key = this.format === 'original' ? 'quoted_status' : 'twitter_quoted_status';
    return this.#lacks(QUOTED) ? undefined : this.#nested(key);
  }

  get edits(): Edits | undefined {
    const history = this.#history;
    if (history === undefined) return undefined;
    const { initialId, ids } = history;
    if (initialId === undefined) throw this.#missing('ids in its edit_history');
    const controls = this.#root.object('edit_controls');
    const until = controls?.integer('editable_until_ms');
    const remaining = controls?.integer('edits_remaining');
    const editable = this.#value('editable');
    return {
      initialId,
      ids,
      editableUntil: until === undefined ? undefined : new Date(Number(until)),
      remaining: remaining === undefined ? undefined : Number(remaining),
      editable: typeof editable === 'boolean' ? editable : undefined,
    };
  }

  /**
   * The ids of all versions, as in `edits`. Does not read the rest of `edits`.
   *
   * @internal
   */
  get versionIds(): readonly string[] {
    return this.#history?.ids ?? [];
  }

  /**
   * Returns the same post with other matching rules. All other bytes are unchanged.
   *
   * @throws OptionError If the id of a rule is not an integer.
   */
  withMatchingRules(rules: readonly MatchingRule[]): Activity {
    const json = printMatchingRules(rules);
    const { raw } = this;
    const { start, end, before, after } = this.placeOfRules;
    return activityOf(
      Buffer.concat([
        raw.subarray(0, start),
        Buffer.from(`${before}${json}${after}`),
        raw.subarray(end),
      ]),
    );
  }

  /**
   * Where `withMatchingRules` writes the list of rules.
   *
   * @internal
   */
  get placeOfRules(): PlaceOfRules {
    const { raw } = this;
    const root = this.#root;
    const own = root.span('matching_rules');
    if (own !== undefined)
      return placeOfList(own, !this.#readsGnip && isLastMember(raw, 'matching_rules', own));
    const gnip = root.object('gnip');
    const span = root.span('gnip');
    const isRead = span !== undefined && isLastMember(raw, 'gnip', span);
    const inGnip = gnip?.span('matching_rules');
    if (inGnip !== undefined) return placeOfList(inGnip, isRead);
    if (this.format === 'original')
      return placeOfMember(root, { before: RULES_KEY, after: '', isRead: !this.#readsGnip });
    if (gnip !== undefined) return placeOfMember(gnip, { before: RULES_KEY, after: '', isRead });
    if (span !== undefined)
      return { start: span[0], end: span[1], before: `{${RULES_KEY}`, after: '}', isRead };
    return placeOfMember(root, { before: `"gnip":{${RULES_KEY}`, after: '}', isRead: true });
  }

  /**
   * Replaces `raw` with another buffer that holds the same bytes, so that the memory of the previous bytes
   * can be freed.
   *
   * @internal
   */
  moveTo(bytes: Buffer): void {
    (this as { raw: Buffer }).raw = bytes;
    this.#fields?.moveTo(bytes);
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

  get #root(): LazyObject {
    this.#fields ??= LazyObject.of(this.raw);
    if (this.#fields === undefined) throw this.#missing('an object');
    return this.#fields;
  }

  get #author(): { readonly key: string; readonly fields: LazyObject } | undefined {
    const key = this.#root.firstOf(AUTHORS);
    const fields = key === undefined ? undefined : this.#root.object(key);
    return key === undefined || fields === undefined ? undefined : { key, fields };
  }

  #countriesIn(fields: LazyObject | undefined): readonly string[] {
    const span = fields?.span('withheld_in_countries');
    const codes = span === undefined ? [] : parseExact(this.raw.subarray(...span));
    return Array.isArray(codes) ? codes.filter(isText) : [];
  }

  /**
   * The ids of all versions, and the id of the first version. If the edit history has no initial id, this is
   * the first id of the list. If it has no list, the initial id is the only version.
   */
  get #history():
    | { readonly initialId: string | undefined; readonly ids: readonly string[] }
    | undefined {
    const root = this.#root;
    // `#lacks` searches all bytes, which works only for posts. A document without a time is not a post, so
    // its members are read instead.
    if (root.firstOf(TIMES) !== undefined && this.#lacks(HISTORY)) return undefined;
    root.seekFromEnd('edit_history');
    const history = root.object('edit_history');
    if (history === undefined) return undefined;
    const { edit_tweet_ids: listed } = this.#value('edit_history') as { edit_tweet_ids?: unknown };
    const stated = history.string('initial_tweet_id') ?? history.integer('initial_tweet_id');
    const ids = Array.isArray(listed) ? listed.map(String) : stated === undefined ? [] : [stated];
    return { initialId: stated ?? ids[0], ids };
  }

  /**
   * Returns `true` if the post certainly does not have this key, and `false` if it may have it. `key`
   * includes the closing quote. Searching all bytes is faster than reading the members of the post.
   */
  #lacks(key: Buffer): boolean {
    this.#hasEscapes ??= this.raw.includes(ESCAPED_LETTER);
    return !this.#hasEscapes && !this.raw.includes(key);
  }

  get #idAtEdge(): string {
    this.#edgeId ??= leadingId(this.raw) ?? trailingId(this.raw) ?? '';
    return this.#edgeId;
  }

  #readId(): string {
    if (this.#idAtEdge !== '') return this.#idAtEdge;
    const root = this.#root;
    const stated = root.lastDigits('id') ?? idOf(root);
    if (stated === undefined) throw this.#missing('an id in id_str or id');
    return stated;
  }

  /** Whether to look for the rules first in `gnip`, where the `activity_streams` format has them. */
  get #readsGnip(): boolean {
    return this.#idAtEdge === '' && this.#root.string('id')?.startsWith('tag:') === true;
  }

  #readMatches(): Matches {
    // The matching rules are in `gnip` in the `activity_streams` format, and at the top level in the
    // `original` format. Both places are accepted for either format. The rules are usually at the end of the
    // post, so the end is searched first.
    const inGnip = this.#readsGnip;
    const last = inGnip ? matchesInGnipAtEnd(this.raw) : matchesAtEnd(this.raw);
    if (last !== undefined) return last;
    if (this.#lacks(RULES)) return NO_MATCHES;
    const root = this.#root;
    const span = inGnip
      ? (root.object('gnip')?.span('matching_rules') ?? root.span('matching_rules'))
      : (root.span('matching_rules') ?? root.object('gnip')?.span('matching_rules'));
    return span === undefined ? NO_MATCHES : parseMatches(this.raw, ...span);
  }

  get #sharedKey(): 'retweeted_status' | 'object' | undefined {
    const root = this.#root;
    if (this.format === 'original') {
      const isShared = !this.#lacks(SHARED) && root.object('retweeted_status') !== undefined;
      return isShared ? 'retweeted_status' : undefined;
    }
    return root.string('verb') === 'share' ? 'object' : undefined;
  }

  #nested(key: string): Activity | undefined {
    const span = this.#root.object(key) === undefined ? undefined : this.#root.span(key);
    return span === undefined ? undefined : activityOf(this.raw.subarray(...span));
  }

  #value(key: string): unknown {
    const span = this.#root.span(key);
    return span === undefined ? undefined : parseExact(this.raw.subarray(...span));
  }

  #missing(what: string): DataError {
    return new DataError(`Not a post: expected ${what}; it starts with ${excerpt(this.raw)}`);
  }
}

/**
 * The methods of `Activity` call this function. If the class used its own name, the bundler would rename the
 * class.
 */
function activityOf(bytes: Buffer): Activity {
  return new Activity(bytes);
}

function idOf(fields: LazyObject): string | undefined {
  return fields.lastDigits('id_str') ?? fields.integer('id');
}

/** An activity together with one of its tags, as `routeByTag` delivers it. */
export interface Routed {
  /** The tag of a matching rule. For activities without a tag, the name that the option `untagged` sets. */
  readonly tag: string;
  readonly activity: Activity;
}
