import { isTexts, parsedAs } from '../../json/json.js';
import {
  afterDigits,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  isDigit,
  isTextAt,
  OPEN_OBJECT,
  QUOTE,
} from '../../json/json-bytes.js';
import { MemberSpans, type WantedMembers } from '../../json/member-spans.js';
import { Activity } from '../activity.js';
import { IdNumber } from './id-number.js';

/** What an id is of; these add up. */
export const ID_OF = {
  post: 0,
  /** Another version of the post. */
  version: 1,
  /** The author. */
  user: 2,
  /** Of a post that is quoted. */
  quoted: 4,
  /** No id, but a country in which the post or its author is withheld, by its `countryNumber`. */
  country: 8,
} as const;

/** Numbers for each id: what it is of, and two halves of 32 bits. */
export const SHOWN_INTS = 3;

const number = new IdNumber();

/** A country as the lower half of an id; 0 for what is not the two letters of one. */
export function countryNumber(code: string): number {
  return /^[a-z]{2}$/i.test(code) ? Buffer.from(code.toUpperCase()).readUInt16BE() : 0;
}

/**
 * The ids of a post, of its other versions, and of its author, and where it is withheld; and the same for the posts that it
 * shares and quotes. They are read from the bytes of a post that is printed as usual, and by `Activity` from others. Ids that are not 64-bit
 * integers are left out.
 */
export class ShownIds {
  /** Of the post that was read last, in the first `length` numbers. */
  numbers = new Uint32Array(16 * SHOWN_INTS);
  length = 0;
  readonly #spanned: SpannedIds | undefined;

  constructor() {
    try {
      this.#spanned = new SpannedIds(this);
    } catch {
      // WebAssembly gets no memory.
    }
  }

  /** @throws DataError where one of the posts lacks what all posts have. */
  read(content: Buffer, start: number, end: number): void {
    this.length = 0;
    if (this.#spanned?.read(content, start, end) === true) return;
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

/** Also an id with zeros at the start, which the exact parser does not take. */
function parseLoosely(id: string): boolean {
  if (!/^\d{1,20}$/.test(id)) return false;
  const value = BigInt(id);
  number.high = Number(value >> 32n);
  number.low = Number(value & 0xffffffffn);
  return number.high < 2 ** 32;
}

const USER = { id_str: true, withheld_in_countries: true } as const;
const ACTOR = { id: true, withheld_in_countries: true } as const;

/** A post of either format, and the posts within it. */
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

/** Where the members of an author are among the spans. */
interface AuthorPlaces {
  readonly object: number;
  readonly id: number;
  readonly withheld: number;
}

/** The same of a post within another, in one of the formats. */
interface NestedPlaces {
  readonly object: number;
  /** Absent where posts are within each other in more ways than usual. */
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

const SHARE = Buffer.from('"share"');
const INITIAL = Buffer.from('{"initial_tweet_id":"');
const VERSIONS = Buffer.from(',"edit_tweet_ids":[');

/** Reads what `ShownIds` has from the members of a post. */
class SpannedIds {
  readonly #ids: ShownIds;
  readonly #spans = new MemberSpans(MEMBERS);
  readonly #root: PostPlaces;

  /** @throws RangeError where WebAssembly gets no memory. */
  constructor(ids: ShownIds) {
    this.#ids = ids;
    this.#root = placesOf(this.#spans);
  }

  /** `false` where it is left to `Activity`, which also gives the exact error. */
  read(content: Buffer, start: number, end: number): boolean {
    return this.#spans.find(content, start, end) && this.#addPost(this.#root, 0);
  }

  #addPost(post: PostPlaces, within: number): boolean {
    const spans = this.#spans;
    const isOriginal = spans.startOf(post.createdAt) !== 0;
    if (isOriginal === (spans.startOf(post.postedTime) !== 0)) return false;
    if (!this.#addId(post, within)) return false;
    if (spans.startOf(post.history) !== 0 && !this.#addVersions(post.history, within)) return false;
    if (!this.#addCountries(post.withheld, within)) return false;
    if (!this.#addAuthor(post, within)) return false;
    if (isOriginal)
      return this.#addNested(post.retweeted, within) && this.#addNested(post.quoted, ID_OF.quoted);
    const verb = spans.startOf(post.verb);
    if (verb !== 0 && spans.hasEscapes(post.verb)) return false;
    const isRetweet = verb !== 0 && isTextAt(spans.bytes, SHARE, verb);
    if (isRetweet && !this.#addNested(post.object, within)) return false;
    return this.#addNested(post.quotedActivity, ID_OF.quoted);
  }

  /** `id` counts where it is a text, and `id_str` elsewhere. */
  #addId({ id, idString }: PostPlaces, within: number): boolean {
    const spans = this.#spans;
    const isText = spans.bytes[spans.startOf(id)] === QUOTE;
    return this.#addDigits(isText ? id : idString, isText, within + ID_OF.post);
  }

  #addAuthor({ user, actor }: PostPlaces, within: number): boolean {
    const spans = this.#spans;
    const isUser = spans.startOf(user.object) !== 0;
    if (isUser === (spans.startOf(actor.object) !== 0)) return false;
    const author = isUser ? user : actor;
    if (spans.bytes[spans.startOf(author.object)] !== OPEN_OBJECT) return false;
    if (!this.#addDigits(author.id, !isUser, within + ID_OF.user)) return false;
    return this.#addCountries(author.withheld, within);
  }

  #addCountries(member: number, within: number): boolean {
    const spans = this.#spans;
    const start = spans.startOf(member);
    if (start === 0) return true;
    const codes = parsedAs(spans.bytes.toString('utf8', start, spans.endOf(member)), isTexts);
    this.#ids.addCountries(codes ?? [], within);
    return codes !== undefined;
  }

  #addNested({ object, post }: NestedPlaces, within: number): boolean {
    const start = this.#spans.startOf(object);
    if (start === 0 || this.#spans.bytes[start] !== OPEN_OBJECT) return true;
    return post !== undefined && this.#addPost(post, within);
  }

  /** The digits of a text, or those after its last colon. */
  #addDigits(member: number, hasPrefix: boolean, of: number): boolean {
    const spans = this.#spans;
    const { bytes } = spans;
    const start = spans.startOf(member);
    if (bytes[start] !== QUOTE) return false;
    const end = spans.endOf(member) - 1;
    let at = end;
    while (isDigit(bytes[at - 1]!)) at--;
    if (at === end || (at !== start + 1 && !(hasPrefix && bytes[at - 1] === COLON))) return false;
    return this.#addNumber(at, of);
  }

  #addNumber(start: number, of: number): boolean {
    if (!number.parseDigits(this.#spans.bytes, start)) return false;
    this.#ids.add(of, number.high, number.low);
    return true;
  }

  /** Reads them as the service prints them. The id of the post itself is the one before them. */
  #addVersions(member: number, within: number): boolean {
    const ids = this.#ids;
    const { bytes } = this.#spans;
    const high = ids.numbers[ids.length - 2];
    const low = ids.numbers[ids.length - 1];
    let at = this.#spans.startOf(member);
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

function placesOf({ places }: MemberSpans): PostPlaces {
  const author = (path: string, id: string) => ({
    object: places.get(path)!,
    id: places.get(`${path}.${id}`)!,
    withheld: places.get(`${path}.withheld_in_countries`)!,
  });
  const nested = (path: string) => ({
    object: places.get(path)!,
    post: places.has(`${path}.id`) ? post(`${path}.`) : undefined,
  });
  const post = (path: string): PostPlaces => ({
    id: places.get(`${path}id`)!,
    idString: places.get(`${path}id_str`)!,
    history: places.get(`${path}edit_history`)!,
    withheld: places.get(`${path}withheld_in_countries`)!,
    createdAt: places.get(`${path}created_at`)!,
    postedTime: places.get(`${path}postedTime`)!,
    user: author(`${path}user`, 'id_str'),
    actor: author(`${path}actor`, 'id'),
    verb: places.get(`${path}verb`)!,
    retweeted: nested(`${path}retweeted_status`),
    object: nested(`${path}object`),
    quoted: nested(`${path}quoted_status`),
    quotedActivity: nested(`${path}twitter_quoted_status`),
  });
  return post('');
}
