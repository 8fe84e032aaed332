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

/** The two JSON formats in which the service sends posts. Each archive and stream has one. */
export type Format = 'original' | 'activity_streams';

/** The author of a post, the same for both formats: numeric id, handle, and display name. */
export interface Author {
  /** The id of the author, as digits. */
  readonly id: string;
  /** The handle, without `@`. */
  readonly handle: string;
  readonly name: string;
}

/** The versions of a post, and how it can still be edited. Only posts since 29 September 2022 have this. */
export interface Edits {
  /** The id of the first version. */
  readonly initialId: string;
  /** The ids of all versions, ascending. */
  readonly ids: readonly string[];
  readonly editableUntil?: Date | undefined;
  readonly remaining?: number | undefined;
  readonly editable?: boolean | undefined;
}

/** Members that have different names in the two formats. */
const TIMES = ['created_at', 'postedTime'] as const;
const AUTHORS = ['user', 'actor'] as const;

/**
 * The ends of keys that most posts do not have. They have no opening quote, because a post has many
 * quotes, and a search for bytes that start with a quote takes three times as long.
 */
const HISTORY = Buffer.from('edit_history"');
const SHARED = Buffer.from('retweeted_status"');
const QUOTED = Buffer.from('quoted_status"');
const WITHHELD = Buffer.from('withheld_in_countries"');
const RULES = Buffer.from('matching_rules"');
/** The start of an escape for an ASCII letter. If a post contains it, its keys may be escaped. */
const ESCAPED_LETTER = Buffer.from('\\u00');

const NOWHERE: { readonly post: readonly string[]; readonly author: readonly string[] } = {
  post: [],
  author: [],
};

/**
 * One delivered post: a lazy view of the bytes that the service sent, the same for both formats. Ids are
 * exact strings of digits. A property reads its field from the bytes when it is used; only `post` parses the
 * whole post. A view keeps the whole received block in memory. If your own code keeps a few posts of many,
 * keep `new Activity(Buffer.from(activity.raw))`, as built-in stages do.
 *
 * @throws DataError From every property, if the bytes are not a post or the field is missing.
 *
 * @example
 * const activity = new Activity(line);
 * console.log(activity.id, activity.postedAt, activity.author.handle, activity.text);
 */
export class Activity {
  /** The exact bytes as received. */
  readonly raw: Buffer;
  #fields: LazyObject | undefined;
  /** The id, if `leadingId` or `trailingId` finds it among the first or last members; empty if they do not. */
  #edgeId: string | undefined;
  #id: string | undefined;
  #matches: Matches | undefined;
  #hasEscapes: boolean | undefined;
  #post: OriginalPost | ActivityStreamsPost | undefined;

  /** @param bytes One JSON document. It is not copied, so it must not be changed. */
  constructor(bytes: Uint8Array) {
    this.raw = bufferOf(bytes);
  }

  get byteLength(): number {
    return this.raw.byteLength;
  }

  /** The format, recognised by the field of the time: `created_at` or `postedTime`. */
  get format(): Format {
    const key = this.#root.firstOf(TIMES);
    if (key === undefined) throw this.#missing('created_at or postedTime');
    return key === 'created_at' ? 'original' : 'activity_streams';
  }

  /** The whole post, parsed on first use, with ids as strings. Its type depends on `format`. */
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

  /** The full text, even beyond 140 characters. In a retweet, the retweeted text is truncated, see `retweeted`. */
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
   * The id of `author`; `undefined` if the post has none, for example because its author was trimmed.
   *
   * @internal
   */
  get authorId(): string | undefined {
    const author = this.#author;
    return author && (author.key === 'user' ? idOf(author.fields) : author.fields.lastDigits('id'));
  }

  /**
   * The codes of the countries in which the post is withheld, and in which its author is withheld.
   *
   * @internal
   */
  get withheldIn(): typeof NOWHERE {
    const root = this.#root;
    if (this.#lacks(WITHHELD)) return NOWHERE;
    return { post: this.#countriesIn(root), author: this.#countriesIn(this.#author?.fields) };
  }

  /** `share` if the post is a retweet. */
  get verb(): 'post' | 'share' {
    return this.#sharedKey === undefined ? 'post' : 'share';
  }

  /** The language code that the service has assigned; `und` if it recognised no language. */
  get lang(): string | undefined {
    const root = this.#root;
    if (this.format === 'original') return root.string('lang');
    // Old posts have no `twitter_lang`. Their language is an enrichment.
    return root.string('twitter_lang') ?? root.object('gnip')?.object('language')?.string('value');
  }

  /** The URL of the post on the web, in the form of the `activity_streams` format. */
  get link(): string | undefined {
    if (this.format === 'activity_streams') return this.#root.string('link');
    return `http://twitter.com/${this.author.handle}/statuses/${this.id}`;
  }

  /** The rules that the post matched; empty if it was not delivered for a rule. */
  get matchingRules(): readonly MatchingRule[] {
    this.#matches ??= this.#readMatches();
    return this.#matches.rules;
  }

  /** The distinct tags of the matching rules, in order. Rules without a tag are ignored. */
  get tags(): readonly string[] {
    this.#matches ??= this.#readMatches();
    return this.#matches.tags;
  }

  /** The post that this post retweets, as a view of the same bytes. */
  get retweeted(): Activity | undefined {
    return this.#sharedKey === undefined ? undefined : this.#nested(this.#sharedKey);
  }

  /** The post that this post quotes, as a view of the same bytes. */
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
   * The ids in `edits`, found without reading the rest of `edits`.
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
   * The place where `withMatchingRules` writes the list of rules.
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
   * Continues with equal bytes at another place in memory, so that the previous bytes can be freed.
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
   * The edit history. If a post has no initial id, it is the first id of the list; if a post has no list, the
   * list is its initial id.
   */
  get #history():
    | { readonly initialId: string | undefined; readonly ids: readonly string[] }
    | undefined {
    const root = this.#root;
    // A document without a time is not a post, so it is read in the usual way, which reports this.
    if (root.firstOf(TIMES) !== undefined && this.#lacks(HISTORY)) return undefined;
    root.seekFromEnd('edit_history');
    const history = root.object('edit_history');
    if (history === undefined) return undefined;
    const { edit_tweet_ids: listed } = this.#value('edit_history') as { edit_tweet_ids?: unknown };
    const stated = history.string('initial_tweet_id') ?? history.integer('initial_tweet_id');
    const ids = Array.isArray(listed) ? listed.map(String) : stated === undefined ? [] : [stated];
    return { initialId: stated ?? ids[0], ids };
  }

  /** Whether no key of the post ends with these bytes. Searching all bytes is faster than reading the members. */
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

  /** Whether to look for the rules in the member of the `activity_streams` format first. */
  get #readsGnip(): boolean {
    return this.#idAtEdge === '' && this.#root.string('id')?.startsWith('tag:') === true;
  }

  #readMatches(): Matches {
    // Each format has a separate member for the rules, usually the last member. Either is accepted.
    const inGnip = this.#readsGnip;
    const last = inGnip ? undefined : matchesAtEnd(this.raw);
    if (last !== undefined) return last;
    if (this.#lacks(RULES)) return NO_MATCHES;
    const root = this.#root;
    if (inGnip) root.seekFromEnd('gnip');
    const span = inGnip
      ? (root.object('gnip')?.span('matching_rules') ?? root.span('matching_rules'))
      : (root.span('matching_rules') ?? root.object('gnip')?.span('matching_rules'));
    return span === undefined ? NO_MATCHES : parseMatches(this.raw, ...span);
  }

  /** The key of the retweeted post. */
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
 * This function is outside of the class, because the bundler renames a class that refers to itself.
 */
function activityOf(bytes: Buffer): Activity {
  return new Activity(bytes);
}

/** The exact id of an object of the original format. */
function idOf(fields: LazyObject): string | undefined {
  return fields.lastDigits('id_str') ?? fields.integer('id');
}

/** An activity with one of its tags. `routeByTag` delivers these. */
export interface Routed {
  /** The tag of a matching rule, or the name for activities without a tag. */
  readonly tag: string;
  readonly activity: Activity;
}
