import { mix } from './random.js';
import {
  LONG_TEXTS,
  type SampleDraft,
  type SampleDrafts,
  type SampleHead,
} from './sample-draft.js';
import type { FragmentEntity } from './sample-fragments.js';
import { linkCode, SHORT_LINK, SHORT_LINK_LENGTH } from './sample-vocabulary.js';

export interface SampleText {
  readonly full: string;
  readonly length: number;
  /**
   * The mentions, hashtags, symbols and links, except trailing links. Offsets are in code points from the
   * start of `full`.
   */
  readonly entities: readonly FragmentEntity[];
  /**
   * The start and the end of the displayed part of `full`, in code points. The mention at the start of a
   * reply and the trailing links are not displayed.
   */
  readonly shown: readonly [number, number];
  readonly quoteLink: TrailingLink | undefined;
  readonly mediaLink: TrailingLink | undefined;
  /** The truncated text, if the full text has more than 140 characters. */
  readonly cut: CutText | undefined;
}

export interface TrailingLink {
  readonly url: string;
  readonly start: number;
  readonly end: number;
}

export interface CutText {
  readonly text: string;
  readonly length: number;
  /** The number of code points of the full text that the truncated text includes. */
  readonly kept: number;
  readonly link: TrailingLink;
}

const CUT_TO = 140;

/**
 * Returns the text of a draft. Must not be called for a retweet, which has the text of another
 * post.
 */
export function draftText(draft: SampleDraft, drafts: SampleDrafts): SampleText {
  let full = '';
  let length = 0;
  const entities: FragmentEntity[] = [];
  for (const key of draft.parts) {
    const fragment = drafts.fragments.get(key);
    if (full !== '') {
      full += ' ';
      length++;
    }
    const { entity } = fragment;
    if (entity !== undefined)
      entities.push({ ...entity, start: length + entity.start, end: length + entity.end });
    full += fragment.text;
    length += fragment.length;
  }
  const first = entities[0];
  const shownFrom =
    draft.kind === 'reply' && first !== undefined ? Math.min(first.end + 1, length) : 0;
  const shownTo = length;
  const trail = (url: string): TrailingLink => {
    full += length === 0 ? url : ` ${url}`;
    const start = length === 0 ? 0 : length + 1;
    length = start + SHORT_LINK_LENGTH;
    return { url, start, end: length };
  };
  const [quoteUrl, mediaUrl] = [quoteUrlOf(draft), mediaUrlOf(draft)];
  const quoteLink = quoteUrl === undefined ? undefined : trail(quoteUrl);
  const mediaLink = mediaUrl === undefined ? undefined : trail(mediaUrl);
  const isCut = draft.at >= LONG_TEXTS && shownTo > CUT_TO;
  const cut = isCut ? cutText(draft, full, shownTo) : undefined;
  return { full, length, entities, shown: [shownFrom, shownTo], quoteLink, mediaLink, cut };
}

/** Returns the truncated text. It is cut at a space, and ends with an ellipsis and a link to the full text. */
function cutText(draft: SampleDraft, full: string, shownTo: number): CutText {
  const points = Array.from(full).slice(0, Math.min(CUT_TO - SHORT_LINK_LENGTH - 2, shownTo));
  const space = points.lastIndexOf(' ');
  const kept = space > points.length - 20 ? space : points.length;
  const url = shortLink(draft, 3);
  const text = `${points.slice(0, kept).join('')}… ${url}`;
  return {
    text,
    length: kept + 2 + SHORT_LINK_LENGTH,
    kept,
    link: { url, start: kept + 2, end: kept + 2 + SHORT_LINK_LENGTH },
  };
}

/**
 * Returns the text of a retweet and two lengths in code points: `lead` for the `RT @handle: ` at its start,
 * and `kept` for the part of the original text that follows.
 */
export function retweetText(handle: string, original: SampleText) {
  const lead = `RT @${handle}: `;
  const room = CUT_TO - lead.length;
  const isWhole = original.length <= room;
  const kept = isWhole ? original.length : room - 1;
  const start = isWhole ? original.full : `${Array.from(original.full).slice(0, kept).join('')}…`;
  return { text: lead + start, lead: lead.length, kept };
}

function quoteUrlOf({ kind, target }: SampleDraft): string | undefined {
  return kind === 'quote' && target !== undefined ? quoteLink(target) : undefined;
}

function mediaUrlOf(draft: SampleDraft): string | undefined {
  return draft.media > 0 ? mediaLink(draft) : undefined;
}

export const quoteLink = (quoted: SampleHead): string => shortLink(quoted, 1);
export const mediaLink = (head: SampleHead): string => shortLink(head, 2);

/** Returns a short link of a post. `purpose` distinguishes several links of the same post. */
function shortLink(head: SampleHead, purpose: number): string {
  const code = (mix(head.minute * 64 + purpose) ^ mix(head.index * 8 + purpose)) >>> 0;
  return SHORT_LINK + linkCode(code);
}
