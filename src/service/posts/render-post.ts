import type { Format } from '../../post/activity.js';
import {
  createdAt,
  orNull,
  postedTime,
  quote,
  renderActor,
  renderActorInfluence,
  renderUser,
} from '../sample/render-author.js';
import { editMembers } from '../sample/render-shared-parts.js';
import { codePoints } from '../sample/sample-fragments.js';
import { type CompletedPost, profileOf } from './new-post.js';

/** Prints a completed post as one line of JSON. */
export function renderPost(post: CompletedPost, format: Format): string {
  return format === 'original' ? renderOriginal(post) : renderActivityStreams(post);
}

function renderOriginal(post: CompletedPost): string {
  const { id, at, author, text, reply, retweeted, quoted } = post;
  const cut = cutText(post);
  const entities = entitiesOf(text);
  const shown = cut ?? { text, entities };
  return objectOf([
    `"created_at":"${createdAt(at)}","id":${id},"id_str":"${id}","text":${quote(shown.text)}`,
    `"source":"<a href=\\"http://twitter.com\\" rel=\\"nofollow\\">Twitter Web Client</a>","truncated":${cut !== undefined}`,
    `"in_reply_to_status_id":${reply?.id ?? null},"in_reply_to_status_id_str":${orNull(reply?.id)}`,
    `"in_reply_to_user_id":${reply?.userId ?? null},"in_reply_to_user_id_str":${orNull(reply?.userId)},"in_reply_to_screen_name":${orNull(reply?.handle)}`,
    `"user":${renderUser(author, at)},"geo":null,"coordinates":null,"place":null,"contributors":null`,
    retweeted && `"retweeted_status":${retweeted.render('original')}`,
    `"is_quote_status":${quoted !== undefined}`,
    quoted &&
      `"quoted_status_id":${quoted.id},"quoted_status_id_str":"${quoted.id}","quoted_status":${quoted.render('original')}`,
    cut &&
      `"extended_tweet":{"full_text":${quote(text)},"display_text_range":[0,${codePoints(text)}],"entities":${printed(entities, post, true)}}`,
    `"quote_count":0,"reply_count":0,"retweet_count":${post.retweets},"favorite_count":${post.likes}`,
    `"entities":${printed(shown.entities, post, true)},"favorited":false,"retweeted":false`,
    entities.urls.length === 0 ? undefined : '"possibly_sensitive":false',
    `"filter_level":"low","lang":${quote(post.lang)}${editMembers(post, isEditable(post))}`,
  ]);
}

function renderActivityStreams(post: CompletedPost): string {
  const { id, at, author, text, reply, retweeted, quoted } = post;
  const cut = cutText(post);
  const entities = entitiesOf(text);
  const shown = cut ?? { text, entities };
  const link = pageOf(author.handle, id);
  const time = postedTime(at);
  const note = `{"objectType":"note","id":"object:search.twitter.com,2005:${id}","summary":${quote(shown.text)},"link":"${link}","postedTime":"${time}"}`;
  const pages = entities.urls.map(
    ({ text: url }) => `{"url":${quote(url)},"expanded_url":${quote(url)},"expanded_status":200}`,
  );
  return objectOf([
    `"id":"tag:search.twitter.com,2005:${id}","objectType":"activity","verb":"${retweeted === undefined ? 'post' : 'share'}","postedTime":"${time}"`,
    '"generator":{"displayName":"Twitter Web Client","link":"http://twitter.com"},"provider":{"objectType":"service","displayName":"Twitter","link":"http://www.twitter.com"}',
    `"link":"${link}","actor":${renderActor(author, at)},"body":${quote(shown.text)},"object":${retweeted?.render('activity_streams') ?? note}`,
    reply && `"inReplyTo":{"link":"${pageOf(reply.handle ?? 'i', reply.id)}"}`,
    `"favoritesCount":${post.likes},"twitter_entities":${printed(shown.entities, post, false)}`,
    cut &&
      `"long_object":{"body":${quote(text)},"display_text_range":[0,${codePoints(text)}],"twitter_entities":${printed(entities, post, false)}}`,
    quoted && `"twitter_quoted_status":${quoted.render('activity_streams')}`,
    `"retweetCount":${post.retweets},"twitter_lang":${quote(post.lang)},"twitter_filter_level":"low"`,
    `"gnip":{${renderActorInfluence(author, at)}${pages.length === 0 ? '' : `,"urls":[${pages}]`}}${editMembers(post, isEditable(post))}`,
  ]);
}

/** The members of an object, of those that it has. */
function objectOf(members: readonly (string | undefined)[]): string {
  return `{${members.filter(member => member !== undefined)}}`;
}

function isEditable({ reply, retweeted }: CompletedPost): boolean {
  return reply === undefined && retweeted === undefined;
}

function pageOf(handle: string, id: string): string {
  return `http://twitter.com/${handle}/statuses/${id}`;
}

interface Entity {
  readonly text: string;
  /** In code points. */
  readonly start: number;
  readonly end: number;
}

interface Entities {
  readonly hashtags: readonly Entity[];
  readonly symbols: readonly Entity[];
  readonly mentions: readonly Entity[];
  readonly urls: readonly Entity[];
}

const PATTERNS = {
  hashtags: /(?<![\p{L}\p{N}_&/])#(?=[\p{N}_]*[\p{L}\p{M}])[\p{L}\p{M}\p{N}_]+/gu,
  symbols: /(?<![\p{L}\p{N}_$])\$[a-z]{1,6}(?:[._][a-z]{1,2})?(?![\p{L}\p{N}_])/giu,
  mentions: /(?<![\p{L}\p{N}_@/])@\w{1,15}(?![\w@])/gu,
  urls: /https?:\/\/[^\s"<>]*[^\s"<>.,;:!?)\]'…]/gu,
};

function entitiesOf(text: string): Entities {
  const urls = found(text, PATTERNS.urls);
  const outside = (kind: keyof typeof PATTERNS) =>
    found(text, PATTERNS[kind]).filter(
      ({ start }) => !urls.some(url => start >= url.start && start < url.end),
    );
  return {
    urls,
    hashtags: outside('hashtags'),
    symbols: outside('symbols'),
    mentions: outside('mentions'),
  };
}

function found(text: string, pattern: RegExp): readonly Entity[] {
  return Array.from(text.matchAll(pattern), ({ 0: match, index }) => {
    const start = codePoints(text.slice(0, index));
    return { text: match, start, end: start + codePoints(match) };
  });
}

/** @param unwound Whether links have their target; `activity_streams` has it elsewhere. */
function printed(
  { hashtags, symbols, mentions, urls }: Entities,
  { idOf }: CompletedPost,
  unwound: boolean,
): string {
  const list = (entities: readonly Entity[], members: (entity: Entity) => string) =>
    entities.map(entity => `{${members(entity)},"indices":[${entity.start},${entity.end}]}`);
  const named = ({ text }: Entity) => `"text":${quote(text.slice(1))}`;
  const linked = list(urls, ({ text }) => {
    const shown = text.replace(/^https?:\/\//, '');
    const display = shown.length > 27 ? `${shown.slice(0, 26)}…` : shown;
    const target = unwound ? `,"unwound":{"url":${quote(text)},"status":200}` : '';
    return `"url":${quote(text)},"expanded_url":${quote(text)},"display_url":${quote(display)}${target}`;
  });
  const mentioned = list(mentions, ({ text }) => {
    const { id, handle } = profileOf({ handle: text.slice(1), id: idOf(text.slice(1)) }, 0);
    return `"screen_name":"${handle}","name":"${handle}","id":${id},"id_str":"${id}"`;
  });
  return `{"hashtags":[${list(hashtags, named)}],"urls":[${linked}],"user_mentions":[${mentioned}],"symbols":[${list(symbols, named)}]}`;
}

const CUT_TO = 140;

/** What a post shows of a longer text, with a link to all of it. A share shows what it was given. */
function cutText({ id, text, retweeted }: CompletedPost) {
  const points = Array.from(text);
  if (points.length <= CUT_TO || retweeted !== undefined) return undefined;
  const page = `https://twitter.com/i/web/status/${id}`;
  const kept = points.slice(0, CUT_TO - 26).join('');
  return { text: `${kept}… ${page}`, entities: entitiesOf(`${kept}… ${page}`) };
}
