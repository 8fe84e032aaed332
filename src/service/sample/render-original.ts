import { createdAt, quote, renderUser } from './render-author.js';
import {
  boxOf,
  editing,
  langOf,
  pageDisplay,
  placeUrl,
  pointOf,
  postPage,
  renderEntities,
  renderExtendedEntities,
  retweetParts,
} from './render-parts.js';
import { idOf, type SampleDraft, type SampleDrafts } from './sample-draft.js';
import { draftText, type SampleText } from './sample-text.js';
import { PLACES, type SampleSource, SOURCES } from './sample-vocabulary.js';

/**
 * Prints a post in the `original` format as one line of JSON.
 *
 * @param seenAt The time of delivery, on which the author's counts depend.
 * @param isQuoted Whether the post is printed inside a quote. A post that it quotes is then not included.
 */
export function renderOriginal(
  draft: SampleDraft,
  drafts: SampleDrafts,
  seenAt = draft.at,
  isQuoted = false,
): string {
  if (draft.kind === 'retweet' && draft.target !== undefined)
    return renderRetweet(draft, drafts.draftOf(draft.target), drafts, seenAt);
  const text = draftText(draft, drafts);
  const { cut, full } = text;
  const range = { kept: cut?.kept ?? text.length, shift: 0, cutLink: cut?.link, unwound: true };
  const entities = renderEntities(draft, text, drafts, range);
  const media = renderExtendedEntities(draft, text, drafts, 0);
  const shown = cut === undefined ? text.shown : ([text.shown[0], cut.length] as const);
  return (
    `${opening(draft, cut?.text ?? full, `"display_text_range":[${shown}],`, cut !== undefined)}` +
    `${replying(draft, drafts)}"user":${renderUser(drafts.authors.at(draft.author), seenAt)},${where(draft)}` +
    `"contributors":null,${quoting(draft, text, drafts, seenAt, isQuoted)}${cut === undefined ? '' : extended(draft, text, drafts, media)}` +
    `${counts(draft)}"entities":${entities},${media === undefined || cut !== undefined ? '' : `"extended_entities":${media},`}` +
    closing(draft, text)
  );
}

function renderRetweet(
  draft: SampleDraft,
  shared: SampleDraft,
  drafts: SampleDrafts,
  seenAt: number,
): string {
  const { original, text, entities, media } = retweetParts(shared, drafts, true);
  return (
    `${opening({ ...shared, ...draft, source: draft.source }, text, '', false)}${replying(draft, drafts)}` +
    `"user":${renderUser(drafts.authors.at(draft.author), seenAt)},"geo":null,"coordinates":null,"place":null,"contributors":null,` +
    `"retweeted_status":${renderOriginal(shared, drafts, draft.at)},"is_quote_status":${shared.kind === 'quote'},` +
    `"quote_count":0,"reply_count":0,"retweet_count":0,"favorite_count":0,"entities":${entities},` +
    `${media === undefined ? '' : `"extended_entities":${media},`}${closing({ ...draft, language: shared.language, isWordless: shared.isWordless }, original)}`
  );
}

function opening(draft: SampleDraft, text: string, range: string, truncated: boolean): string {
  const id = idOf(draft);
  const { name, link } = SOURCES[draft.source] as SampleSource;
  return `{"created_at":"${createdAt(draft.at)}","id":${id},"id_str":"${id}","text":${quote(text)},${range}"source":"<a href=\\"${link}\\" rel=\\"nofollow\\">${name}</a>","truncated":${truncated},`;
}

function replying(draft: SampleDraft, drafts: SampleDrafts): string {
  if (draft.kind !== 'reply' || draft.target === undefined)
    return '"in_reply_to_status_id":null,"in_reply_to_status_id_str":null,"in_reply_to_user_id":null,"in_reply_to_user_id_str":null,"in_reply_to_screen_name":null,';
  const id = idOf(draft.target);
  const author = drafts.authors.at(draft.target.author);
  return `"in_reply_to_status_id":${id},"in_reply_to_status_id_str":"${id}","in_reply_to_user_id":${author.id},"in_reply_to_user_id_str":"${author.id}","in_reply_to_screen_name":"${author.handle}",`;
}

function where(draft: SampleDraft): string {
  const place = PLACES[draft.place];
  if (place === undefined) return '"geo":null,"coordinates":null,"place":null,';
  const { id, name, region, code, country } = place;
  const point = pointOf(draft, place);
  const [longitude, latitude] = point ?? [];
  const exact =
    point === undefined
      ? '"geo":null,"coordinates":null,'
      : `"geo":{"type":"Point","coordinates":[${latitude},${longitude}]},"coordinates":{"type":"Point","coordinates":[${longitude},${latitude}]},`;
  return `${exact}"place":{"id":"${id}","url":"${placeUrl(place)}","place_type":"city","name":${quote(name)},"full_name":${quote(`${name}, ${region}`)},"country_code":"${code}","country":"${country}","bounding_box":${boxOf(place)},"attributes":{}},`;
}

function quoting(
  draft: SampleDraft,
  text: SampleText,
  drafts: SampleDrafts,
  seenAt: number,
  isQuoted: boolean,
): string {
  const { target } = draft;
  if (draft.kind !== 'quote' || target === undefined) return '"is_quote_status":false,';
  const id = idOf(target);
  const page = postPage(target, drafts);
  const quoted = isQuoted
    ? ''
    : `"quoted_status":${renderOriginal(drafts.draftOf(target), drafts, seenAt, true)},`;
  return `"is_quote_status":true,"quoted_status_id":${id},"quoted_status_id_str":"${id}",${quoted}"quoted_status_permalink":{"url":"${text.quoteLink?.url ?? ''}","expanded":"${page}","display":"${pageDisplay(page)}"},`;
}

function extended(
  draft: SampleDraft,
  text: SampleText,
  drafts: SampleDrafts,
  media: string | undefined,
): string {
  const range = { kept: text.length, shift: 0, unwound: true };
  const entities = renderEntities(draft, text, drafts, range);
  return `"extended_tweet":{"full_text":${quote(text.full)},"display_text_range":[${text.shown}],"entities":${entities}${media === undefined ? '' : `,"extended_entities":${media}`}},`;
}

function counts(draft: SampleDraft): string {
  return `"quote_count":${draft.retweets >> 3},"reply_count":${draft.retweets >> 1},"retweet_count":${draft.retweets},"favorite_count":${draft.likes},`;
}

function closing(draft: SampleDraft, text: SampleText): string {
  const isLinked =
    text.mediaLink !== undefined ||
    text.quoteLink !== undefined ||
    text.entities.some(entity => entity.kind === 'link');
  return `"favorited":false,"retweeted":false,${isLinked ? '"possibly_sensitive":false,' : ''}"filter_level":"low","lang":"${langOf(draft)}"${editing(draft)}}`;
}
