import { MINUTE } from '../../base/time.js';
import type { SortKey } from '../archive/archive.js';
import { mix } from './random.js';
import { orNull, quote } from './render-author.js';
import {
  EDITS,
  ENRICHED,
  idOf,
  type SampleDraft,
  type SampleDrafts,
  type SampleHead,
} from './sample-draft.js';
import { SNOWFLAKES, snowflake } from './sample-ids.js';
import { draftText, retweetText, type SampleText, type TrailingLink } from './sample-text.js';
import { languageAt, linkCode, type SamplePlace, SHORT_LINK } from './sample-vocabulary.js';

/** Which entities to print, such as hashtags and links, and the offset to add to their positions. */
export interface EntityRange {
  /** Entities that end after this code point of the full text are omitted. */
  readonly kept: number;
  readonly shift: number;
  /**
   * The author of the retweeted post, as an index in `drafts.authors`. Absent unless the post is a retweet.
   */
  readonly retweets?: number | undefined;
  /** The link to the full text, at the end of a truncated text. */
  readonly cutLink?: TrailingLink | undefined;
  /**
   * Whether each link has an object `unwound` that describes the linked page. The format `activity_streams`
   * has `gnip.urls` instead.
   */
  readonly unwound: boolean;
}

/** Prints `entities` (format `original`) or `twitter_entities` (`activity_streams`). */
export function renderEntities(
  draft: SampleDraft,
  text: SampleText,
  drafts: SampleDrafts,
  range: EntityRange,
): string {
  const { kept, shift, retweets, cutLink, unwound } = range;
  let hashtags = '';
  let symbols = '';
  let mentions = '';
  let urls = '';
  if (retweets !== undefined) mentions = mention(retweets, drafts, 3, shift - 2);
  for (const entity of text.entities) {
    if (entity.end > kept) continue;
    const start = entity.start + shift;
    const end = entity.end + shift;
    if (entity.kind === 'mention')
      mentions = joined(mentions, mention(entity.author, drafts, start, end));
    else if (entity.kind !== 'link') {
      const tag = `{"text":${quote(entity.text)},"indices":[${start},${end}]}`;
      if (entity.kind === 'hashtag') hashtags = joined(hashtags, tag);
      else symbols = joined(symbols, tag);
    }
  }
  for (const { short, page, display, start, end, ...about } of linksOf(draft, text, drafts)) {
    if (end > kept) continue;
    const target = unwound
      ? `,"unwound":{"url":"${page}","status":200${described(draft, '', about)}}`
      : '';
    urls = joined(
      urls,
      `{"url":"${short}","expanded_url":"${page}","display_url":"${display}"${target},"indices":[${start + shift},${end + shift}]}`,
    );
  }
  if (cutLink !== undefined) {
    const page = `twitter.com/i/web/status/${idOf(draft)}`;
    urls = joined(
      urls,
      `{"url":"${cutLink.url}","expanded_url":"https://${page}","display_url":"${page.slice(0, 26)}…","indices":[${cutLink.start},${cutLink.end}]}`,
    );
  }
  const isPictured = text.mediaLink !== undefined && text.mediaLink.end <= kept;
  const media = isPictured
    ? `,"media":[${renderMedium(draft, text.mediaLink, drafts, shift, 0, false)}]`
    : '';
  return `{"hashtags":[${hashtags}],"urls":[${urls}],"user_mentions":[${mentions}],"symbols":[${symbols}]${media}}`;
}

/** Prints `extended_entities` or `twitter_extended_entities`, with all media. `undefined` if there are no media. */
export function renderExtendedEntities(
  draft: SampleDraft,
  text: SampleText,
  drafts: SampleDrafts,
  shift: number,
): string | undefined {
  const { mediaLink } = text;
  if (mediaLink === undefined) return undefined;
  const count = draft.media <= 4 ? draft.media : 1;
  const all = Array.from({ length: count }, (_, i) =>
    renderMedium(draft, mediaLink, drafts, shift, i, true),
  );
  return `{"media":[${all.join(',')}]}`;
}

/** Returns the JSON of `gnip.urls`: each link with the title of its page. `undefined` without links. */
export function renderLinkedPages(
  draft: SampleDraft,
  text: SampleText,
  drafts: SampleDrafts,
): string | undefined {
  let pages = '';
  for (const { short, page, ...about } of linksOf(draft, text, drafts))
    pages = joined(
      pages,
      `{"url":"${short}","expanded_url":"${page}","expanded_status":200${described(draft, 'expanded_url_', about)}}`,
    );
  return pages === '' ? undefined : `[${pages}]`;
}

interface About {
  readonly title: string;
  readonly description: string | null;
}

interface Link extends About {
  readonly short: string;
  readonly page: string;
  readonly display: string;
  readonly start: number;
  readonly end: number;
}

function* linksOf(draft: SampleDraft, text: SampleText, drafts: SampleDrafts): Generator<Link> {
  for (const entity of text.entities) {
    if (entity.kind !== 'link') continue;
    const { link, start, end } = entity;
    const { code, url: page, display, title, description } = link;
    yield { short: SHORT_LINK + code, page, display, title, description, start, end };
  }
  if (text.quoteLink === undefined || draft.target === undefined) return;
  const { url: short, start, end } = text.quoteLink;
  const page = postPage(draft.target, drafts);
  const title = `${drafts.authors.at(draft.target.author).name} on Twitter`;
  yield { short, page, display: pageDisplay(page), title, description: null, start, end };
}

export function postPage(head: SampleHead, drafts: SampleDrafts): string {
  return pageStart(drafts.authors.handleOf(head.author)) + idOf(head);
}

/** Returns the start of the web URLs of an author's posts. The id of the post follows. */
export function pageStart(handle: string): string {
  return `https://twitter.com/${handle}/status/`;
}

/** Returns the shortened URL that a post displays. */
export function pageDisplay(url: string): string {
  return `${url.slice('https://'.length, 34)}…`;
}

function mention(author: number, drafts: SampleDrafts, start: number, end: number): string {
  const { handle, name, id } = drafts.authors.at(author);
  return `{"screen_name":"${handle}","name":${quote(name)},"id":${id},"id_str":"${id}","indices":[${start},${end}]}`;
}

/** Returns the title and description of a linked page, for posts since 29 July 2016. */
function described(
  { at }: SampleDraft,
  prefix: '' | 'expanded_url_',
  { title, description }: About,
): string {
  if (at < ENRICHED) return '';
  return `,"${prefix}title":${quote(title)},"${prefix}description":${orNull(description)}`;
}

const SIZES = [
  { large: [1600, 1200], small: [680, 510] },
  { large: [1080, 1350], small: [544, 680] },
  { large: [1280, 720], small: [680, 383] },
] as const;

function renderMedium(
  draft: SampleDraft,
  at: TrailingLink,
  drafts: SampleDrafts,
  shift: number,
  index: number,
  extended: boolean,
): string {
  const code = linkCode((mix(draft.minute + index * 77) ^ mix(draft.index)) >>> 0);
  const number = mix(draft.minute * 8 + index) >>> 0;
  // The media were uploaded a few seconds before the post.
  const taken = draft.at - 4000 + index;
  const id =
    taken > SNOWFLAKES
      ? snowflake(taken, ((number & 1023) << 12) | (draft.index & 0xfff))
      : String(number);
  const isVideo = draft.media === 5;
  const isAnimation = draft.media === 6;
  const folder = isVideo ? 'ext_tw_video_thumb' : isAnimation ? 'tweet_video_thumb' : 'media';
  const image = `pbs.twimg.com/${folder}/${code}${linkCode(number).slice(0, 5)}.jpg`;
  const kind = isVideo ? 'video' : 'photo';
  const { large, small } = SIZES[number % 3] as (typeof SIZES)[number];
  const size = ([w, h]: readonly [number, number], resize: string) =>
    `{"w":${w},"h":${h},"resize":"${resize}"}`;
  const video = !extended
    ? ''
    : isVideo
      ? `,"video_info":{"aspect_ratio":[16,9],"duration_millis":${5000 + (number % 90000)},"variants":[{"bitrate":832000,"content_type":"video/mp4","url":"https://video.twimg.com/ext_tw_video/${id}/pu/vid/640x360/${code}.mp4"},{"content_type":"application/x-mpegURL","url":"https://video.twimg.com/ext_tw_video/${id}/pu/pl/${code}.m3u8"}]}`
      : isAnimation
        ? `,"video_info":{"aspect_ratio":[16,9],"variants":[{"bitrate":0,"content_type":"video/mp4","url":"https://video.twimg.com/tweet_video/${code}.mp4"}]}`
        : '';
  // Only `extended_entities` has other types than `photo`.
  const type = !extended ? 'photo' : isVideo ? 'video' : isAnimation ? 'animated_gif' : 'photo';
  return `{"id":${id},"id_str":"${id}","indices":[${at.start + shift},${at.end + shift}],"media_url":"http://${image}","media_url_https":"https://${image}","url":"${at.url}","display_url":"pic.twitter.com/${at.url.slice(13)}","expanded_url":"${postPage(draft, drafts)}/${kind}/1","type":"${type}","sizes":{"thumb":${size([150, 150], 'crop')},"small":${size(small, 'fit')},"medium":${size(small, 'fit')},"large":${size(large, 'fit')}}${video}}`;
}

function joined(list: string, next: string): string {
  return list === '' ? next : `${list},${next}`;
}

export function langOf(draft: SampleDraft): string {
  return draft.isWordless ? 'und' : languageAt(draft.language).code;
}

export function editing(draft: SampleDraft): string {
  const { kind, target, at } = draft;
  const isEditable = kind === 'post' || kind === 'quote' || kind === 'edit';
  const first = kind === 'edit' && target !== undefined ? target : undefined;
  return editMembers(
    { id: idOf(draft), at },
    isEditable,
    first && { id: idOf(first), at: first.at },
  );
}

/**
 * Returns the members about edits as JSON, with a leading comma. Returns an empty string for posts before
 * 29 September 2022. A post can be edited 5 times in 30 minutes.
 *
 * @param first The first version of the post.
 */
export function editMembers(post: SortKey, isEditable: boolean, first = post): string {
  if (post.at < EDITS) return '';
  const ids = (first === post ? [post] : [first, post]).map(({ id }) => `"${id}"`);
  return `,"edit_history":{"initial_tweet_id":"${first.id}","edit_tweet_ids":[${ids}]},"edit_controls":{"editable_until_ms":${first.at + 30 * MINUTE},"edits_remaining":${6 - ids.length}},"editable":${isEditable}`;
}

export function placeUrl({ id }: SamplePlace): string {
  return `https://api.twitter.com/1.1/geo/id/${id}.json`;
}

export function retweetParts(
  shared: SampleDraft,
  drafts: SampleDrafts,
  unwound: boolean,
): {
  readonly original: SampleText;
  readonly text: string;
  readonly entities: string;
  /**
   * The JSON that describes the original's media. Set only if `text` contains the whole short link of the
   * media.
   */
  readonly media: string | undefined;
} {
  const original = draftText(shared, drafts);
  const { text, lead, kept } = retweetText(drafts.authors.handleOf(shared.author), original);
  const range = { kept, shift: lead, retweets: shared.author, unwound };
  const isWhole = original.mediaLink !== undefined && original.mediaLink.end <= kept;
  return {
    original,
    text,
    entities: renderEntities(shared, original, drafts, range),
    media: isWhole ? renderExtendedEntities(shared, original, drafts, lead) : undefined,
  };
}

/** Returns the bounding box of a place: four corners. The first corner is not repeated at the end. */
export function boxOf(place: SamplePlace): string {
  const corners = cornersOf(place).map(corner => `[${corner}]`);
  return `{"type":"Polygon","coordinates":[[${corners}]]}`;
}

/** Returns the corners of a place's bounding box, longitude first. */
export function cornersOf({
  center: [longitude, latitude],
}: SamplePlace): readonly (readonly [string, string])[] {
  const west = (longitude - 0.08).toFixed(3);
  const east = (longitude + 0.08).toFixed(3);
  const south = (latitude - 0.06).toFixed(3);
  const north = (latitude + 0.06).toFixed(3);
  return [
    [west, south],
    [west, north],
    [east, north],
    [east, south],
  ];
}

/** Returns the exact position inside the place, longitude first, if the post has one. */
export function pointOf(draft: SampleDraft, place: SamplePlace): [string, string] | undefined {
  if (!draft.hasPoint) return undefined;
  const spread = mix(draft.minute ^ Math.imul(draft.index + 1, 0x51ed27));
  const [longitude, latitude] = place.center;
  return [
    (longitude + ((spread & 0xffff) / 0xffff - 0.5) * 0.14).toFixed(6),
    (latitude + ((spread >>> 16) / 0xffff - 0.5) * 0.1).toFixed(6),
  ];
}
