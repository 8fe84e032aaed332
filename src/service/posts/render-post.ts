import type { Format } from '../../post/activity.js';
import { printPost } from '../sample/print-post.js';
import { quote } from '../sample/render-author.js';
import { editMembers } from '../sample/render-parts.js';
import { codePoints } from '../sample/sample-fragments.js';
import { type Entity, entitiesIn, escapeText } from './entities.js';
import { type CompletedPost, profileOf } from './new-post.js';

/** Prints a completed post as one line of JSON. */
export function renderPost(post: CompletedPost, format: Format): string {
  const { id, at, author, reply, retweeted, quoted, lang } = post;
  const cut = cutText(post);
  const whole = wholeText(post);
  const shown = cut ?? whole;
  const entities = (of: ShownText) => printed(of.entities, post, format === 'original');
  const links = whole.entities.filter(({ kind }) => kind === 'url');
  const pages = links.map(
    ({ text: url }) =>
      `{"url":${quote(escapeText(url))},"expanded_url":${quote(targetOf(url))},"expanded_status":200}`,
  );
  return printPost(
    {
      id,
      at,
      seenAt: at,
      author,
      source: SOURCE,
      text: shown.text,
      entities: entities(shown),
      long: cut && {
        text: whole.text,
        range: [0, codePoints(whole.text)],
        entities: entities(whole),
      },
      reply,
      retweeted: retweeted?.render(format),
      isQuote: quoted !== undefined,
      quoted: quoted && { id: quoted.id, json: quoted.render(format) },
      counts: { quotes: 0, replies: 0, retweets: post.retweets, likes: post.likes },
      isLinked: links.length > 0,
      lang,
      pages: links.length > 0 ? `[${pages}]` : undefined,
      edit: editMembers(post, reply === undefined && retweeted === undefined),
    },
    format,
  );
}

const SOURCE = { name: 'Twitter Web Client', link: 'http://twitter.com' };

/** A text as the service prints it, with its entities. */
interface ShownText {
  /** Escaped. */
  readonly text: string;
  readonly entities: readonly ShownEntity[];
}

interface ShownEntity {
  readonly kind: Entity['kind'];
  /** Not escaped. */
  readonly text: string;
  /** In code points of the escaped text. */
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

/** All of a post's text. If a retweet cuts what it was given, the entity at the cut is left out. */
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

/** What a post shows of a longer text, with a link to all of it. A retweet shows what it was given. */
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

/** @param unwound Whether links have their target; `activity_streams` has it elsewhere. */
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

/** The address of a link, which may have been written without a protocol. */
function targetOf(link: string): string {
  return /^https?:/i.test(link) ? link : `http://${link}`;
}
