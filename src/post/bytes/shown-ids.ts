import {
  afterDigits,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  isTextAt,
  QUOTE,
} from '../../json/byte-codes.js';
import { isTexts, parsedAs } from '../../json/type-guards.js';
import { Activity } from '../activity.js';
import { MemberFinder, type WantedMembers } from './find-members.js';
import { IdNumber } from './ids.js';
import { memberValues } from './member-values.js';

/** What a stored id belongs to. Several of these flags can be added together. */
export const ID_OF = {
  post: 0,
  /** The id belongs to another version of the post. */
  version: 1,
  user: 2,
  /** The id belongs to a quoted post, or to its author. */
  quoted: 4,
  /**
   * The entry is not an id, but the `countryNumber` of a country in which the post or its author is withheld.
   */
  country: 8,
} as const;

/** The number of integers that are stored for each id: its flags, then its two halves of 32 bits. */
export const SHOWN_INTS = 3;

const number = new IdNumber();

/**
 * Returns the code of a country as a number. `ShownIds` stores it as the lower half of an id. Returns 0 if
 * the code does not consist of two letters.
 */
export function countryNumber(code: string): number {
  return /^[a-z]{2}$/i.test(code) ? Buffer.from(code.toUpperCase()).readUInt16BE() : 0;
}

/**
 * Reads from a post what decides whether it may be shown: its id, the ids of its other versions and of its
 * author, and the countries in which the post or its author is withheld. Reads the same from the posts that
 * it retweets and quotes. Parses the post as an `Activity` only if its bytes have an unusual form. Skips ids
 * that are not 64-bit integers.
 */
export class ShownIds {
  /** The ids in the post that was read last. They take the first `length` elements. */
  numbers: Uint32Array = new Uint32Array(16 * SHOWN_INTS);
  length = 0;
  readonly #inBytes: IdsInBytes | undefined;

  constructor() {
    try {
      this.#inBytes = new IdsInBytes(this);
    } catch {
      // WebAssembly gets no memory, so `Activity` reads all posts.
    }
  }

  /**
   * Reads the ids in the post whose JSON is in `content` from `start` to `end`.
   *
   * @throws DataError if the post, or a post inside it, lacks a member that all posts have
   */
  read(content: Buffer, start: number, end: number): void {
    this.length = 0;
    if (this.#inBytes?.read(content, start, end) === true) return;
    this.length = 0;
    this.#addAll(new Activity(content.subarray(start, end)), 0);
  }

  add(of: number, high: number, low: number): void {
    if (this.length === this.numbers.length) {
      const grown = new Uint32Array(2 * this.length);
      grown.set(this.numbers);
      this.numbers = grown;
    }
    this.numbers[this.length] = of;
    this.numbers[this.length + 1] = high;
    this.numbers[this.length + 2] = low;
    this.length += SHOWN_INTS;
  }

  #addAll(activity: Activity, within: number): void {
    const { id, versionIds, authorId, withheldIn, retweeted, quoted } = activity;
    this.#addText(within + ID_OF.post, id);
    for (const version of versionIds)
      if (version !== id) this.#addText(within + ID_OF.version, version);
    this.addCountries(withheldIn.post, within);
    if (authorId !== undefined) this.#addText(within + ID_OF.user, authorId);
    this.addCountries(withheldIn.author, within);
    if (retweeted !== undefined) this.#addAll(retweeted, within);
    if (quoted !== undefined) this.#addAll(quoted, ID_OF.quoted);
  }

  addCountries(codes: readonly string[], within: number): void {
    for (const code of codes) this.add(within + ID_OF.country, 0, countryNumber(code));
  }

  #addText(of: number, id: string): void {
    if (number.parse(id) || parseLoosely(id)) this.add(of, number.high, number.low);
  }
}

/**
 * Parses an id into `number`. Unlike `IdNumber.parse`, accepts leading zeros. Returns `false` if the string is
 * not an id.
 */
function parseLoosely(id: string): boolean {
  if (!/^\d{1,20}$/.test(id)) return false;
  const value = BigInt(id);
  number.high = Number(value >> 32n);
  number.low = Number(value & 0xffffffffn);
  return number.high < 2 ** 32;
}

const USER = { id_str: true, withheld_in_countries: true } as const;
const ACTOR = { id: true, withheld_in_countries: true } as const;

function membersOf(shared: true | WantedMembers, quoted: true | WantedMembers): WantedMembers {
  return {
    id: true,
    id_str: true,
    edit_history: true,
    withheld_in_countries: true,
    created_at: true,
    postedTime: true,
    user: USER,
    actor: ACTOR,
    verb: true,
    retweeted_status: shared,
    object: shared,
    quoted_status: quoted,
    twitter_quoted_status: quoted,
  };
}

const QUOTED = membersOf(true, true);
const MEMBERS = membersOf(membersOf(true, QUOTED), QUOTED);

interface AuthorPlaces {
  readonly object: number;
  readonly id: number;
  readonly withheld: number;
}

interface NestedPlaces {
  readonly object: number;
  /** The members of the nested post. Absent if the post is nested more deeply than `MEMBERS` covers. */
  readonly post: PostPlaces | undefined;
}

interface PostPlaces {
  readonly id: number;
  readonly idString: number;
  readonly history: number;
  readonly withheld: number;
  readonly createdAt: number;
  readonly postedTime: number;
  readonly user: AuthorPlaces;
  readonly actor: AuthorPlaces;
  readonly verb: number;
  readonly retweeted: NestedPlaces;
  readonly object: NestedPlaces;
  readonly quoted: NestedPlaces;
  readonly quotedActivity: NestedPlaces;
}

const INITIAL = Buffer.from('{"initial_tweet_id":"');
const VERSIONS = Buffer.from(',"edit_tweet_ids":[');

class IdsInBytes {
  readonly #ids: ShownIds;
  readonly #finder = new MemberFinder(MEMBERS);
  readonly #values = memberValues(this.#finder);
  readonly #root: PostPlaces;

  /** @throws RangeError if WebAssembly gets no memory. */
  constructor(ids: ShownIds) {
    this.#ids = ids;
    this.#root = placesOf(this.#finder);
  }

  /**
   * Reads the ids of a post. Returns `false` if the post must be read by `Activity` instead, which throws an
   * error if the post is damaged.
   */
  read(content: Buffer, start: number, end: number): boolean {
    return this.#finder.find(content, start, end) && this.#addPost(this.#root, 0);
  }

  #addPost(post: PostPlaces, within: number): boolean {
    const { startOf, hasEscapes, is } = this.#values;
    const isOriginal = startOf(post.createdAt) !== 0;
    if (isOriginal === (startOf(post.postedTime) !== 0)) return false;
    if (!this.#addId(post, within)) return false;
    if (startOf(post.history) !== 0 && !this.#addVersions(post.history, within)) return false;
    if (!this.#addCountries(post.withheld, within)) return false;
    if (!this.#addAuthor(post, within)) return false;
    if (isOriginal)
      return this.#addNested(post.retweeted, within) && this.#addNested(post.quoted, ID_OF.quoted);
    if (startOf(post.verb) !== 0 && hasEscapes(post.verb)) return false;
    if (is(post.verb, '"share"') && !this.#addNested(post.object, within)) return false;
    return this.#addNested(post.quotedActivity, ID_OF.quoted);
  }

  #addId({ id, idString }: PostPlaces, within: number): boolean {
    const isText = this.#values.isText(id);
    return this.#addDigits(isText ? id : idString, isText, within + ID_OF.post);
  }

  #addAuthor({ user, actor }: PostPlaces, within: number): boolean {
    const { startOf, isObject } = this.#values;
    const isUser = startOf(user.object) !== 0;
    if (isUser === (startOf(actor.object) !== 0)) return false;
    const author = isUser ? user : actor;
    if (!isObject(author.object)) return false;
    if (!this.#addDigits(author.id, !isUser, within + ID_OF.user)) return false;
    return this.#addCountries(author.withheld, within);
  }

  #addCountries(member: number, within: number): boolean {
    const [start, end] = [this.#values.startOf(member), this.#values.endOf(member)];
    if (start === 0) return true;
    const codes = parsedAs(this.#finder.bytes.toString('utf8', start, end), isTexts);
    this.#ids.addCountries(codes ?? [], within);
    return codes !== undefined;
  }

  #addNested({ object, post }: NestedPlaces, within: number): boolean {
    if (!this.#values.isObject(object)) return true;
    return post !== undefined && this.#addPost(post, within);
  }

  #addDigits(member: number, hasPrefix: boolean, of: number): boolean {
    const start = this.#values.digitsOfId(member, hasPrefix);
    return start !== -1 && this.#addNumber(start, of);
  }

  #addNumber(start: number, of: number): boolean {
    if (!number.parseDigits(this.#finder.bytes, start)) return false;
    this.#ids.add(of, number.high, number.low);
    return true;
  }

  /**
   * Adds the ids of the other versions of a post. The id of the post itself must have been added immediately
   * before. Returns `false` if the edit history is not written as the service prints it.
   */
  #addVersions(member: number, within: number): boolean {
    const ids = this.#ids;
    const { bytes } = this.#finder;
    const high = ids.numbers[ids.length - 2];
    const low = ids.numbers[ids.length - 1];
    let at = this.#values.startOf(member);
    if (!isTextAt(bytes, INITIAL, at)) return false;
    at = afterDigits(bytes, at + INITIAL.length);
    if (bytes[at] !== QUOTE || !isTextAt(bytes, VERSIONS, at + 1)) return false;
    at += VERSIONS.length;
    do {
      const start = at + 2;
      if (bytes[at + 1] !== QUOTE || !number.parseDigits(bytes, start)) return false;
      if (number.high !== high || number.low !== low)
        ids.add(within + ID_OF.version, number.high, number.low);
      at = afterDigits(bytes, start);
      if (bytes[at++] !== QUOTE) return false;
    } while (bytes[at] === COMMA);
    return bytes[at] === CLOSE_ARRAY && bytes[at + 1] === CLOSE_OBJECT;
  }
}

function placesOf({ members }: MemberFinder): PostPlaces {
  const author = (path: string, id: string) => ({
    object: members.get(path)!,
    id: members.get(`${path}.${id}`)!,
    withheld: members.get(`${path}.withheld_in_countries`)!,
  });
  const nested = (path: string) => ({
    object: members.get(path)!,
    post: members.has(`${path}.id`) ? post(`${path}.`) : undefined,
  });
  const post = (path: string): PostPlaces => ({
    id: members.get(`${path}id`)!,
    idString: members.get(`${path}id_str`)!,
    history: members.get(`${path}edit_history`)!,
    withheld: members.get(`${path}withheld_in_countries`)!,
    createdAt: members.get(`${path}created_at`)!,
    postedTime: members.get(`${path}postedTime`)!,
    user: author(`${path}user`, 'id_str'),
    actor: author(`${path}actor`, 'id'),
    verb: members.get(`${path}verb`)!,
    retweeted: nested(`${path}retweeted_status`),
    object: nested(`${path}object`),
    quoted: nested(`${path}quoted_status`),
    quotedActivity: nested(`${path}twitter_quoted_status`),
  });
  return post('');
}
