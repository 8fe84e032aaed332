import { mix } from './random.js';
import { quote } from './render-author.js';
import {
  ENRICHED,
  idOf,
  type SampleDraft,
  type SampleDrafts,
  type SampleHead,
} from './sample-draft.js';
import type { FragmentEntity } from './sample-fragments.js';
import { SNOWFLAKES, snowflake } from './sample-ids.js';
import type { SampleText, TrailingLink } from './sample-text.js';
import { linkCode } from './sample-vocabulary.js';

/** The part of a text whose entities are printed, and its offset in the text that contains it. */
export interface EntityRange {
  /** Entities that end after this code point of the full text are omitted. */
  readonly kept: number;
  readonly shift: number;
  /** The author that a retweet retweets. */
  readonly retweets?: number | undefined;
  /** The link to the full text at the end of a truncated one. */
  readonly cutLink?: TrailingLink | undefined;
  /** Whether links have titles and descriptions; `activity_streams` has them elsewhere. */
  readonly unwound: boolean;
}

/** Prints `entities` or `twitter_entities`. */
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
    else if (entity.kind === 'link') urls = joined(urls, link(draft, entity, start, end, unwound));
    else {
      const tag = `{"text":${quote(entity.text)},"indices":[${start},${end}]}`;
      if (entity.kind === 'hashtag') hashtags = joined(hashtags, tag);
      else symbols = joined(symbols, tag);
    }
  }
  if (text.quoteLink !== undefined && text.quoteLink.end <= kept && draft.target !== undefined)
    urls = joined(urls, quoteLink(draft, draft.target, drafts, text.quoteLink, shift, unwound));
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

/**
 * Prints `extended_entities` or `twitter_extended_entities`, with all media; `undefined` without
 * media.
 */
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

/** Prints `gnip.urls`, with titles and descriptions of linked pages. */
export function renderLinkedPages(
  draft: SampleDraft,
  text: SampleText,
  drafts: SampleDrafts,
): string | undefined {
  let pages = '';
  for (const entity of text.entities) {
    if (entity.kind !== 'link') continue;
    const { code, url, title, description } = entity.link;
    pages = joined(
      pages,
      `{"url":"https://t.co/${code}","expanded_url":"${url}","expanded_status":200${about(draft, 'expanded_url_', title, description)}}`,
    );
  }
  if (text.quoteLink !== undefined && draft.target !== undefined) {
    const { author } = draft.target;
    pages = joined(
      pages,
      `{"url":"${text.quoteLink.url}","expanded_url":"${pageOf(draft.target, drafts)}","expanded_status":200${about(draft, 'expanded_url_', `${drafts.authors.at(author).name} on Twitter`, null)}}`,
    );
  }
  return pages === '' ? undefined : `[${pages}]`;
}

/** The URL of a post on the web. */
export function pageOf(head: SampleHead, drafts: SampleDrafts): string {
  return `https://twitter.com/${drafts.authors.handleOf(head.author)}/status/${idOf(head)}`;
}

/** The display form of a URL. */
export function pageDisplay(url: string): string {
  return `${url.slice('https://'.length, 34)}…`;
}

function mention(author: number, drafts: SampleDrafts, start: number, end: number): string {
  const { handle, name, id } = drafts.authors.at(author);
  return `{"screen_name":"${handle}","name":${quote(name)},"id":${id},"id_str":"${id}","indices":[${start},${end}]}`;
}

/** The title and description of a linked page, for posts since 29 July 2016. */
function about(
  { at }: SampleDraft,
  prefix: '' | 'expanded_url_',
  title: string,
  description: string | null,
): string {
  if (at < ENRICHED) return '';
  const text = description === null ? 'null' : quote(description);
  return `,"${prefix}title":${quote(title)},"${prefix}description":${text}`;
}

function link(
  draft: SampleDraft,
  entity: FragmentEntity & { readonly kind: 'link' },
  start: number,
  end: number,
  unwound: boolean,
): string {
  const { code, url, display, title, description } = entity.link;
  const page = unwound
    ? `,"unwound":{"url":"${url}","status":200${about(draft, '', title, description)}}`
    : '';
  return `{"url":"https://t.co/${code}","expanded_url":"${url}","display_url":"${display}"${page},"indices":[${start},${end}]}`;
}

function quoteLink(
  draft: SampleDraft,
  target: SampleHead,
  drafts: SampleDrafts,
  at: TrailingLink,
  shift: number,
  unwound: boolean,
): string {
  const url = pageOf(target, drafts);
  const page = unwound
    ? `,"unwound":{"url":"${url}","status":200${about(draft, '', `${drafts.authors.at(target.author).name} on Twitter`, null)}}`
    : '';
  return `{"url":"${at.url}","expanded_url":"${url}","display_url":"${pageDisplay(url)}"${page},"indices":[${at.start + shift},${at.end + shift}]}`;
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
  // Uploaded a few seconds before the post.
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
  // In `entities`, every kind is a photo.
  const type = !extended ? 'photo' : isVideo ? 'video' : isAnimation ? 'animated_gif' : 'photo';
  return `{"id":${id},"id_str":"${id}","indices":[${at.start + shift},${at.end + shift}],"media_url":"http://${image}","media_url_https":"https://${image}","url":"${at.url}","display_url":"pic.twitter.com/${at.url.slice(13)}","expanded_url":"${pageOf(draft, drafts)}/${kind}/1","type":"${type}","sizes":{"thumb":${size([150, 150], 'crop')},"small":${size(small, 'fit')},"medium":${size(small, 'fit')},"large":${size(large, 'fit')}}${video}}`;
}

function joined(list: string, next: string): string {
  return list === '' ? next : `${list},${next}`;
}
