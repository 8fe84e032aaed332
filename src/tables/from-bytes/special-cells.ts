import { COLON, isDigit, isSmallLetter, isTextAt, SPACE } from '../../json/byte-codes.js';
import { AUTHOR, OWN, PLACE, REPLY, SHOWN } from '../../post/field-table.js';
import type { PostColumnName } from '../post-columns.js';
import { type PostBytes, type PostCell, writeNone, writeValue } from './field-cells.js';

type CellsOfColumns = { readonly [Name in PostColumnName]?: PostCell | undefined };

const RT = Buffer.from('RT @');
const ASCII_ESCAPE = Buffer.from('\\u00');
const LINK = Buffer.from('http://twitter.com/');
const STATUSES = Buffer.from('/statuses/');
/** The maximum length of a handle plus an id, in bytes. */
const MAX_LINK_BYTES = 256;
/**
 * The number of distinct mentions that the cells can hold. For a post with more, the slower `value` functions
 * of the columns are called.
 */
const MAX_MENTIONS = 64;
const MAX_ENRICHED = 32;
const URL_MEMBERS = { url: true, expanded_url: true, unwound: { url: true } } as const;

/**
 * Returns functions that write columns that have no `field` in `POST_COLUMNS`. If such a function returns
 * `false`, the slower `value` function of the column is called instead.
 */
export function specialCells(post: PostBytes): CellsOfColumns {
  return {
    ...textCells(post),
    link: linkCell(post),
    links: linksCell(post),
    ...mediaCells(post),
    ...mentionCells(post),
    ...positionCells(post),
    quoted_id: quotedIdCell(post),
    ...editCells(post),
    ...ruleCells(post),
    posted_at: post.fieldCell(OWN.postedAt, 'own'),
    id: post.fieldCell(OWN.id, 'own'),
    replied_author_id: repliedAuthorCell(post),
  };
}

/**
 * Returns the cell for the author of the post to which this post replies. In `activity_streams`, this author
 * must be looked up among the mentions. The cell therefore writes only the empty values of posts that are not
 * replies. For replies, the column's `value` function is called instead.
 */
function repliedAuthorCell(post: PostBytes): PostCell | undefined {
  const { format, find, fieldCell, isNone } = post;
  if (format === 'original') return fieldCell(REPLY.userId, 'own');
  const reply = find(REPLY.self);
  return out => isNone(reply()) && writeNone(out);
}

function textCells(post: PostBytes): CellsOfColumns {
  const { bytes, find, fieldCell, isRetweet, isNone, isText, isBlank, startOf, endOf } = post;
  const [own, shown, lang] = [find(SHOWN.text), find(SHOWN.text, 'shown'), find(OWN.lang)];
  const langCell = fieldCell(OWN.lang, 'own')!;
  /**
   * The result of `afterPrefix` if the bytes at `place` differ from the expected prefix. It is 0, because the
   * text has no prefix. But if an escape such as `\u0040` starts at `place`, it is -1, because the escape may
   * be a character of the prefix.
   */
  const noPrefix = (place: number) => (isTextAt(bytes, ASCII_ESCAPE, place) ? -1 : 0);

  /**
   * Returns the position after the prefix `RT @handle: ` of a retweet's text, or 0 if the text has no prefix.
   * Returns -1 if only the parsed post can tell, for example because the prefix may contain an escape.
   */
  function afterPrefix(text: number): number {
    if (isNone(text)) return 0;
    if (!isText(text)) return -1;
    const start = startOf(text) + 1;
    for (let place = 0; place < RT.length; place++)
      if (bytes[start + place] !== RT[place]) return noPrefix(start + place);
    let place = start + RT.length;
    while (isWord(bytes[place]!)) place++;
    if (place === start + RT.length || bytes[place] !== COLON) return noPrefix(place);
    if (bytes[place + 1] !== SPACE) return noPrefix(place + 1);
    return place + 2;
  }

  return {
    verb: out => writeValue(out, isRetweet() ? 'share' : 'post'),
    lang: out => (isBlank(lang()) ? writeValue(out, 'und') : langCell(out)),
    text(out) {
      const text = shown();
      if (!isText(text)) return false;
      const ownText = own();
      const prefixEnd = isRetweet() ? afterPrefix(ownText) : 0;
      if (prefixEnd === -1) return false;
      const prefix = prefixEnd === 0 ? 0 : startOf(ownText) + 1;
      return out.text(startOf(text) + 1, endOf(text) - 1, true, prefix, prefixEnd);
    },
  };
}

/**
 * Returns the cell for the URL of a post. In `activity_streams`, this is the cell of the field `link`. In
 * `original`, the URL is built from the handle and the id.
 */
function linkCell(post: PostBytes): PostCell | undefined {
  const { bytes, format, find, fieldCell, isText, startOf, endOf } = post;
  if (format === 'activity_streams') return fieldCell(OWN.link, 'own');
  const [id, handle] = [find(OWN.id), find(AUTHOR.writtenHandle)];
  const link = Buffer.alloc(LINK.length + MAX_LINK_BYTES + STATUSES.length);
  LINK.copy(link);
  return out => {
    if (!isText(handle())) return false;
    const [start, end] = [startOf(handle()) + 1, endOf(handle()) - 1];
    const [idStart, idEnd] = [startOf(id()) + 1, endOf(id()) - 1];
    if (end - start + idEnd - idStart > MAX_LINK_BYTES) return false;
    let to = LINK.length;
    for (let place = start; place < end; place++) {
      if (!isWord(bytes[place]!)) return false;
      link[to++] = bytes[place]!;
    }
    for (let letter = 0; letter < STATUSES.length; letter++) link[to++] = STATUSES[letter]!;
    for (let place = idStart; place < idEnd; place++) link[to++] = bytes[place]!;
    return writeValue(out, link.toString('latin1', 0, to));
  };
}

function linksCell(post: PostBytes): PostCell {
  const { format, find, elements, writeList, isObject, isNone, isBlank } = post;
  if (format === 'activity_streams') return enrichedLinksCell(post);
  const shown = find(SHOWN.urls, 'shown');
  const urls = elements(URL_MEMBERS);
  return out =>
    writeList(out, shown(), urls, url => {
      const [expanded, unwound, unwoundUrl] = [url + 2, url + 4, url + 6];
      if (!isObject(unwound) && !isNone(unwound)) return -1;
      if (!isBlank(unwoundUrl)) return unwoundUrl;
      return isBlank(expanded) ? url : expanded;
    });
}

/**
 * Returns the cell for the links in `activity_streams`. A separate list has the target of each link, together
 * with the link as written in the text.
 */
function enrichedLinksCell(post: PostBytes): PostCell {
  const { bytes, find, elements, readList, isRetweet } = post;
  const { isText, isNone, isBlank, hasEscapes, startOf, endOf } = post;
  const urls = elements(URL_MEMBERS);
  const [url, expanded] = [urls.first, urls.first + 2];
  const [shown, own] = [find(SHOWN.urls, 'shown'), find(OWN.enrichedUrls)];
  const ofShared = find(OWN.enrichedUrls, 'shared');
  /** For each link, the start and end of the link, and the start and end of its target. */
  const places = new Int32Array(4 * MAX_ENRICHED);
  let used = 0;

  function addEnriched(): boolean {
    if (used === places.length || !isText(url) || hasEscapes(url)) return false;
    if (!isText(expanded) && !isNone(expanded)) return false;
    places[used++] = startOf(url) + 1;
    places[used++] = endOf(url) - 1;
    places[used++] = startOf(expanded) + 1;
    places[used++] = endOf(expanded) - 1;
    return true;
  }

  /** Finds the link that was read last in `places`. Returns its index, or -1 if it is not there. */
  function enrichedPlace(): number {
    const [start, end] = [startOf(url) + 1, endOf(url) - 1];
    for (let place = 0; place < used; place += 4)
      if (isSame(bytes, start, end, places[place]!, places[place + 1]!)) return place;
    return -1;
  }

  return out => {
    used = 0;
    if (!readList(own(), urls, addEnriched)) return false;
    if (isRetweet() && !readList(ofShared(), urls, addEnriched)) return false;
    const isRead = readList(shown(), urls, () => {
      if (!isText(url) || isBlank(url) || hasEscapes(url)) return false;
      const place = enrichedPlace();
      if (place !== -1 && places[place + 2]! < places[place + 3]!)
        return out.element(places[place + 2]!, places[place + 3]!);
      const text = isBlank(expanded) ? url : expanded;
      return isText(text) && out.element(startOf(text) + 1, endOf(text) - 1);
    });
    if (isRead) out.list();
    return isRead;
  };
}

function mediaCells(post: PostBytes): CellsOfColumns {
  const { find, elements, writeList, isNone, isList, startOf, endOf } = post;
  const [media, extended] = [find(SHOWN.media, 'shown'), find(SHOWN.extendedMedia, 'shown')];
  const reader = elements({ type: true, media_url_https: true, media_url: true });

  /**
   * Returns the media of the extended entities. If there are none, returns the media of the plain entities.
   */
  function mediaList(): number {
    const list = extended();
    const isEmpty = isList(list) && endOf(list) === startOf(list) + 2;
    return isNone(list) || isEmpty ? media() : list;
  }

  return {
    media_types: out => writeList(out, mediaList(), reader),
    media_urls: out =>
      writeList(out, mediaList(), reader, type => {
        const [https, http] = [type + 2, type + 4];
        return isNone(https) ? http : https;
      }),
  };
}

function mentionCells(post: PostBytes): CellsOfColumns {
  const { bytes, find, elements, readList, oncePerPost, isRetweet } = post;
  const { startOf, endOf, isDigits, isText, hasEscapes } = post;
  const people = elements({ id: true, id_str: true, screen_name: true });
  const [idString, handle] = [people.first + 2, people.first + 4];
  const [own, shown] = [find(OWN.mentions), find(SHOWN.mentions, 'shown')];
  /**
   * Four positions in `bytes` for each mention: the start and end of the id, then the start and end of the
   * handle.
   */
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
    if (isRetweet() && !readList(own(), people, addMention)) return false;
    return readList(shown(), people, addMention);
  }

  /**
   * Adds the mention that was read last, unless it is a duplicate. Returns `false` if the columns' `value`
   * functions must read the mentions.
   */
  function addMention(): boolean {
    if (used === places.length || !isDigits(idString)) return false;
    if (!isText(handle) || hasEscapes(handle)) return false;
    const [idStart, idEnd] = [startOf(idString) + 1, endOf(idString) - 1];
    const [start, end] = [startOf(handle) + 1, endOf(handle) - 1];
    for (let other = 0; other < used; other += 4) {
      if (!isSame(bytes, idStart, idEnd, places[other]!, places[other + 1]!)) continue;
      // The mention is a duplicate. If its handle does not have the same bytes, the columns' `value`
      // functions must compare the handles, because they ignore case.
      return isSame(bytes, start, end, places[other + 2]!, places[other + 3]!);
    }
    places[used] = idStart;
    places[used + 1] = idEnd;
    places[used + 2] = start;
    places[used + 3] = end;
    used += 4;
    return true;
  }

  return { mentioned_ids: mentionCell(0), mentioned_handles: mentionCell(2) };
}

/**
 * Returns the cells for positions on the map. They write only the empty cells of posts without a position.
 * For all other posts, the columns' `value` functions are called instead.
 */
function positionCells(post: PostBytes): CellsOfColumns {
  const { format, find, isNone, isRetweet } = post;
  const [place, geo] = [find(PLACE.self), find(OWN.geo)];
  const point = format === 'original' ? find(OWN.point) : geo;
  const positionCell: PostCell = out =>
    (isRetweet() || (isNone(point()) && isNone(geo()))) && writeNone(out);
  return {
    place_bbox: out => (isRetweet() || isNone(place())) && writeNone(out),
    longitude: positionCell,
    latitude: positionCell,
  };
}

/**
 * Returns the cell for the id of the quoted post. A post in the `original` format keeps this id even if the
 * quoted post is gone.
 */
function quotedIdCell(post: PostBytes): PostCell {
  const { format, find, fieldCell, quotedBy, isNone, isDigits, writeId } = post;
  const quoted = find(OWN.id, 'quoted');
  const quotedCell = fieldCell(OWN.id, 'quoted')!;
  if (format === 'activity_streams') return quotedCell;
  const [shown, own] = [find(OWN.quotedId, 'shown'), find(OWN.quotedNumber)];
  return out => {
    if (quotedBy() !== undefined) return isDigits(quoted()) && quotedCell(out);
    if (!isNone(shown())) return isDigits(shown()) && writeId(out, shown());
    return isNone(own()) && writeNone(out);
  };
}

function editCells(post: PostBytes): CellsOfColumns {
  const { at, elements, startOf, endOf, isNone, isText, isList, whole } = post;
  const { oncePerPost, readList, writeList, writeCount, writeFlag } = post;
  const history = at('edit_history');
  const initialId = at('edit_history.initial_tweet_id');
  const editIds = at('edit_history.edit_tweet_ids');
  const until = at('edit_controls.editable_until_ms');
  const remaining = at('edit_controls.edits_remaining');
  const editable = at('editable');
  const ids = elements();
  const isWholeOrAbsent = (value: number) =>
    startOf(value) === 0 || !Number.isNaN(whole(value, 15));

  /** Returns whether the edit metadata is valid; `undefined` if the post has none. */
  const areValid = oncePerPost(() => {
    if (isNone(history)) return undefined;
    if (!isText(initialId) || !isList(editIds)) return false;
    if (!isWholeOrAbsent(until) || !isWholeOrAbsent(remaining)) return false;
    return readList(editIds, ids, () => true);
  });

  /**
   * Returns a cell that reads one of the columns about edits from the bytes. If the edit metadata is invalid,
   * the column's `value` function is called instead.
   */
  function editCell(cell: PostCell): PostCell {
    return out => {
      const valid = areValid();
      return valid === undefined ? writeNone(out) : valid && cell(out);
    };
  }

  return {
    edit_initial_id: editCell(out => out.text(startOf(initialId) + 1, endOf(initialId) - 1, false)),
    edit_ids: editCell(out => writeList(out, editIds, ids)),
    editable_until: editCell(out => {
      if (startOf(until) === 0) return writeNone(out);
      out.time(whole(until, 15));
      return true;
    }),
    edits_remaining: editCell(out => writeCount(out, remaining)),
    is_editable: editCell(out => writeFlag(out, editable)),
  };
}

function ruleCells({ post, oncePerPost }: PostBytes): CellsOfColumns {
  const ruleIds = new WeakMap<object, readonly string[]>();
  const matches = oncePerPost(() => post.matches);
  return {
    rule_ids(out) {
      const { rules } = matches();
      let ids = ruleIds.get(rules);
      if (ids === undefined) {
        ids = Object.freeze(rules.map(({ id }) => id).filter(id => id !== undefined));
        ruleIds.set(rules, ids);
      }
      return writeValue(out, ids);
    },
    rule_tags: out => writeValue(out, matches().tags),
  };
}

function isSame(
  bytes: Buffer,
  start: number,
  end: number,
  other: number,
  otherEnd: number,
): boolean {
  if (end - start !== otherEnd - other) return false;
  for (let place = start; place < end; place++)
    if (bytes[place] !== bytes[other + place - start]) return false;
  return true;
}

function isWord(byte: number): boolean {
  return isDigit(byte) || isSmallLetter(byte | 0x20) || byte === 0x5f;
}
