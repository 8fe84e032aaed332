import type { CellsOfColumns, PostBytes, PostCell } from './post-bytes.js';
import type { ShownContent } from './shown-content.js';

/** More mentions are compared by the column. */
const MAX_MENTIONS = 64;

/** Of the tags, links and media of a post. */
export function entityCells(
  post: PostBytes,
  { entities, mediaList }: ShownContent,
): CellsOfColumns {
  const { elements, isNone, isBlank, isObject, writeList } = post;
  const tags = elements({ text: true });
  const urls = elements({ url: true, expanded_url: true, unwound: { url: true } });
  const media = elements({ type: true, media_url_https: true, media_url: true });

  /** A link as far as the service has expanded it. */
  function wholeLink(url: number): number {
    const [expanded, unwound, unwoundUrl] = [url + 2, url + 4, url + 6];
    if (!isObject(unwound) && !isNone(unwound)) return -1;
    if (!isBlank(unwoundUrl)) return unwoundUrl;
    return isBlank(expanded) ? url : expanded;
  }

  function addressOf(type: number): number {
    const [https, http] = [type + 2, type + 4];
    return isNone(https) ? http : https;
  }

  return {
    hashtags: out => writeList(out, entities().hashtags, tags),
    cashtags: out => writeList(out, entities().symbols, tags),
    links: out => writeList(out, entities().urls, urls, wholeLink),
    media_types: out => writeList(out, mediaList(), media),
    media_urls: out => writeList(out, mediaList(), media, addressOf),
  };
}

/** The users that a post mentions, each once. */
export function mentionCells(post: PostBytes, shown: ShownContent): CellsOfColumns {
  const { bytes, startOf, endOf, isDigits, isText, hasEscapes, elements, readList } = post;
  const { own, isShared, oncePerPost, entities } = shown;
  const people = elements({ id: true, id_str: true, screen_name: true });
  const [idString, handle] = [people.first + 2, people.first + 4];
  /** The places of ids and handles, each with its end. */
  const places = new Int32Array(4 * MAX_MENTIONS);
  let used = 0;
  const areRead = oncePerPost(readMentions);

  function mentionCell(part: number): PostCell {
    return out => {
      if (!areRead()) return false;
      for (let mention = part; mention < used; mention += 4)
        if (!out.element(places[mention]!, places[mention + 1]!)) return false;
      out.list();
      return true;
    };
  }

  function readMentions(): boolean {
    used = 0;
    return (
      (!isShared() || readList(own.entities.mentions, people, addMention)) &&
      readList(entities().mentions, people, addMention)
    );
  }

  /** Adds the mention that was read last, unless it is there; `false` where that is not plain. */
  function addMention(): boolean {
    if (used === places.length || !isDigits(idString)) return false;
    if (!isText(handle) || hasEscapes(handle)) return false;
    const [idStart, idEnd] = [startOf(idString) + 1, endOf(idString) - 1];
    const [start, end] = [startOf(handle) + 1, endOf(handle) - 1];
    for (let other = 0; other < used; other += 4) {
      if (!isSame(idStart, idEnd, other)) continue;
      // The same user with another handle is another one, unless only its capitals differ.
      return isSame(start, end, other + 2);
    }
    places[used] = idStart;
    places[used + 1] = idEnd;
    places[used + 2] = start;
    places[used + 3] = end;
    used += 4;
    return true;
  }

  /** Whether these bytes are those of an id or handle that is there. */
  function isSame(start: number, end: number, at: number): boolean {
    const other = places[at]!;
    if (end - start !== places[at + 1]! - other) return false;
    for (let place = start; place < end; place++)
      if (bytes[place] !== bytes[other + place - start]) return false;
    return true;
  }

  return { mentioned_ids: mentionCell(0), mentioned_handles: mentionCell(2) };
}
