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
import { editMembers } from '../sample/render-parts.js';
import { codePoints } from '../sample/sample-fragments.js';
import { type Entity, entitiesIn, escapeText } from './entities.js';
import { type CompletedPost, profileOf } from './new-post.js';

export function renderPost(post: CompletedPost, format: Format): string {
  return format === 'original' ? renderOriginal(post) : renderActivityStreams(post);
}

function renderOriginal(post: CompletedPost): string {
  const { id, at, author, reply, retweeted, quoted } = post;
  const cut = cutText(post);
  const whole = wholeText(post);
  const shown = cut ?? whole;
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
      `"extended_tweet":{"full_text":${quote(whole.text)},"display_text_range":[0,${codePoints(whole.text)}],"entities":${printed(whole.entities, post, true)}}`,
    `"quote_count":0,"reply_count":0,"retweet_count":${post.retweets},"favorite_count":${post.likes}`,
    `"entities":${printed(shown.entities, post, true)},"favorited":false,"retweeted":false`,
    whole.entities.some(({ kind }) => kind === 'url') ? '"possibly_sensitive":false' : undefined,
    `"filter_level":"low","lang":${quote(post.lang)}${editMembers(post, isEditable(post))}`,
  ]);
}

function renderActivityStreams(post: CompletedPost): string {
  const { id, at, author, reply, retweeted, quoted } = post;
  const cut = cutText(post);
  const whole = wholeText(post);
  const shown = cut ?? whole;
  const link = pageOf(author.handle, id);
  const time = postedTime(at);
  const note = `{"objectType":"note","id":"object:search.twitter.com,2005:${id}","summary":${quote(shown.text)},"link":"${link}","postedTime":"${time}"}`;
  const pages = whole.entities
    .filter(({ kind }) => kind === 'url')
    .map(
      ({ text: url }) =>
        `{"url":${quote(escapeText(url))},"expanded_url":${quote(targetOf(url))},"expanded_status":200}`,
    );
  return objectOf([
    `"id":"tag:search.twitter.com,2005:${id}","objectType":"activity","verb":"${retweeted === undefined ? 'post' : 'share'}","postedTime":"${time}"`,
    '"generator":{"displayName":"Twitter Web Client","link":"http://twitter.com"},"provider":{"objectType":"service","displayName":"Twitter","link":"http://www.twitter.com"}',
    `"link":"${link}","actor":${renderActor(author, at)},"body":${quote(shown.text)},"object":${retweeted?.render('activity_streams') ?? note}`,
    reply && `"inReplyTo":{"link":"${pageOf(reply.handle ?? 'i', reply.id)}"}`,
    `"favoritesCount":${post.likes},"twitter_entities":${printed(shown.entities, post, false)}`,
    cut &&
      `"long_object":{"body":${quote(whole.text)},"display_text_range":[0,${codePoints(whole.text)}],"twitter_entities":${printed(whole.entities, post, false)}}`,
    quoted && `"twitter_quoted_status":${quoted.render('activity_streams')}`,
    `"retweetCount":${post.retweets},"twitter_lang":${quote(post.lang)},"twitter_filter_level":"low"`,
    `"gnip":{${renderActorInfluence(author, at)}${pages.length === 0 ? '' : `,"urls":[${pages}]`}}${editMembers(post, isEditable(post))}`,
  ]);
}

function objectOf(members: readonly (string | undefined)[]): string {
  return `{${members.filter(member => member !== undefined)}}`;
}

function isEditable({ reply, retweeted }: CompletedPost): boolean {
  return reply === undefined && retweeted === undefined;
}

function pageOf(handle: string, id: string): string {
  return `http://twitter.com/${handle}/statuses/${id}`;
}

/** A string as it appears in the JSON of a post: escaped, with its entities. */
interface ShownText {
  readonly text: string;
  readonly entities: readonly ShownEntity[];
}

interface ShownEntity {
  readonly kind: Entity['kind'];
  /** The text, not escaped. */
  readonly text: string;
  /** The start and the end in the escaped text, in code points. */
  readonly indices: readonly [number, number];
}

function shownText(text: string, entities: readonly Entity[]): ShownText {
  let length = 0;
  let read = 0;
  const lengthTo = (end: number) => {
    length += codePoints(escapeText(text.slice(read, end)));
    read = end;
    return length;
  };
  return {
    text: escapeText(text),
    entities: entities.map(({ kind, text, start, end }) => {
      const from = lengthTo(start);
      return { kind, text, indices: [from, lengthTo(end)] };
    }),
  };
}

/**
 * Returns the full text of a post with its entities. If the post is a retweet whose text is truncated, omits
 * an entity that is incomplete in this text.
 */
function wholeText({ text, retweeted }: CompletedPost): ShownText {
  const found = entitiesIn(text);
  const shared = retweeted && `RT @${retweeted.handle}: ${retweeted.text}`;
  if (shared === undefined || !text.endsWith('…') || !shared.startsWith(text.slice(0, -1)))
    return shownText(text, found);
  const given = new Map(entitiesIn(shared).map(({ start, end }) => [start, end]));
  return shownText(
    text,
    found.filter(({ start, end }) => given.get(start) === end),
  );
}

const CUT_TO = 140;

/**
 * Returns the text of a post truncated to 140 characters, with a link to the full text. Returns `undefined` if
 * the full text is not longer, or if the post is a retweet.
 */
function cutText({ id, text, retweeted }: CompletedPost): ShownText | undefined {
  const points = Array.from(text);
  if (points.length <= CUT_TO || retweeted !== undefined) return undefined;
  const kept = points.slice(0, CUT_TO - 26).join('');
  const page = `https://twitter.com/i/web/status/${id}`;
  const start = kept.length + 2;
  return shownText(`${kept}… ${page}`, [
    ...entitiesIn(text).filter(({ end }) => end <= kept.length),
    { kind: 'url', text: page, start, end: start + page.length },
  ]);
}

/**
 * Prints the entities of the text of a post as a JSON object with a list for each kind.
 *
 * @param unwound Whether the JSON of a link includes its target. `activity_streams` has the targets in
 * `gnip.urls`.
 */
function printed(
  entities: readonly ShownEntity[],
  { idOf }: CompletedPost,
  unwound: boolean,
): string {
  const list = (kind: Entity['kind'], members: (text: string) => string) =>
    entities
      .filter(entity => entity.kind === kind)
      .map(({ text, indices }) => `{${members(text)},"indices":[${indices}]}`);
  const named = (text: string) => `"text":${quote(text.slice(1))}`;
  const linked = (text: string) => {
    const target = quote(targetOf(text));
    const bare = text.replace(/^https?:\/\//i, '');
    const display = bare.length > 27 ? `${bare.slice(0, 26)}…` : bare;
    return `"url":${quote(escapeText(text))},"expanded_url":${target},"display_url":${quote(display)}${unwound ? `,"unwound":{"url":${target},"status":200}` : ''}`;
  };
  const mentioned = (text: string) => {
    const { id, handle } = profileOf({ handle: text.slice(1), id: idOf(text.slice(1)) }, 0);
    return `"screen_name":"${handle}","name":"${handle}","id":${id},"id_str":"${id}"`;
  };
  return `{"hashtags":[${list('hashtag', named)}],"urls":[${list('url', linked)}],"user_mentions":[${list('mention', mentioned)}],"symbols":[${list('symbol', named)}]}`;
}

/** Returns the URL of a link. Some links in texts have no protocol. */
function targetOf(link: string): string {
  return /^https?:/i.test(link) ? link : `http://${link}`;
}
