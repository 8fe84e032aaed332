import { MINUTE } from '../../base/time.js';
import type { SortKey } from '../archive/archive.js';
import { EDITS } from './frequencies.js';
import { languageAt } from './languages.js';
import { mix } from './random.js';
import { renderEntities, renderExtendedEntities } from './render-entities.js';
import { idOf, type SampleDraft, type SampleDrafts } from './sample-draft.js';
import type { SamplePlace } from './sample-places.js';
import { retweetText, type SampleText, textOf } from './sample-text.js';

// Parts of a post that are the same in both formats.

export function langOf(draft: SampleDraft): string {
  return draft.isWordless ? 'und' : languageAt(draft.language).code;
}

/** The edit members of a draft. */
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
 * The edit members of a post, starting with a comma: thirty minutes and five edits, for posts since 29 September 2022.
 *
 * @param first The post of which it is an edit.
 */
export function editMembers(post: SortKey, isEditable: boolean, first = post): string {
  if (post.at < EDITS) return '';
  const ids = (first === post ? [post] : [first, post]).map(({ id }) => `"${id}"`);
  return `,"edit_history":{"initial_tweet_id":"${first.id}","edit_tweet_ids":[${ids}]},"edit_controls":{"editable_until_ms":${first.at + 30 * MINUTE},"edits_remaining":${6 - ids.length}},"editable":${isEditable}`;
}

export function placeUrl({ id }: SamplePlace): string {
  return `https://api.twitter.com/1.1/geo/id/${id}.json`;
}

/** The text of a retweet, and the JSON of its entities. */
export function retweetParts(
  shared: SampleDraft,
  drafts: SampleDrafts,
  unwound: boolean,
): {
  readonly original: SampleText;
  readonly text: string;
  readonly entities: string;
  /** Only where the short link of the media is within the text. */
  readonly media: string | undefined;
} {
  const original = textOf(shared, drafts);
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

/** Four corners, longitude first, not closed. */
export function boxOf({ center: [longitude, latitude] }: SamplePlace): string {
  const west = (longitude - 0.08).toFixed(3);
  const east = (longitude + 0.08).toFixed(3);
  const south = (latitude - 0.06).toFixed(3);
  const north = (latitude + 0.06).toFixed(3);
  return `{"type":"Polygon","coordinates":[[[${west},${south}],[${west},${north}],[${east},${north}],[${east},${south}]]]}`;
}

/** The exact position within the place, longitude first, if the post has one. */
export function pointOf(draft: SampleDraft, place: SamplePlace): [string, string] | undefined {
  if (!draft.hasPoint) return undefined;
  const spread = mix(draft.minute ^ Math.imul(draft.index + 1, 0x51ed27));
  const [longitude, latitude] = place.center;
  return [
    (longitude + ((spread & 0xffff) / 0xffff - 0.5) * 0.14).toFixed(6),
    (latitude + ((spread >>> 16) / 0xffff - 0.5) * 0.1).toFixed(6),
  ];
}
