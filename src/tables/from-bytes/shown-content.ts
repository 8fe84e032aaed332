import type { PostBytes } from './post-bytes.js';

export type ShownContent = ReturnType<typeof shownContent>;

/** Where the content is that a post shows: its own, or that of the post that it shares. */
export function shownContent(post: PostBytes) {
  const { at, startOf, endOf, isNone, isObject, isList } = post;
  const own = contentAt(post, '');
  const retweeted = contentAt(post, 'retweeted_status.');
  const shared = at('retweeted_status');
  /** The post that was read last: its number, and what it shows. */
  const last = { post: 0, content: own };
  const isShared = () => last.content !== own;

  /** Called for each post. */
  function begin(): void {
    last.post++;
    last.content = isObject(shared) ? retweeted : own;
  }

  /** Reads something once for each post, as several columns need it. */
  function oncePerPost<T>(read: () => T): () => T {
    let post = 0;
    let value: T;
    return () => {
      if (post !== last.post) value = read();
      post = last.post;
      return value;
    };
  }

  function entities() {
    const { longEntities, entities } = last.content;
    return isNone(longEntities.self) ? entities : longEntities;
  }

  function mediaList(): number {
    const { longMedia, media } = last.content;
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
    const { quoted } = isNone(last.content.quoted.self) ? own : last.content;
    return isNone(quoted.self) ? undefined : quoted;
  }

  return { own, last, isShared, begin, oncePerPost, entities, mediaList, firstOf, quoted };
}

/** The places of the content of the post at a path. */
function contentAt({ at, idAt }: PostBytes, path: string) {
  const textsAt = (of: string) =>
    ['extended_tweet.full_text', 'full_text', 'text'].map(text => at(of + text));
  const entitiesAt = (of: string) => ({
    self: at(of),
    hashtags: at(`${of}.hashtags`),
    symbols: at(`${of}.symbols`),
    mentions: at(`${of}.user_mentions`),
    urls: at(`${of}.urls`),
    media: at(`${of}.media`),
  });
  const longMedia = `${path}extended_tweet.extended_entities`;
  return {
    texts: textsAt(path),
    entities: entitiesAt(`${path}entities`),
    longEntities: entitiesAt(`${path}extended_tweet.entities`),
    media: at(`${path}extended_entities.media`),
    longMedia: { self: at(longMedia), media: at(`${longMedia}.media`) },
    quoted: {
      self: at(`${path}quoted_status`),
      id: idAt(`${path}quoted_status.id`),
      userId: idAt(`${path}quoted_status.user.id`),
      handle: at(`${path}quoted_status.user.screen_name`),
      texts: textsAt(`${path}quoted_status.`),
    },
    quotedId: idAt(`${path}quoted_status_id`),
  };
}
