import type { Format } from '../../post/activity.js';
import { type PrintablePost, printPost, type ShownContent } from './print-post.js';
import {
  editMembers,
  pageDisplay,
  pointOf,
  postPage,
  renderEntities,
  renderExtendedEntities,
  renderLinkedPages,
} from './render-parts.js';
import { idOf, type SampleDraft, type SampleDrafts } from './sample-draft.js';
import { draftText, retweetText, type SampleText } from './sample-text.js';
import { languageAt, PLACES, type SampleSource, SOURCES } from './sample-vocabulary.js';

/**
 * Prints the post of a draft as one line of JSON.
 *
 * @param seenAt The time of delivery.
 * @param isQuoted Whether another post quotes it: then it does not include a post that it quotes itself.
 */
export function renderDraft(
  draft: SampleDraft,
  drafts: SampleDrafts,
  format: Format,
  seenAt = draft.at,
  isQuoted = false,
): string {
  const { authors } = drafts;
  const { kind, target, at } = draft;
  const shared = kind === 'retweet' && target !== undefined ? drafts.draftOf(target) : undefined;
  const written = shared ?? draft;
  const text = draftText(written, drafts);
  const isOriginal = format === 'original';
  const place = PLACES[draft.place];
  const { retweets, likes } = shared === undefined ? draft : NO_COUNTS;
  return printPost(
    {
      ...(shared === undefined
        ? contentOf(draft, text, drafts, isOriginal)
        : retweetContent(shared, text, drafts, isOriginal)),
      id: idOf(draft),
      at,
      seenAt,
      author: authors.at(draft.author),
      source: SOURCES[draft.source] as SampleSource,
      reply:
        kind === 'reply' && target !== undefined
          ? {
              id: idOf(target),
              handle: authors.handleOf(target.author),
              // The other format does not have it, and it takes all of the author.
              ...(isOriginal && { userId: authors.at(target.author).id }),
            }
          : undefined,
      place,
      point: place && pointOf(draft, place),
      retweeted: shared && renderDraft(shared, drafts, format, at),
      isQuote: written.kind === 'quote',
      quoted: quotedBy(draft, text, drafts, post =>
        isQuoted ? undefined : renderDraft(post, drafts, format, seenAt, true),
      ),
      counts: { quotes: retweets >> 3, replies: retweets >> 1, retweets, likes },
      isLinked:
        text.mediaLink !== undefined ||
        text.quoteLink !== undefined ||
        text.entities.some(entity => entity.kind === 'link'),
      lang: written.isWordless ? 'und' : languageAt(written.language).code,
      pages: isOriginal ? undefined : renderLinkedPages(written, text, drafts),
      edit: editing(draft),
    },
    format,
  );
}

/** Retweets are never shared or liked themselves. */
const NO_COUNTS = { retweets: 0, likes: 0 };

/** What a draft that is no retweet shows of its text. */
function contentOf(
  draft: SampleDraft,
  text: SampleText,
  drafts: SampleDrafts,
  unwound: boolean,
): ShownContent {
  const { cut, full, length, shown } = text;
  const entities = renderEntities(draft, text, drafts, { kept: length, shift: 0, unwound });
  const media = renderExtendedEntities(draft, text, drafts, 0);
  const whole = { text: full, range: shown, entities, media };
  if (cut === undefined) return whole;
  const kept = { kept: cut.kept, shift: 0, cutLink: cut.link, unwound };
  return {
    text: cut.text,
    range: [shown[0], cut.length],
    entities: renderEntities(draft, text, drafts, kept),
    long: whole,
  };
}

/** What a retweet shows of the text of the shared post. */
function retweetContent(
  shared: SampleDraft,
  original: SampleText,
  drafts: SampleDrafts,
  unwound: boolean,
): ShownContent {
  const { text, lead, kept } = retweetText(drafts.authors.handleOf(shared.author), original);
  const range = { kept, shift: lead, retweets: shared.author, unwound };
  // Media only if their short link is within the text.
  const isWhole = original.mediaLink !== undefined && original.mediaLink.end <= kept;
  return {
    text,
    entities: renderEntities(shared, original, drafts, range),
    media: isWhole ? renderExtendedEntities(shared, original, drafts, lead) : undefined,
  };
}

function quotedBy(
  { kind, target }: SampleDraft,
  { quoteLink }: SampleText,
  drafts: SampleDrafts,
  jsonOf: (post: SampleDraft) => string | undefined,
): PrintablePost['quoted'] {
  if (kind !== 'quote' || target === undefined) return undefined;
  const page = postPage(target, drafts);
  return {
    id: idOf(target),
    json: jsonOf(drafts.draftOf(target)),
    permalink: `{"url":"${quoteLink?.url ?? ''}","expanded":"${page}","display":"${pageDisplay(page)}"}`,
  };
}

function editing(draft: SampleDraft): string {
  const { kind, target, at } = draft;
  const isEditable = kind === 'post' || kind === 'quote' || kind === 'edit';
  const first = kind === 'edit' && target !== undefined ? target : undefined;
  return editMembers(
    { id: idOf(draft), at },
    isEditable,
    first && { id: idOf(first), at: first.at },
  );
}
