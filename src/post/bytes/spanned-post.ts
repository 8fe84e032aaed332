import { isTexts } from '../../json/json.js';
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  isDigit,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from '../../json/json-bytes.js';
import { DOCUMENT, MemberSpans, type WantedMembers } from '../../json/member-spans.js';
import { Activity, type Edits } from '../activity.js';
import type { ActivityStreamsPost } from '../activity-streams-post.js';
import { type Matches, type MatchingRule, matchesAtEnd } from '../matching-rules.js';
import type { OriginalPost } from '../original-post.js';
import { exactId, parsePost } from '../parse-post.js';
import { type PlaceOfRules, placeOfList, RULES_KEY } from '../place-of-rules.js';
import { parseCreatedAt, parseIsoTime } from '../posted-at.js';
import { LeftToParser, memberValue } from './member-value.js';
import { POST_MEMBERS } from './post-members.js';
import { LISTS, SpannedList } from './spanned-list.js';

/** The ids that `parsePost` restores, besides `id` of these objects. */
const RESTORED = new Set(['in_reply_to_status_id', 'in_reply_to_user_id', 'quoted_status_id']);
const HAVE_IDS = new Set([
  'user',
  'retweeted_status',
  'quoted_status',
  'object',
  'twitter_quoted_status',
]);

/** Its members are getters, which read their values from the bytes. */
type Members = Readonly<Record<string, unknown>>;

/** One for all readers of a thread; absent where WebAssembly gets no memory. */
let shared: SpannedPost | undefined;

export function sharedPost(): SpannedPost | undefined {
  try {
    shared ??= new SpannedPost();
  } catch {
    // Posts are parsed.
  }
  return shared;
}

const EMPTY: readonly unknown[] = [];
const WRAPPED = [Buffer.from('{"matching_rules":'), Buffer.from('}')] as const;

/**
 * The post that was read last, as far as columns and rules need it: a post as `Activity` and `parsePost` have it, whose
 * members are read from the bytes when they are used. There is one object for all posts, so its values are used before
 * the next post is read.
 */
export class SpannedPost {
  readonly spans: MemberSpans = new MemberSpans(POST_MEMBERS);
  readonly #root: Members;
  readonly #id = this.placeOf('id');
  readonly #idString = this.placeOf('id_str');
  readonly #createdAt = this.placeOf('created_at');
  readonly #postedTime = this.placeOf('postedTime');
  readonly #editHistory = this.placeOf('edit_history');
  readonly #editControls = this.placeOf('edit_controls');
  readonly #matchingRules = this.placeOf('matching_rules');
  readonly #gnip = this.placeOf('gnip');
  readonly #rulesInGnip = this.placeOf('gnip.matching_rules');
  /** The members of objects, by the place of the object. */
  readonly #objects: Members[] = [];
  /** What reads the elements of a list, by its place. */
  readonly #lists: (SpannedList | undefined)[] = [];
  /** Arrays and objects, by their places, that were parsed once already: rules read them several times. */
  readonly #parsed: unknown[] = [];
  /** The number of the post that each of these is of. */
  readonly #parsedOf: number[] = [];
  #posts = 0;
  #content: Buffer = Buffer.alloc(0);
  #start = 0;
  #end = 0;
  #activity: Activity | undefined;

  /** @throws RangeError where WebAssembly gets no memory. */
  constructor() {
    this.#root = this.#objectOf(POST_MEMBERS, '', true);
    const lists = new Map(LISTS.map(list => [list.key, new SpannedList(this.spans, list)]));
    for (const [path, place] of this.spans.places)
      this.#lists[place] = lists.get(path.slice(path.lastIndexOf('.') + 1));
  }

  /** Reads the post between two positions; `false` where it has to be parsed. */
  read(content: Buffer, start: number, end: number): boolean {
    this.#content = content;
    this.#start = start;
    this.#end = end;
    this.#activity = undefined;
    this.#posts++;
    return this.spans.find(content, start, end);
  }

  /** The place of a member among the spans, by its path. */
  placeOf(path: string): number {
    const place = this.spans.places.get(path);
    if (place === undefined) throw new Error(`No column or rule reads ${path}`);
    return place;
  }

  /** The rules that the post matched, and their tags: the same lists for the same rules. */
  get matches(): Matches {
    const { spans } = this;
    const idStart = spans.startOf(this.#id);
    // An id that is a text may be of the other format, which has the rules elsewhere.
    const near =
      idStart !== 0 && spans.bytes[idStart] !== QUOTE
        ? matchesAtEnd(this.#content, this.#start, this.#end)
        : undefined;
    return near ?? { rules: this.matchingRules, tags: this.tags };
  }

  /** As every getter, throws for what it leaves to the parser. */
  get id(): string {
    const spans = this.spans;
    const { bytes } = spans;
    const start = spans.startOf(this.#id);
    if (start === 0 || bytes[start] !== QUOTE) return this.#digits(this.#idString, true);
    return this.#digits(this.#id, false);
  }

  get postedAt(): Date {
    const created = this.spans.startOf(this.#createdAt) !== 0;
    if (created === (this.spans.startOf(this.#postedTime) !== 0)) throw new LeftToParser();
    const { created_at: createdAt, postedTime } = this.#root;
    const text = created ? createdAt : postedTime;
    if (typeof text !== 'string') throw new LeftToParser();
    const ms = created ? parseCreatedAt(text) : parseIsoTime(text);
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

  /**
   * Where `withMatchingRules` puts the list of rules: as `Activity` finds it, by the spans. Each wanted key is there once, so
   * only the format decides which list is read.
   */
  get placeOfRules(): PlaceOfRules {
    const { spans } = this;
    const isOriginal = spans.startOf(this.#createdAt) !== 0;
    if (isOriginal === (spans.startOf(this.#postedTime) !== 0)) throw new LeftToParser();
    const idStart = spans.startOf(this.#id);
    const isRead = idStart === 0 || spans.bytes[idStart] !== QUOTE;
    if (spans.startOf(this.#matchingRules) !== 0)
      return placeOfList(this.#spanOf(this.#matchingRules), isRead);
    if (spans.startOf(this.#rulesInGnip) !== 0)
      return placeOfList(this.#spanOf(this.#rulesInGnip), true);
    if (isOriginal) return this.#placeAtEnd(`,${RULES_KEY}`, '', isRead);
    const gnip = spans.startOf(this.#gnip);
    if (gnip === 0) return this.#placeAtEnd(`,"gnip":{${RULES_KEY}`, '}', true);
    const [start, end] = this.#spanOf(this.#gnip);
    if (spans.bytes[gnip] !== OPEN_OBJECT)
      return { start, end, before: `{${RULES_KEY}`, after: '}', isRead: true };
    const close = end - 1;
    let last = close - 1;
    while (spans.bytes[DOCUMENT + last]! <= 0x20) last--;
    const before = last === start ? RULES_KEY : `,${RULES_KEY}`;
    return { start: close, end: close, before, after: '', isRead: true };
  }

  /** Where a member starts and ends in the post. */
  #spanOf(place: number): readonly [number, number] {
    const { spans } = this;
    return [spans.startOf(place) - DOCUMENT, spans.endOf(place) - DOCUMENT];
  }

  /** The end of the post, which is not empty. */
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

  /** The digits that a string ends with: all of it, or all after the last colon. */
  #digits(member: number, isAll: boolean): string {
    const { bytes } = this.spans;
    const start = this.spans.startOf(member) + 1;
    const end = this.spans.endOf(member) - 1;
    let at = end;
    while (at > start && isDigit(bytes[at - 1]!)) at--;
    if (start === 1 || bytes[start - 1] !== QUOTE || at === end) throw new LeftToParser();
    if (at !== start && (isAll || bytes[at - 1] !== 0x3a)) throw new LeftToParser();
    return bytes.toString('latin1', at, end);
  }

  #objectOf(members: WantedMembers, path: string, hasId: boolean): Members {
    const object = {};
    for (const [key, nested] of Object.entries(members)) {
      const place = this.placeOf(path + key);
      const child =
        nested === true ? undefined : this.#objectOf(nested, `${path}${key}.`, HAVE_IDS.has(key));
      const isId = (hasId && key === 'id') || RESTORED.has(key);
      if (child !== undefined) this.#objects[place] = child;
      const get =
        child !== undefined
          ? () => this.#objectAt(place) ?? this.#value(place)
          : isId
            ? () => exactId(this.#value(place), this.#value(this.placeOf(`${path}${key}_str`)))
            : () => this.#value(place);
      Object.defineProperty(object, key, { get });
    }
    return object;
  }

  /** A whole number from 0 on, if there is one. */
  #whole(path: string): number | undefined {
    const place = this.placeOf(path);
    const start = this.spans.startOf(place);
    const end = this.spans.endOf(place);
    if (start === 0) return undefined;
    for (let at = start; at < end; at++)
      if (!isDigit(this.spans.bytes[at]!)) throw new LeftToParser();
    return Number(this.spans.bytes.toString('latin1', start, end));
  }

  /** A member that is an object. */
  #objectAt(place: number): Members | undefined {
    const start = this.spans.startOf(place);
    const isObject = start !== 0 && this.spans.bytes[start] === OPEN_OBJECT;
    return isObject ? this.#objects[place] : undefined;
  }

  #value(place: number): unknown {
    const { spans } = this;
    const start = spans.startOf(place);
    const { bytes } = spans;
    if (bytes[start] === OPEN_ARRAY || bytes[start] === OPEN_OBJECT)
      return this.#parsedAt(place, start, spans.endOf(place));
    return memberValue(bytes, start, spans.positions[2 * place + 1]!);
  }

  #parsedAt(place: number, start: number, end: number): unknown {
    if (this.#parsedOf[place] !== this.#posts) {
      const { bytes } = this.spans;
      const isEmpty = bytes[start + 1] === CLOSE_ARRAY;
      this.#parsed[place] = isEmpty
        ? EMPTY
        : (this.#lists[place]?.read(start, end) ?? parsed(bytes.subarray(start, end)));
      this.#parsedOf[place] = this.#posts;
    }
    return this.#parsed[place];
  }
}

/** Parses a value as `parsePost` does for the members of a post, with the ids of mentions and media restored. */
function parsed(value: Buffer): unknown {
  const post = parsePost(Buffer.concat([WRAPPED[0], value, WRAPPED[1]])) as unknown as Members;
  return post.matching_rules;
}
