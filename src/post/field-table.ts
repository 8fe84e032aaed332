import { fields, type Where } from './field.js';
import { string, unescaped } from './loose-values.js';

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
/** For a format that does not have the field. */
const NONE = undefined;

const ENTITIES = 'extended_tweet.entities ?? entities';
const STREAMS_ENTITIES = 'long_object.twitter_entities ?? twitter_entities';
const EXTENDED = 'extended_tweet.extended_entities ?? extended_entities';
const STREAMS_EXTENDED = 'long_object.twitter_extended_entities ?? twitter_extended_entities';

// The table of the fields of posts: where each is in the `original` format, and in `activity_streams`. What reads a parsed post, what
// reads its bytes, and the list of members that are looked for in the bytes are made from it.

/** Of the post itself. */
export const OWN = {
  id: id('id_str ?? id', 'id'),
  /** By this, `parsePost` restores `id`. */
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
  /** Latitude first. */
  geo: value('geo.coordinates', 'geo.coordinates'),
  mentions: value('entities.user_mentions', 'twitter_entities.user_mentions'),
  isQuote: flag('is_quote_status', NONE),
  quotedId: value('quoted_status_id_str ?? quoted_status_id', NONE),
  quotedNumber: value('quoted_status_id', NONE),
  enrichedUrls: value(NONE, 'gnip.urls'),
  verb: value(NONE, 'verb'),
  shared: object('retweeted_status', 'object'),
  /** In `activity_streams`, what tells a retweeted post from a note. */
  sharedAuthor: object(NONE, 'object.actor'),
  /** Real retweets of the `activity_streams` format have the number at their root alone. */
  sharedRetweets: count('retweeted_status.retweet_count', 'object.retweetCount ?? retweetCount'),
};

/** Of the post, and of one that it retweets or quotes. */
export const REPLY = {
  id: id('in_reply_to_status_id_str ?? in_reply_to_status_id', replyPart(2)),
  userId: id('in_reply_to_user_id_str ?? in_reply_to_user_id', NONE),
  handle: plain('in_reply_to_screen_name', replyPart(1)),
  self: object(NONE, 'inReplyTo'),
};

/** Of the retweeted post of a retweet, of other posts their own. */
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

/** Of each location of the author that the service found. */
export const HOME = {
  countryCode: upper('country_code', 'address.countryCode'),
  region: plain('region', 'address.region'),
  subregion: plain('sub_region', 'address.subRegion'),
  locality: plain('locality', 'address.locality'),
  point: value('geo.coordinates', 'geo.coordinates'),
};

/** A retweet has no place. */
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

/** Name and link in the HTML of a source. */
function sourceParts(html: unknown): RegExpExecArray | null {
  return /^<a\s[^>]*?href="([^"]*)"[^>]*>(.*)<\/a>$/s.exec(string(html));
}

/** The handle or the id of `http://twitter.com/USER/statuses/ID`. */
function replyPart(group: 1 | 2): Where {
  return {
    path: 'inReplyTo.link',
    part: link => /\/([^/]+)\/status(?:es)?\/(\d+)/.exec(string(link))?.[group],
  };
}
