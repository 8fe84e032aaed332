import { inspect } from 'node:util';
import { DataError, OptionError } from '../errors.js';
import type { ActivityStreamsPost } from './activity-streams-post.js';
import { parseExact } from './exact-json.js';
import type { OriginalPost } from './original-post.js';

export type Format = 'original' | 'activity_streams';

/** A rule that a post matched (service.md section 6). */
export interface MatchingRule {
  readonly tag: string | null;
  /** Digits; posts of rules without unique ids have none. */
  readonly id: string | undefined;
  /** The rule's text, which only older captures carry. */
  readonly value?: string | undefined;
}

export interface Author {
  readonly id: string;
  /** Without `@`. */
  readonly handle: string;
  readonly name: string;
}

/** Edit metadata, on posts from 29 September 2022 on (service.md 2.3). */
export interface Edits {
  readonly initialId: string;
  /** All versions, ascending. */
  readonly ids: readonly string[];
  readonly editableUntil?: Date | undefined;
  readonly remaining?: number | undefined;
  readonly editable?: boolean | undefined;
}

/**
 * One delivered post: a lazy view over the bytes that the service sent, the same for both formats.
 * Nothing is copied or parsed before it is asked for. All ids are exact strings of digits.
 *
 * @throws DataError on access, when the bytes are not a post or lack what is asked for.
 * @example
 * const activity = new Activity(Buffer.from(line));
 * console.log(activity.id, activity.author.handle, activity.text, activity.tags);
 */
export class Activity {
  /** The exact bytes that came. */
  readonly raw: Buffer;
  #post: OriginalPost | ActivityStreamsPost | undefined;

  /** One JSON document. The bytes are viewed, not copied: they must not change afterwards. */
  constructor(bytes: Uint8Array) {
    this.raw = Buffer.isBuffer(bytes)
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get byteLength(): number {
    return this.raw.byteLength;
  }

  /** Copies the exact bytes to `target`, from `at` on, and returns how many. */
  copyInto(target: Uint8Array, at: number): number {
    target.set(this.raw, at);
    return this.raw.byteLength;
  }

  get format(): Format {
    if ('created_at' in this.post) return 'original';
    if ('postedTime' in this.post) return 'activity_streams';
    throw this.#lacks('neither created_at nor postedTime');
  }

  /** The parsed object of either format; ids are strings. Tell them apart by `format`. */
  get post(): OriginalPost | ActivityStreamsPost {
    if (this.#post === undefined) {
      const post = parseExact(this.raw);
      if (typeof post !== 'object' || post === null || Array.isArray(post))
        throw this.#lacks('no object');
      this.#post = post as OriginalPost | ActivityStreamsPost;
    }
    return this.#post;
  }

  get id(): string {
    return this.#digits(this.#string('id_str') ?? this.#string('id'), 'id');
  }

  get postedAt(): Date {
    const time = this.#string('created_at') ?? this.#string('postedTime');
    const date = new Date(time ?? Number.NaN);
    if (Number.isNaN(date.getTime())) throw this.#lacks('no time (created_at or postedTime)');
    return date;
  }

  /** The text in full, also of posts past 140 characters. That of a retweet is cut: see `retweeted`. */
  get text(): string {
    const text =
      stringIn(this.#member('extended_tweet'), 'full_text') ??
      stringIn(this.#member('long_object'), 'body') ??
      this.#string('full_text') ??
      this.#string('text') ??
      this.#string('body');
    if (text === undefined) throw this.#lacks('no text');
    return text;
  }

  get author(): Author {
    const user = this.#member('user') ?? this.#member('actor');
    const id = stringIn(user, 'id_str') ?? stringIn(user, 'id');
    return {
      id: this.#digits(id, 'author id'),
      handle: stringIn(user, 'screen_name') ?? stringIn(user, 'preferredUsername') ?? '',
      name: stringIn(user, 'name') ?? stringIn(user, 'displayName') ?? '',
    };
  }

  /** `share` for a retweet. */
  get verb(): 'post' | 'share' {
    return isObject(this.#member('retweeted_status')) || this.#string('verb') === 'share'
      ? 'share'
      : 'post';
  }

  /** BCP 47; `und` where the service recognised none. */
  get lang(): string | undefined {
    return (
      this.#string('lang') ??
      this.#string('twitter_lang') ??
      stringIn(memberOf(this.#member('gnip'), 'language'), 'value')
    );
  }

  /** Where the post can be seen: the same address in both formats. */
  get link(): string | undefined {
    if (this.format === 'activity_streams') return this.#string('link');
    return `http://twitter.com/${this.author.handle}/statuses/${this.id}`;
  }

  get matchingRules(): readonly MatchingRule[] {
    const rules =
      this.#member('matching_rules') ?? memberOf(this.#member('gnip'), 'matching_rules');
    if (!Array.isArray(rules)) return [];
    return rules.map(rule => {
      const value = stringIn(rule, 'value');
      return {
        tag: stringIn(rule, 'tag') ?? null,
        id: stringIn(rule, 'id_str') ?? stringIn(rule, 'id'),
        ...(value === undefined ? {} : { value }),
      };
    });
  }

  /** The distinct tags of the matching rules, in their order; untagged rules give none. */
  get tags(): readonly string[] {
    const tags = this.matchingRules.map(rule => rule.tag);
    return [...new Set(tags.filter(tag => tag !== null))];
  }

  /** The post that this one shares. */
  get retweeted(): Activity | undefined {
    const original = this.#member('retweeted_status');
    const shared = isObject(original)
      ? original
      : this.#string('verb') === 'share'
        ? this.#member('object')
        : undefined;
    return isObject(shared) ? new Activity(Buffer.from(JSON.stringify(shared))) : undefined;
  }

  get quoted(): Activity | undefined {
    const quoted = this.#member('quoted_status') ?? this.#member('twitter_quoted_status');
    return isObject(quoted) ? new Activity(Buffer.from(JSON.stringify(quoted))) : undefined;
  }

  get edits(): Edits | undefined {
    const { edit_history: history, edit_controls: controls, editable } = this.post;
    if (history === undefined) return undefined;
    return {
      initialId: history.initial_tweet_id,
      ids: history.edit_tweet_ids,
      editableUntil: controls === undefined ? undefined : new Date(controls.editable_until_ms),
      remaining: controls?.edits_remaining,
      editable,
    };
  }

  /**
   * The same post with other matching rules: all other bytes stay as they are.
   *
   * @throws OptionError when a rule's id is not a whole number.
   */
  withMatchingRules(rules: readonly MatchingRule[]): Activity {
    const json = matchingRulesJson(rules);
    const post: { matching_rules?: unknown; gnip?: object } = JSON.parse(this.raw.toString());
    if (this.format === 'original') post.matching_rules = '\0';
    else post.gnip = { ...post.gnip, matching_rules: '\0' };
    return new Activity(Buffer.from(JSON.stringify(post).replace('"\\u0000"', () => json)));
  }

  toJSON(): OriginalPost | ActivityStreamsPost {
    return this.post;
  }

  [inspect.custom](): object {
    return this.post;
  }

  #member(key: string): unknown {
    return memberOf(this.post, key);
  }

  #string(key: string): string | undefined {
    return stringIn(this.post, key);
  }

  #digits(id: string | undefined, what: string): string {
    const digits = /(?:^|:)(\d+)$/.exec(id ?? '')?.[1];
    if (digits === undefined) throw this.#lacks(`no ${what}`);
    return digits;
  }

  #lacks(what: string): DataError {
    const start = this.raw.subarray(0, 80).toString();
    return new DataError(`Not a post: it has ${what}. It starts with: ${start}`);
  }
}

function matchingRulesJson(rules: readonly MatchingRule[]): string {
  const entries = rules.map(({ value, tag, id }) => {
    if (id !== undefined && !/^\d+$/.test(id))
      throw new OptionError('rules', `A rule id is a whole number, got ${JSON.stringify(id)}`);
    const parts = [
      ...(value === undefined ? [] : [`"value":${JSON.stringify(value)}`]),
      `"tag":${JSON.stringify(tag)}`,
      ...(id === undefined ? [] : [`"id":${id},"id_str":"${id}"`]),
    ];
    return `{${parts.join(',')}}`;
  });
  return `[${entries.join(',')}]`;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function memberOf(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key)
    ? (value as { readonly [key: string]: unknown })[key]
    : undefined;
}

function stringIn(value: unknown, key: string): string | undefined {
  const member = memberOf(value, key);
  return typeof member === 'string' ? member : undefined;
}
