import type { PostBytes } from './post-bytes.js';

export type ShownContent = ReturnType<typeof shownContent>;

function contentOf(at: PostBytes['at'], path: string) {
  const textsOf = (of: string) =>
    ['extended_tweet.full_text', 'full_text', 'text'].map(text => at(of + text));
  const idOf = (of: string) => [at(`${of}_str`), at(of)] as const;
  const entitiesOf = (of: string) => ({
    self: at(of),
    hashtags: at(`${of}.hashtags`),
    symbols: at(`${of}.symbols`),
    mentions: at(`${of}.user_mentions`),
    urls: at(`${of}.urls`),
    media: at(`${of}.media`),
  });
  const longMedia = `${path}extended_tweet.extended_entities`;
  return {
    texts: textsOf(path),
    entities: entitiesOf(`${path}entities`),
    longEntities: entitiesOf(`${path}extended_tweet.entities`),
    media: at(`${path}extended_entities.media`),
    longMedia: { self: at(longMedia), media: at(`${longMedia}.media`) },
    quoted: {
      self: at(`${path}quoted_status`),
      id: idOf(`${path}quoted_status.id`),
      userId: idOf(`${path}quoted_status.user.id`),
      handle: at(`${path}quoted_status.user.screen_name`),
      texts: textsOf(`${path}quoted_status.`),
    },
    quotedId: idOf(`${path}quoted_status_id`),
  };
}

/** Where the content is that a post shows: its own, or that of the post that it shares. */
export function shownContent({ at, startOf, endOf, isNone, isObject, isList }: PostBytes) {
  const own = contentOf(at, '');
  const retweeted = contentOf(at, 'retweeted_status.');
  const shared = at('retweeted_status');
  /** Of the post that was read last. */
  const found = {
    content: own,
    hasMentions: undefined as boolean | undefined,
    homes: undefined as number | undefined,
  };
  const isShared = () => found.content !== own;

  function find(): void {
    found.content = isObject(shared) ? retweeted : own;
    found.hasMentions = undefined;
    found.homes = undefined;
  }

  function entities() {
    const { longEntities, entities } = found.content;
    return isNone(longEntities.self) ? entities : longEntities;
  }

  function mediaList(): number {
    const { longMedia, media } = found.content;
    const list = isNone(longMedia.self) ? media : longMedia.media;
    // A list without elements is not used.
    const isEmpty = isList(list) && endOf(list) === startOf(list) + 2;
    return isNone(list) || isEmpty ? entities().media : list;
  }

  /** The first of the texts that is there, or else the last. */
  function firstOf(texts: readonly number[]): number {
    for (const text of texts) if (!isNone(text)) return text;
    return texts.at(-1)!;
  }

  /** Absent where no post is quoted. */
  function quoted() {
    const { quoted } = isNone(found.content.quoted.self) ? own : found.content;
    return isNone(quoted.self) ? undefined : quoted;
  }

  return { own, found, isShared, find, entities, mediaList, firstOf, quoted };
}
