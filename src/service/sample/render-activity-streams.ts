import {
  postedTime,
  quote,
  renderActor,
  renderActorInfluence,
  renderProfileLocations,
} from './render-author.js';
import {
  boxOf,
  editing,
  langOf,
  placeUrl,
  pointOf,
  renderEntities,
  renderExtendedEntities,
  renderLinkedPages,
  retweetParts,
} from './render-parts.js';
import { idOf, type SampleDraft, type SampleDrafts, type SampleHead } from './sample-draft.js';
import { draftText, type SampleText } from './sample-text.js';
import { PLACES, type SampleSource, SOURCES } from './sample-vocabulary.js';

/** Prints a post in the `activity_streams` format. The parameters are explained at `renderOriginal`. */
export function renderActivityStreams(
  draft: SampleDraft,
  drafts: SampleDrafts,
  seenAt = draft.at,
  isQuoted = false,
): string {
  if (draft.kind === 'retweet' && draft.target !== undefined)
    return renderRetweet(draft, drafts.draftOf(draft.target), drafts, seenAt);
  const text = draftText(draft, drafts);
  const { cut } = text;
  const body = cut?.text ?? text.full;
  const link = linkOf(draft, drafts);
  const whole = { kept: text.length, shift: 0, unwound: false };
  const range = cut === undefined ? whole : { ...whole, kept: cut.kept, cutLink: cut.link };
  const media = renderExtendedEntities(draft, text, drafts, 0);
  const mediaPart = media === undefined ? '' : `"twitter_extended_entities":${media},`;
  const shown = cut === undefined ? text.shown : [text.shown[0], cut.length];
  const long =
    cut === undefined
      ? mediaPart
      : `"long_object":{"body":${quote(text.full)},"display_text_range":[${text.shown}],${mediaPart}"twitter_entities":${renderEntities(draft, text, drafts, whole)}},`;
  const note = `{"objectType":"note","id":"object:search.twitter.com,2005:${idOf(draft)}","summary":${quote(body)},"link":"${link}","postedTime":"${postedTime(draft.at)}"}`;
  return (
    `${opening(draft, 'post', drafts, seenAt)}"body":${quote(body)},"object":${note},${replying(draft, drafts)}` +
    `"favoritesCount":${draft.likes},${where(draft)}"twitter_entities":${renderEntities(draft, text, drafts, range)},${long}` +
    `"display_text_range":[${shown}],${quoting(draft, drafts, seenAt, isQuoted)}` +
    closing(draft, draft, text, drafts, draft.retweets)
  );
}

function renderRetweet(
  draft: SampleDraft,
  shared: SampleDraft,
  drafts: SampleDrafts,
  seenAt: number,
): string {
  const { original, text, entities, media } = retweetParts(shared, drafts, false);
  return (
    `${opening(draft, 'share', drafts, seenAt)}"body":${quote(text)},` +
    `"object":${renderActivityStreams(shared, drafts, draft.at)},"favoritesCount":0,` +
    `"twitter_entities":${entities},` +
    `${media === undefined ? '' : `"twitter_extended_entities":${media},`}` +
    closing(draft, shared, original, drafts, 0)
  );
}

function opening(draft: SampleDraft, verb: string, drafts: SampleDrafts, seenAt: number): string {
  const { name, link } = SOURCES[draft.source] as SampleSource;
  return (
    `{"id":"tag:search.twitter.com,2005:${idOf(draft)}","objectType":"activity","verb":"${verb}","postedTime":"${postedTime(draft.at)}",` +
    `"generator":{"displayName":"${name}","link":"${link}"},"provider":{"objectType":"service","displayName":"Twitter","link":"http://www.twitter.com"},` +
    `"link":"${linkOf(draft, drafts)}","actor":${renderActor(drafts.authors.at(draft.author), seenAt)},`
  );
}

function replying(draft: SampleDraft, drafts: SampleDrafts): string {
  if (draft.kind !== 'reply' || draft.target === undefined) return '';
  return `"inReplyTo":{"link":"${linkOf(draft.target, drafts)}"},`;
}

function where(draft: SampleDraft): string {
  const place = PLACES[draft.place];
  if (place === undefined) return '';
  const { name, region, code, country } = place;
  const point = pointOf(draft, place);
  const geo =
    point === undefined ? '' : `"geo":{"type":"Point","coordinates":[${point[1]},${point[0]}]},`;
  return `"location":{"objectType":"place","displayName":${quote(`${name}, ${region}`)},"name":${quote(name)},"country_code":"${country}","twitter_country_code":"${code}","twitter_place_type":"city","link":"${placeUrl(place)}","geo":${boxOf(place)}},${geo}`;
}

function quoting(
  draft: SampleDraft,
  drafts: SampleDrafts,
  seenAt: number,
  isQuoted: boolean,
): string {
  if (draft.kind !== 'quote' || draft.target === undefined || isQuoted) return '';
  const quoted = renderActivityStreams(drafts.draftOf(draft.target), drafts, seenAt, true);
  return `"twitter_quoted_status":${quoted},`;
}

/**
 * Prints the members at the end of a post. `written` is the post whose text is printed: for a retweet, the
 * retweeted post.
 */
function closing(
  draft: SampleDraft,
  written: SampleDraft,
  text: SampleText,
  drafts: SampleDrafts,
  retweets: number,
): string {
  const pages = renderLinkedPages(written, text, drafts);
  const locations = renderProfileLocations(drafts.authors.at(draft.author));
  const enrichments = [
    renderActorInfluence(drafts.authors.at(draft.author), draft.at),
    ...(pages === undefined ? [] : [`"urls":${pages}`]),
    ...(locations === undefined ? [] : [`"profileLocations":${locations}`]),
  ];
  return `"retweetCount":${retweets},"twitter_lang":"${langOf(written)}","twitter_filter_level":"low","gnip":{${enrichments}}${editing(draft)}}`;
}

function linkOf(head: SampleHead, drafts: SampleDrafts): string {
  return `http://twitter.com/${drafts.authors.handleOf(head.author)}/statuses/${idOf(head)}`;
}
