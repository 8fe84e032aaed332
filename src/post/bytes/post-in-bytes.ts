import { CLOSE_ARRAY, CLOSE_OBJECT, isDigit, isTextAt } from '../../json/byte-codes.js';
import { isTexts } from '../../json/type-guards.js';
import { Activity, type Edits, type Format } from '../activity.js';
import type { ActivityStreamsPost } from '../activity-streams-post.js';
import {
  type Matches,
  type MatchingRule,
  matchesAtEnd,
  NO_MATCHES,
  type PlaceOfRules,
  parseMatches,
  placeOfList,
  RULES_KEY,
} from '../matching-rules.js';
import type { OriginalPost } from '../original-post.js';
import { exactId, parsePost } from '../parse-post.js';
import { parseCreatedAt, parseIsoTime } from '../posted-at.js';
import {
  type Elements,
  MemberFinder,
  type StringDecoder,
  type WantedMembers,
} from './find-members.js';
import { LISTS, ListInBytes } from './list-in-bytes.js';
import { LeftToParser, type MemberValues, memberValues, readMember } from './member-values.js';
import { POST_MEMBERS } from './post-members.js';

/**
 * Members whose values `parsePost` replaces by exact ids. In the objects in `HAVE_IDS`, it also replaces the
 * member `id`.
 */
const RESTORED = new Set(['in_reply_to_status_id', 'in_reply_to_user_id', 'quoted_status_id']);
const HAVE_IDS = new Set([
  'user',
  'retweeted_status',
  'quoted_status',
  'object',
  'twitter_quoted_status',
]);

/** An object whose members are getters. Each getter reads its value from the bytes. */
type Members = Readonly<Record<string, unknown>>;

/**
 * The `PostInBytes` that all readers in this thread share. `undefined` before the first use. `null` if there
 * is not enough memory for its WebAssembly code.
 */
let ofThread: PostInBytes | undefined | null;

const EMPTY: readonly unknown[] = [];
const TAG_OF_ID = Buffer.from('"tag:');
const WRAPPED = [Buffer.from('{"matching_rules":'), Buffer.from('}')] as const;

/**
 * A post whose members are read from its bytes when they are used. It has the members that columns and rules
 * need, with the same values as in `Activity` and `parsePost`. One object reads all posts of a thread, one
 * after another; see `read`.
 */
export class PostInBytes {
  readonly #finder = new MemberFinder(POST_MEMBERS);
  readonly values: MemberValues = memberValues(this.#finder);
  readonly #root: Members;
  readonly #id = this.numberOf('id');
  readonly #idString = this.numberOf('id_str');
  readonly #createdAt = this.numberOf('created_at');
  readonly #postedTime = this.numberOf('postedTime');
  readonly #editHistory = this.numberOf('edit_history');
  readonly #editControls = this.numberOf('edit_controls');
  readonly #matchingRules = this.numberOf('matching_rules');
  readonly #gnip = this.numberOf('gnip');
  readonly #rulesInGnip = this.numberOf('gnip.matching_rules');
  readonly #objects: Members[] = [];
  readonly #lists: (ListInBytes | undefined)[] = [];
  readonly #elements = new Map<string, Elements>();
  /** Parsed arrays and objects, by the index of the member. Cached, because rules read them several times. */
  readonly #parsed: unknown[] = [];
  /**
   * For each entry of `#parsed`, the number of the post that it belongs to. If this is not `#posts`, the
   * number of the current post, the entry is out of date.
   */
  readonly #parsedOf: number[] = [];
  #posts = 0;
  #isRead = false;
  #content: Buffer = Buffer.alloc(0);
  #start = 0;
  #end = 0;
  #activity: Activity | undefined;

  private constructor() {
    this.#root = this.#objectOf(POST_MEMBERS, '', true);
    const lists = new Map(LISTS.map(list => [list.key, new ListInBytes(this.#finder, list)]));
    for (const [path, member] of this.#finder.members)
      this.#lists[member] = lists.get(path.slice(path.lastIndexOf('.') + 1));
  }

  /**
   * Returns the instance of this thread. Returns `undefined` if WebAssembly gets no memory; posts must then
   * be parsed.
   */
  static ofThread(): PostInBytes | undefined {
    if (ofThread === undefined)
      try {
        ofThread = new PostInBytes();
      } catch {
        ofThread = null;
      }
    return ofThread ?? undefined;
  }

  /**
   * Reads the post between two positions, then calls `use`. During that call, this object represents the
   * post. Returns `undefined`, without calling `use`, if the post has to be parsed instead. This is also the
   * case if `read` is called inside another `use`.
   *
   * @throws The error of `use`, such as a `LeftToParser` from a getter.
   */
  read<T>(
    content: Buffer,
    start: number,
    end: number,
    use: (post: PostInBytes) => T,
  ): T | undefined {
    if (this.#isRead) return undefined;
    this.#content = content;
    this.#start = start;
    this.#end = end;
    this.#activity = undefined;
    this.#posts++;
    if (!this.#finder.find(content, start, end)) return undefined;
    this.#isRead = true;
    try {
      return use(this);
    } finally {
      this.#isRead = false;
    }
  }

  /**
   * The bytes of the document that was read last. The positions of its members are indices in these bytes.
   */
  get bytes(): Buffer {
    return this.#finder.bytes;
  }

  get strings(): StringDecoder {
    return this.#finder.strings;
  }

  numberOf(path: string): number {
    const member = this.#finder.members.get(path);
    if (member === undefined) throw new Error(`No column or rule reads ${path}`);
    return member;
  }

  /**
   * Returns a reader for the elements of a list. With `wanted`, the elements are objects; otherwise, strings.
   * Calls with the same `wanted` return the same reader. Use each element before you read the next, because a
   * reader keeps only one.
   */
  elements(wanted?: WantedMembers): Elements {
    const key = JSON.stringify(wanted ?? 'strings');
    const elements = this.#elements.get(key) ?? this.#finder.elements(wanted);
    this.#elements.set(key, elements);
    return elements;
  }

  /** Posts with the same rules share the same arrays. */
  get matches(): Matches {
    const { startOf, endOf, isText, hasEscapes } = this.values;
    const id = startOf(this.#id);
    if (id !== 0 && !isText(this.#id)) {
      const near = matchesAtEnd(this.#content, this.#start, this.#end);
      if (near !== undefined) return near;
    } else if (isTextAt(this.bytes, TAG_OF_ID, id) && !hasEscapes(this.#id)) {
      // In the `activity_streams` format, a list of rules in `gnip` takes precedence, as in `Activity`.
      const list = startOf(this.#rulesInGnip) === 0 ? this.#matchingRules : this.#rulesInGnip;
      if (startOf(list) === 0) return NO_MATCHES;
      return parseMatches(this.bytes, startOf(list), endOf(list));
    }
    return { rules: this.matchingRules, tags: this.tags };
  }

  /** The post's id as a string of digits. Throws `LeftToParser` if only the JSON parser can read the id. */
  get id(): string {
    const { isText, digitsOfId, endOf } = this.values;
    const hasPrefix = isText(this.#id);
    const id = hasPrefix ? this.#id : this.#idString;
    const start = digitsOfId(id, hasPrefix);
    if (start === -1) throw new LeftToParser();
    return this.bytes.toString('latin1', start, endOf(id) - 1);
  }

  get postedAt(): Date {
    const isOriginal = this.#isOriginal;
    const { created_at: createdAt, postedTime } = this.#root;
    const text = isOriginal ? createdAt : postedTime;
    if (typeof text !== 'string') throw new LeftToParser();
    const ms = isOriginal ? parseCreatedAt(text) : parseIsoTime(text);
    if (Number.isNaN(ms)) throw new LeftToParser();
    return new Date(ms);
  }

  get post(): OriginalPost | ActivityStreamsPost {
    return this.#root as unknown as OriginalPost | ActivityStreamsPost;
  }

  get matchingRules(): readonly MatchingRule[] {
    return this.#view.matchingRules;
  }

  get tags(): readonly string[] {
    return this.#view.tags;
  }

  get format(): Format {
    return this.#isOriginal ? 'original' : 'activity_streams';
  }

  /**
   * Whether the post has the `original` format. Only posts in that format have `created_at`; posts in the
   * other format have `postedTime`.
   */
  get #isOriginal(): boolean {
    const { startOf } = this.values;
    const isOriginal = startOf(this.#createdAt) !== 0;
    if (isOriginal === (startOf(this.#postedTime) !== 0)) throw new LeftToParser();
    return isOriginal;
  }

  /**
   * Where `Activity.withMatchingRules` would write the list of rules: over the existing list, or if there is
   * none, at the place that depends on the format of the post.
   */
  get placeOfRules(): PlaceOfRules {
    const { bytes } = this;
    const { startOf, isText, isObject } = this.values;
    const isOriginal = this.#isOriginal;
    const isRead = !isText(this.#id);
    if (startOf(this.#matchingRules) !== 0)
      return placeOfList(this.#spanOf(this.#matchingRules), isRead);
    if (startOf(this.#rulesInGnip) !== 0) return placeOfList(this.#spanOf(this.#rulesInGnip), true);
    if (isOriginal) return this.#placeAtEnd(`,${RULES_KEY}`, '', isRead);
    if (startOf(this.#gnip) === 0) return this.#placeAtEnd(`,"gnip":{${RULES_KEY}`, '}', true);
    const [start, end] = this.#spanOf(this.#gnip);
    if (!isObject(this.#gnip))
      return { start, end, before: `{${RULES_KEY}`, after: '}', isRead: true };
    const close = end - 1;
    let last = close - 1;
    while (bytes[last]! <= 0x20) last--;
    const before = last === start ? RULES_KEY : `,${RULES_KEY}`;
    return { start: close, end: close, before, after: '', isRead: true };
  }

  #spanOf(member: number): readonly [number, number] {
    return [this.values.startOf(member), this.values.endOf(member)];
  }

  /** Returns the place for a new member at the end of the post. The post must not be an empty object. */
  #placeAtEnd(before: string, after: string, isRead: boolean): PlaceOfRules {
    let close = this.#end - 1;
    while (this.#content[close] !== CLOSE_OBJECT) close--;
    const at = close - this.#start;
    return { start: at, end: at, before, after, isRead };
  }

  get edits(): Edits | undefined {
    const history = this.#objectAt(this.#editHistory);
    if (history === undefined) return undefined;
    const controls = this.#objectAt(this.#editControls) !== undefined;
    const { initial_tweet_id: initialId, edit_tweet_ids: ids } = history;
    const until = controls ? this.#whole('edit_controls.editable_until_ms') : undefined;
    const remaining = controls ? this.#whole('edit_controls.edits_remaining') : undefined;
    const { editable } = this.#root;
    if (typeof initialId !== 'string' || !isTexts(ids)) throw new LeftToParser();
    return {
      initialId,
      ids,
      editableUntil: until === undefined ? undefined : new Date(until),
      remaining,
      editable: typeof editable === 'boolean' ? editable : undefined,
    };
  }

  get #view(): Activity {
    this.#activity ??= new Activity(this.#content.subarray(this.#start, this.#end));
    return this.#activity;
  }

  #objectOf(members: WantedMembers, path: string, hasId: boolean): Members {
    const object = {};
    for (const [key, nested] of Object.entries(members)) {
      const member = this.numberOf(path + key);
      const child =
        nested === true ? undefined : this.#objectOf(nested, `${path}${key}.`, HAVE_IDS.has(key));
      const isId = (hasId && key === 'id') || RESTORED.has(key);
      if (child !== undefined) this.#objects[member] = child;
      const get =
        child !== undefined
          ? () => this.#objectAt(member) ?? this.#value(member)
          : isId
            ? () => exactId(this.#value(member), this.#value(this.numberOf(`${path}${key}_str`)))
            : () => this.#value(member);
      Object.defineProperty(object, key, { get });
    }
    return object;
  }

  #whole(path: string): number | undefined {
    const [start, end] = this.#spanOf(this.numberOf(path));
    if (start === 0) return undefined;
    for (let at = start; at < end; at++) if (!isDigit(this.bytes[at]!)) throw new LeftToParser();
    return Number(this.bytes.toString('latin1', start, end));
  }

  /**
   * Returns an object with a getter for each member of the object in `member`. Returns `undefined` if the
   * value of `member` is not an object.
   */
  #objectAt(member: number): Members | undefined {
    return this.values.isObject(member) ? this.#objects[member] : undefined;
  }

  #value(member: number): unknown {
    const { isObject, isList } = this.values;
    if (isObject(member) || isList(member)) return this.#parsedValue(member);
    return readMember(this.#finder, member);
  }

  #parsedValue(member: number): unknown {
    if (this.#parsedOf[member] !== this.#posts) {
      const [start, end] = this.#spanOf(member);
      const isEmpty = this.bytes[start + 1] === CLOSE_ARRAY;
      this.#parsed[member] = isEmpty
        ? EMPTY
        : (this.#lists[member]?.read(start, end) ?? parsed(this.bytes.subarray(start, end)));
      this.#parsedOf[member] = this.#posts;
    }
    return this.#parsed[member];
  }
}

/**
 * Parses a value as if it were the `matching_rules` of a post, so that `parsePost` makes the ids in it exact,
 * such as the ids of mentions and media.
 */
function parsed(value: Buffer): unknown {
  const post = parsePost(Buffer.concat([WRAPPED[0], value, WRAPPED[1]])) as unknown as Members;
  return post.matching_rules;
}
