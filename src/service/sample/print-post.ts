import type { Format } from '../../post/activity.js';
import {
  createdAt,
  orNull,
  postedTime,
  quote,
  renderActor,
  renderActorInfluence,
  renderProfileLocations,
  renderUser,
} from './render-author.js';
import type { SampleAuthor } from './sample-authors.js';
import type { SamplePlace, SampleSource } from './sample-vocabulary.js';

/** All that a post of either format shows. Members that say JSON are printed for the format that is asked for. */
export interface PrintablePost extends ShownContent {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly at: number;
  /** When it is delivered, since an author's counts grow. */
  readonly seenAt: number;
  readonly author: SampleAuthor;
  readonly source: SampleSource;
  /** The post that it replies to. The author may be unknown. */
  readonly reply?:
    | { readonly id: string; readonly userId?: string; readonly handle?: string }
    | undefined;
  readonly place?: SamplePlace | undefined;
  /** The exact position, longitude first. */
  readonly point?: readonly [longitude: string, latitude: string] | undefined;
  /** JSON of the post that it shares. */
  readonly retweeted?: string | undefined;
  /** Whether it, or the post that it shares, quotes another one. */
  readonly isQuote: boolean;
  /** The quoted post, with its JSON unless that is left out, and of `original` the JSON of its link. */
  readonly quoted?:
    | { readonly id: string; readonly json?: string | undefined; readonly permalink?: string }
    | undefined;
  readonly counts: {
    readonly quotes: number;
    readonly replies: number;
    readonly retweets: number;
    readonly likes: number;
  };
  /** Whether it has a link or media, which might be sensitive. */
  readonly isLinked: boolean;
  readonly lang: string;
  /** JSON of the linked pages, for `activity_streams`. */
  readonly pages?: string | undefined;
  /** The edit members, with a comma before each. */
  readonly edit: string;
}

/** A text as a post shows it. */
interface ShownText {
  readonly text: string;
  /** The displayed range, in code points. */
  readonly range?: readonly [number, number] | undefined;
  /** JSON. */
  readonly entities: string;
  /** JSON of all media. */
  readonly media?: string | undefined;
}

export interface ShownContent extends ShownText {
  /** The full text, where `text` is truncated. */
  readonly long?: ShownText | undefined;
}

/** Prints a post as one line of JSON. */
export function printPost(post: PrintablePost, format: Format): string {
  return format === 'original' ? printOriginal(post) : printActivityStreams(post);
}

function printOriginal(post: PrintablePost): string {
  const { id, source, reply, retweeted, quoted, long, counts } = post;
  return objectOf([
    `"created_at":"${createdAt(post.at)}","id":${id},"id_str":"${id}","text":${quote(post.text)}`,
    displayed(post),
    `"source":"<a href=\\"${source.link}\\" rel=\\"nofollow\\">${source.name}</a>","truncated":${long !== undefined}`,
    `"in_reply_to_status_id":${reply?.id ?? null},"in_reply_to_status_id_str":${orNull(reply?.id)}`,
    `"in_reply_to_user_id":${reply?.userId ?? null},"in_reply_to_user_id_str":${orNull(reply?.userId)},"in_reply_to_screen_name":${orNull(reply?.handle)}`,
    `"user":${renderUser(post.author, post.seenAt)},${placeMembers(post)},"contributors":null`,
    retweeted && `"retweeted_status":${retweeted}`,
    `"is_quote_status":${post.isQuote}`,
    quoted && `"quoted_status_id":${quoted.id},"quoted_status_id_str":"${quoted.id}"`,
    quoted?.json && `"quoted_status":${quoted.json}`,
    quoted?.permalink && `"quoted_status_permalink":${quoted.permalink}`,
    long &&
      `"extended_tweet":${objectOf([`"full_text":${quote(long.text)}`, displayed(long), `"entities":${long.entities}`, long.media && `"extended_entities":${long.media}`])}`,
    `"quote_count":${counts.quotes},"reply_count":${counts.replies},"retweet_count":${counts.retweets},"favorite_count":${counts.likes}`,
    `"entities":${post.entities}`,
    post.media && `"extended_entities":${post.media}`,
    '"favorited":false,"retweeted":false',
    post.isLinked && '"possibly_sensitive":false',
    `"filter_level":"low","lang":${quote(post.lang)}${post.edit}`,
  ]);
}

function printActivityStreams(post: PrintablePost): string {
  const { id, author, source, reply, retweeted, quoted, long, counts } = post;
  const link = pageOf(author.handle, id);
  const time = postedTime(post.at);
  const note = `{"objectType":"note","id":"object:search.twitter.com,2005:${id}","summary":${quote(post.text)},"link":"${link}","postedTime":"${time}"}`;
  const locations = renderProfileLocations(author);
  return objectOf([
    `"id":"tag:search.twitter.com,2005:${id}","objectType":"activity","verb":"${retweeted === undefined ? 'post' : 'share'}","postedTime":"${time}"`,
    `"generator":{"displayName":"${source.name}","link":"${source.link}"},"provider":{"objectType":"service","displayName":"Twitter","link":"http://www.twitter.com"}`,
    `"link":"${link}","actor":${renderActor(author, post.seenAt)},"body":${quote(post.text)},"object":${retweeted ?? note}`,
    reply && `"inReplyTo":{"link":"${pageOf(reply.handle ?? 'i', reply.id)}"}`,
    `"favoritesCount":${counts.likes}`,
    locationMembers(post),
    `"twitter_entities":${post.entities}`,
    post.media && `"twitter_extended_entities":${post.media}`,
    long &&
      `"long_object":${objectOf([`"body":${quote(long.text)}`, displayed(long), long.media && `"twitter_extended_entities":${long.media}`, `"twitter_entities":${long.entities}`])}`,
    displayed(post),
    quoted?.json && `"twitter_quoted_status":${quoted.json}`,
    `"retweetCount":${counts.retweets},"twitter_lang":${quote(post.lang)},"twitter_filter_level":"low"`,
    `"gnip":${objectOf([renderActorInfluence(author, post.at), post.pages && `"urls":${post.pages}`, locations && `"profileLocations":${locations}`])}${post.edit}`,
  ]);
}

/** The members of an object, of those that it has. */
function objectOf(members: readonly (string | false | undefined)[]): string {
  let text = '';
  for (const member of members)
    if (member !== undefined && member !== false) text += text === '' ? member : `,${member}`;
  return `{${text}}`;
}

function displayed({ range }: ShownText): string | undefined {
  return range && `"display_text_range":[${range}]`;
}

function placeMembers({ place, point }: PrintablePost): string {
  if (place === undefined) return '"geo":null,"coordinates":null,"place":null';
  const { id, name, region, code, country } = place;
  const exact =
    point === undefined
      ? '"geo":null,"coordinates":null'
      : `"geo":{"type":"Point","coordinates":[${point[1]},${point[0]}]},"coordinates":{"type":"Point","coordinates":[${point}]}`;
  return `${exact},"place":{"id":"${id}","url":"${placeUrl(place)}","place_type":"city","name":${quote(name)},"full_name":${quote(`${name}, ${region}`)},"country_code":"${code}","country":"${country}","bounding_box":${boxOf(place)},"attributes":{}}`;
}

function locationMembers({ place, point }: PrintablePost): string | undefined {
  if (place === undefined) return undefined;
  const { name, region, code, country } = place;
  const geo = point && `,"geo":{"type":"Point","coordinates":[${point[1]},${point[0]}]}`;
  return `"location":{"objectType":"place","displayName":${quote(`${name}, ${region}`)},"name":${quote(name)},"country_code":"${country}","twitter_country_code":"${code}","twitter_place_type":"city","link":"${placeUrl(place)}","geo":${boxOf(place)}}${geo ?? ''}`;
}

function placeUrl({ id }: SamplePlace): string {
  return `https://api.twitter.com/1.1/geo/id/${id}.json`;
}

/** Four corners, longitude first, not closed. */
function boxOf({ center: [longitude, latitude] }: SamplePlace): string {
  const west = (longitude - 0.08).toFixed(3);
  const east = (longitude + 0.08).toFixed(3);
  const south = (latitude - 0.06).toFixed(3);
  const north = (latitude + 0.06).toFixed(3);
  return `{"type":"Polygon","coordinates":[[[${west},${south}],[${west},${north}],[${east},${north}],[${east},${south}]]]}`;
}

function pageOf(handle: string, id: string): string {
  return `http://twitter.com/${handle}/statuses/${id}`;
}
