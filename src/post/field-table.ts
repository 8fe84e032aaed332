import type { Format } from './activity.js';
import {
  count as countOf,
  digits,
  flag as flagOf,
  list,
  string,
  strings,
  tagTexts,
  unescaped,
} from './loose-values.js';
import { parseCreatedAt, parseIsoTime } from './posted-at.js';

/**
 * The type of a field's value, for each kind of field. The value is empty or `undefined` if the post does not
 * have the field, or if the field has an unexpected type.
 */
interface Values {
  readonly string: string;
  /** A string with `&amp;`, `&lt;` and `&gt;` decoded. */
  readonly text: string;
  readonly lower: string;
  readonly upper: string;
  readonly id: string;
  readonly count: number | undefined;
  readonly flag: boolean | undefined;
  readonly time: number | undefined;
  /** A time in epoch milliseconds, rounded down to whole seconds, the precision of the `original` format. */
  readonly second: number | undefined;
  readonly strings: readonly string[] | undefined;
  /** The `text` of each element of a list. */
  readonly tags: readonly string[];
  /**
   * The value without any conversion. If a post is read from its bytes without parsing it, the content of an
   * object is not available, only whether the object exists.
   */
  readonly value: unknown;
  readonly object: unknown;
}

export type FieldKind = keyof Values;
export type FieldValue<Kind extends FieldKind> = Values[Kind];

const CONVERT: {
  readonly [Kind in FieldKind]: (value: unknown, format: Format) => Values[Kind];
} = {
  string,
  text: unescaped,
  lower: value => string(value).toLowerCase(),
  upper: value => string(value).toUpperCase(),
  id: digits,
  count: countOf,
  flag: flagOf,
  time: timeOf,
  second: (value, format) => {
    const ms = timeOf(value, format);
    return ms === undefined ? undefined : Math.floor(ms / 1000) * 1000;
  },
  strings,
  tags: tagTexts,
  value: value => value,
  object: value => value,
};

function timeOf(value: unknown, format: Format): number | undefined {
  const ms = (format === 'original' ? parseCreatedAt : parseIsoTime)(string(value));
  return Number.isNaN(ms) ? undefined : ms;
}

export interface Path {
  /**
   * The places where the value may be, each as a list of keys. The first place that has a value other than
   * null is used.
   */
  readonly places: readonly (readonly string[])[];
  /** The keys that lead from that place to the value. */
  readonly rest: readonly string[];
}

/**
 * The path of a field in the posts of one format, in the syntax of JavaScript. `user.name` is the member
 * `name` of the member `user`. `full_text ?? text` is the first of two members that is not absent or null.
 * `(extended_tweet.entities ?? entities).urls` is the member `urls` of the first of two objects that exists.
 * `links[0].href` is the member `href` of the first object in a list.
 */
export type Where = string | Via;

/** A field whose value is only a part of the string at a path. */
interface Via {
  readonly path: string;
  readonly part: (value: unknown) => unknown;
}

/** The key that stands for the first object in a list. */
export const FIRST = '[0]';

/**
 * A field of posts: how its value is converted, and where it is in each format. The path is `undefined` for a
 * format that does not have the field.
 */
export class Field<Kind extends FieldKind = FieldKind> {
  readonly kind: Kind;
  readonly paths: Readonly<Record<Format, Path | undefined>>;
  readonly parts: Readonly<Record<Format, Via['part'] | undefined>>;
  readonly #convert: (value: unknown, format: Format) => Values[Kind];
  readonly #original: ReadValue;
  readonly #streams: ReadValue;

  constructor(kind: Kind, original: Where | undefined, streams: Where | undefined) {
    this.kind = kind;
    this.paths = { original: pathOf(original), activity_streams: pathOf(streams) };
    this.parts = { original: partOf(original), activity_streams: partOf(streams) };
    this.#convert = CONVERT[kind];
    this.#original = valueReader(this.paths.original, this.parts.original);
    this.#streams = valueReader(this.paths.activity_streams, this.parts.activity_streams);
  }

  /**
   * Reads the value of the field from `post`: a parsed post, or an object that has a getter for each member
   * of a post.
   */
  read(post: object, format: Format): Values[Kind] {
    const value = format === 'original' ? this.#original(post) : this.#streams(post);
    return this.#convert(value, format);
  }
}

/**
 * Returns a function that creates a field of a given kind. Its arguments are the paths of the field in
 * the formats `original` and `activity_streams`.
 */
export function fields<Kind extends FieldKind>(kind: Kind) {
  return (original: Where | undefined, streams: Where | undefined): Field<Kind> =>
    new Field(kind, original, streams);
}

function pathOf(where: Where | undefined): Path | undefined {
  if (where === undefined) return undefined;
  const [, inBrackets, after] = /^\((.*)\)\.(.*)$/.exec(textOf(where)) ?? [];
  return {
    places: (inBrackets ?? textOf(where)).split(' ?? ').map(keysOf),
    rest: after === undefined ? [] : keysOf(after),
  };
}

function textOf(where: Where): string {
  return typeof where === 'string' ? where : where.path;
}

function partOf(where: Where | undefined): Via['part'] | undefined {
  return typeof where === 'object' ? where.part : undefined;
}

function keysOf(path: string): string[] {
  return path.replaceAll(FIRST, `.${FIRST}`).split('.');
}

type ReadValue = (post: unknown) => unknown;

/**
 * Creates a function that reads the value at a path. Called once for each field. Rules then read many fields
 * of each post without interpreting the path again.
 */
function valueReader(path: Path | undefined, part: Via['part'] | undefined): ReadValue {
  if (path === undefined) return readNone;
  const read = within(firstOf(path.places.map(readerOf)), path.rest);
  return part === undefined ? read : post => part(read(post));
}

function firstOf([first = readNone, second, ...others]: readonly ReadValue[]): ReadValue {
  if (second === undefined) return first;
  const next = firstOf([second, ...others]);
  return post => first(post) ?? next(post);
}

function within(read: ReadValue, keys: readonly string[]): ReadValue {
  if (keys.length === 0) return read;
  const readRest = readerOf(keys);
  return post => readRest(read(post));
}

/**
 * Returns a function that reads a member by its keys. One, two and three keys have separate functions,
 * because a loop would take several times as long. Does not use `in`: for a member with a getter, `in` is
 * true even if the value is absent.
 */
function readerOf(keys: readonly string[]): ReadValue {
  const first = keys.indexOf(FIRST);
  if (first !== -1) {
    const readList = readerOf(keys.slice(0, first));
    return within(post => list(readList(post))[0], keys.slice(first + 1));
  }
  const [one = '', two = '', three = '', ...others] = keys;
  if (keys.length === 1) return post => (post as Members)?.[one];
  if (keys.length === 2) return post => (post as Members)?.[one]?.[two];
  return within(post => (post as Members)?.[one]?.[two]?.[three], others);
}

interface Members {
  readonly [key: string]: Members | undefined;
}

function readNone(): undefined {
  return undefined;
}

const text = fields('text');
const plain = fields('string');
const lower = fields('lower');
const upper = fields('upper');
const id = fields('id');
const count = fields('count');
const flag = fields('flag');
const second = fields('second');
const tags = fields('tags');
const value = fields('value');
const object = fields('object');
/** Used instead of a path if the format does not have the field. */
const NONE = undefined;

const ENTITIES = 'extended_tweet.entities ?? entities';
const STREAMS_ENTITIES = 'long_object.twitter_entities ?? twitter_entities';
const EXTENDED = 'extended_tweet.extended_entities ?? extended_entities';
const STREAMS_EXTENDED = 'long_object.twitter_extended_entities ?? twitter_extended_entities';

// Tells where each field of a post is in the `original` format and in `activity_streams`. All readers of
// parsed posts and all readers of bytes are created from this table.

export const OWN = {
  id: id('id_str ?? id', 'id'),
  /** The id as a string. `parsePost` takes the exact `id` from it. */
  idString: value('id_str', 'id_str'),
  postedAt: fields('time')('created_at', 'postedTime'),
  postedSecond: second('created_at', 'postedTime'),
  link: plain(NONE, 'link'),
  lang: lower('lang', 'twitter_lang ?? gnip.language.value'),
  favorites: count('favorite_count', 'favoritesCount'),
  retweets: count('retweet_count', 'retweetCount'),
  replies: count('reply_count', NONE),
  quotes: count('quote_count', NONE),
  possiblySensitive: flag('possibly_sensitive', NONE),
  withheldIn: fields('strings')('withheld_in_countries', 'withheld_in_countries'),
  toFollowers: flag('scopes.followers', NONE),
  sourceName: text(
    { path: 'source', part: html => sourceParts(html)?.[2] ?? html },
    'generator.displayName',
  ),
  sourceLink: plain(
    { path: 'source', part: html => unescaped(sourceParts(html)?.[1]) },
    'generator.link',
  ),
  point: value('coordinates.coordinates', NONE),
  /** The location. The latitude comes first. */
  geo: value('geo.coordinates', 'geo.coordinates'),
  mentions: value('entities.user_mentions', 'twitter_entities.user_mentions'),
  isQuote: flag('is_quote_status', NONE),
  quotedId: value('quoted_status_id_str ?? quoted_status_id', NONE),
  quotedNumber: value('quoted_status_id', NONE),
  enrichedUrls: value(NONE, 'gnip.urls'),
  verb: value(NONE, 'verb'),
  shared: object('retweeted_status', 'object'),
  /**
   * The author of the member `object` of an `activity_streams` post. In a retweet, `object` is the retweeted
   * post and has an author. In any other post, it is a note without an author.
   */
  sharedAuthor: object(NONE, 'object.actor'),
  /**
   * How often the retweeted post was retweeted. In the `activity_streams` format, a retweet without
   * `object.retweetCount` has this number at its top level.
   */
  sharedRetweets: count('retweeted_status.retweet_count', 'object.retweetCount ?? retweetCount'),
};

/**
 * Fields that name the post and the user that a post replies to. They are read from the post itself, and from
 * a post that it retweets or quotes.
 */
export const REPLY = {
  id: id('in_reply_to_status_id_str ?? in_reply_to_status_id', replyPart(2)),
  userId: id('in_reply_to_user_id_str ?? in_reply_to_user_id', NONE),
  handle: plain('in_reply_to_screen_name', replyPart(1)),
  self: object(NONE, 'inReplyTo'),
};

/**
 * Fields of the post that is shown: the retweeted post if the post is a retweet, otherwise the post itself.
 */
export const SHOWN = {
  text: text('extended_tweet.full_text ?? full_text ?? text', 'long_object.body ?? body'),
  hashtags: tags(`(${ENTITIES}).hashtags`, `(${STREAMS_ENTITIES}).hashtags`),
  cashtags: tags(`(${ENTITIES}).symbols`, `(${STREAMS_ENTITIES}).symbols`),
  mentions: value(`(${ENTITIES}).user_mentions`, `(${STREAMS_ENTITIES}).user_mentions`),
  urls: value(`(${ENTITIES}).urls`, `(${STREAMS_ENTITIES}).urls`),
  media: value(`(${ENTITIES}).media`, `(${STREAMS_ENTITIES}).media`),
  extendedMedia: value(`(${EXTENDED}).media`, `(${STREAMS_EXTENDED}).media`),
  quoted: object('quoted_status', 'twitter_quoted_status'),
};

export const AUTHOR = {
  id: id('user.id_str ?? user.id', 'actor.id'),
  writtenHandle: plain('user.screen_name', 'actor.preferredUsername'),
  handle: lower('user.screen_name', 'actor.preferredUsername'),
  name: text('user.name', 'actor.displayName'),
  bio: text('user.description', 'actor.summary'),
  location: text('user.location', 'actor.location.displayName'),
  url: plain('user.url', 'actor.links[0].href'),
  image: plain('user.profile_image_url_https', 'actor.image'),
  verified: flag('user.verified', 'actor.verified'),
  protected: flag('user.protected', NONE),
  createdAt: second('user.created_at', 'actor.postedTime'),
  statuses: count('user.statuses_count', 'actor.statusesCount'),
  followers: count('user.followers_count', 'actor.followersCount'),
  friends: count('user.friends_count', 'actor.friendsCount'),
  listed: count('user.listed_count', 'actor.listedCount'),
  favorites: count('user.favourites_count', 'actor.favoritesCount'),
  homes: value('user.derived.locations', 'gnip.profileLocations'),
  homeCountryCode: upper(
    'user.derived.locations[0].country_code',
    'gnip.profileLocations[0].address.countryCode',
  ),
  homeRegion: plain('user.derived.locations[0].region', 'gnip.profileLocations[0].address.region'),
  homeLocality: plain(
    'user.derived.locations[0].locality',
    'gnip.profileLocations[0].address.locality',
  ),
};

/** Fields of a location that the service has derived for the author. An author may have several locations. */
export const HOME = {
  countryCode: upper('country_code', 'address.countryCode'),
  region: plain('region', 'address.region'),
  subregion: plain('sub_region', 'address.subRegion'),
  locality: plain('locality', 'address.locality'),
  point: value('geo.coordinates', 'geo.coordinates'),
};

/** Fields of the place of a post. A retweet has no place. */
export const PLACE = {
  self: object('place', 'location'),
  id: plain('place.id', {
    path: 'location.link',
    part: link => /([^/]+)\.json$/.exec(string(link))?.[1],
  }),
  name: plain('place.name', 'location.name'),
  fullName: plain('place.full_name', 'location.displayName'),
  countryCode: upper('place.country_code', 'location.twitter_country_code'),
  country: plain('place.country', 'location.country_code'),
  type: plain('place.place_type', 'location.twitter_place_type'),
  outline: value('place.bounding_box.coordinates', 'location.geo.coordinates'),
};

function sourceParts(html: unknown): RegExpExecArray | null {
  return /^<a\s[^>]*?href="([^"]*)"[^>]*>(.*)<\/a>$/s.exec(string(html));
}

/** Returns the path to the handle or the id in a link such as `http://twitter.com/USER/statuses/ID`. */
function replyPart(group: 1 | 2): Where {
  return {
    path: 'inReplyTo.link',
    part: link => /\/([^/]+)\/status(?:es)?\/(\d+)/.exec(string(link))?.[group],
  };
}
