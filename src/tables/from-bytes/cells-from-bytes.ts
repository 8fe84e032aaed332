import { BACKSLASH, COLON, isDigit, isSmallLetter } from '../../json/byte-codes.js';
import { BytesMap } from '../../post/bytes/bytes-map.js';
import type { PostInBytes } from '../../post/bytes/post-in-bytes.js';
import { fieldsOf } from '../../post/fields-of.js';
import type { PostFields } from '../../post/post-fields.js';
import type { Cells } from './cells.js';
import { entityCells, mentionCells } from './entity-cells.js';
import {
  type CellsOfColumns,
  type PostBytes,
  type PostCell,
  postBytes,
  writeNone,
  writeValue,
} from './post-bytes.js';
import { type ShownContent, shownContent } from './shown-content.js';

/** Cells of posts that are written from the bytes of members, without a value in between. */
export interface PostCells {
  /** Looks at the post that was read last; `false` where no cell of it is written in this way. */
  read(): boolean;
  readonly cells: CellsOfColumns;
}

const RT = Buffer.from('RT @');
const LINK = Buffer.from('http://twitter.com/');
const STATUSES = Buffer.from('/statuses/');
const SPACE = 0x20;
const [CAPITAL_A, SMALL_A] = [0x41, 0x61];

/** Of a handle and an id together. */
const MAX_LINK_BYTES = 256;

/**
 * The cells of posts of the `original` format: those of the columns, for values as the service prints them. Whatever
 * else there is, such as a text in the place of a number, is left to the column, which is slower; so is the other format.
 */
export function originalCells(spanned: PostInBytes): PostCells {
  const post = postBytes(spanned);
  const { at, startOf, isText, isDigits, hasObjects } = post;
  const shown = shownContent(post);
  const [id, idString] = [at('id'), at('id_str')];
  const [createdAt, postedTime] = [at('created_at'), at('postedTime')];
  return {
    read() {
      if (!isText(createdAt) || startOf(postedTime) !== 0) return false;
      if (!isDigits(idString) || isText(id) || !hasObjects()) return false;
      shown.begin();
      return true;
    },
    cells: {
      ...ownCells(post, shown),
      ...homeCells(post, shown),
      ...placeCells(post, shown),
      ...entityCells(post, shown),
      ...mentionCells(post, shown),
      ...relatedCells(post, shown),
      ...editCells(post),
      ...repeatedCells(post, spanned),
    },
  };
}

/** Of the post itself and its author. */
function ownCells(post: PostBytes, shown: ShownContent): CellsOfColumns {
  const { at, elements, isNone, isBlank, writeText, writeList } = post;
  const { idCell, textCell, caseCell, countCell, flagCell, timeCell } = post;
  const [idString, lang, withheld] = [at('id_str'), at('lang'), at('withheld_in_countries')];
  const langCell = caseCell(lang, CAPITAL_A);
  const countries = elements();
  return {
    id: out => writeText(out, idString),
    posted_at: timeCell('created_at'),
    verb: out => writeValue(out, shown.isShared() ? 'share' : 'post'),
    text: wholeTextCell(post, shown),
    lang: out => (isBlank(lang) ? writeValue(out, 'und') : langCell(out)),
    link: linkCell(post),
    favorite_count: countCell('favorite_count'),
    retweet_count: countCell('retweet_count'),
    reply_count: countCell('reply_count'),
    quote_count: countCell('quote_count'),
    possibly_sensitive: flagCell('possibly_sensitive'),
    withheld_countries: out =>
      isNone(withheld) ? writeNone(out) : writeList(out, withheld, countries),

    author_id: idCell('user.id'),
    author_handle: textCell('user.screen_name'),
    author_name: textCell('user.name', true),
    author_description: textCell('user.description', true),
    author_location: textCell('user.location', true),
    author_url: textCell('user.url'),
    author_image: textCell('user.profile_image_url_https'),
    author_verified: flagCell('user.verified'),
    author_protected: flagCell('user.protected'),
    author_created_at: timeCell('user.created_at'),
    author_posts: countCell('user.statuses_count'),
    author_followers: countCell('user.followers_count'),
    author_following: countCell('user.friends_count'),
    author_listed: countCell('user.listed_count'),
    author_favorites: countCell('user.favourites_count'),
  };
}

function wholeTextCell(post: PostBytes, { own, last, isShared, firstOf }: ShownContent): PostCell {
  const { bytes, isNone, isText, startOf, endOf } = post;
  /** For a byte that is not of a prefix: an escape may stand for one that is. */
  const noPrefix = (place: number) => (bytes[place] === BACKSLASH ? -1 : 0);

  /** Where the `RT @handle: ` of a shared post ends; 0 where it has none, -1 where that is not plain. */
  function afterPrefix(ownText: number): number {
    if (isNone(ownText)) return 0;
    if (!isText(ownText)) return -1;
    const start = startOf(ownText) + 1;
    for (let place = 0; place < RT.length; place++)
      if (bytes[start + place] !== RT[place]) return noPrefix(start + place);
    let place = start + RT.length;
    while (isWord(bytes[place]!)) place++;
    if (place === start + RT.length || bytes[place] !== COLON) return noPrefix(place);
    if (bytes[place + 1] !== SPACE) return noPrefix(place + 1);
    return place + 2;
  }

  return out => {
    const text = firstOf(last.content.texts);
    if (!isText(text)) return false;
    const ownText = firstOf(own.texts);
    const prefixEnd = isShared() ? afterPrefix(ownText) : 0;
    if (prefixEnd === -1) return false;
    const prefix = prefixEnd === 0 ? 0 : startOf(ownText) + 1;
    return out.text(startOf(text) + 1, endOf(text) - 1, true, prefix, prefixEnd);
  };
}

function linkCell({ at, bytes, isDigits, isText, startOf, endOf }: PostBytes): PostCell {
  const [idString, handle] = [at('id_str'), at('user.screen_name')];
  const link = Buffer.alloc(LINK.length + MAX_LINK_BYTES + STATUSES.length);
  LINK.copy(link);
  return out => {
    if (!isDigits(idString) || !isText(handle)) return false;
    const [start, end] = [startOf(handle) + 1, endOf(handle) - 1];
    const [idStart, idEnd] = [startOf(idString) + 1, endOf(idString) - 1];
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

/** Of the first location that was found in the author's profile. */
function homeCells(post: PostBytes, { oncePerPost }: ShownContent): CellsOfColumns {
  const { at, elements, startOf, readList, writeText, caseCell } = post;
  const derived = at('user.derived.locations');
  const locations = elements({ country_code: true, region: true, locality: true });
  const homesRead = oncePerPost(readHomes);

  function homeCell(cell: PostCell): PostCell {
    return out => {
      const homes = homesRead();
      return homes > 0 ? cell(out) : homes === 0 && writeNone(out);
    };
  }

  /** Returns how many there are; -1 where one is not plain. */
  function readHomes(): number {
    let homes = 0;
    if (!readList(derived, locations, () => ++homes > 0)) return -1;
    if (homes > 1) locations.read(startOf(derived) + 1);
    return homes;
  }

  return {
    author_country_code: homeCell(caseCell(locations.first, SMALL_A)),
    author_region: homeCell(out => writeText(out, locations.first + 2)),
    author_locality: homeCell(out => writeText(out, locations.first + 4)),
  };
}

function placeCells(post: PostBytes, { isShared }: ShownContent): CellsOfColumns {
  const { at, isNone, textCell, caseCell } = post;
  const [place, point, geo] = [at('place'), at('coordinates'), at('geo')];

  const placeCell =
    (cell: PostCell): PostCell =>
    out =>
      isShared() || isNone(place) ? writeNone(out) : cell(out);
  /** Exact positions are left to their columns. */
  const positionCell: PostCell = out =>
    (isShared() || (isNone(point) && isNone(geo))) && writeNone(out);
  return {
    place_id: placeCell(textCell('place.id')),
    place_name: placeCell(textCell('place.name')),
    place_full_name: placeCell(textCell('place.full_name')),
    place_type: placeCell(textCell('place.place_type')),
    place_country: placeCell(textCell('place.country')),
    place_country_code: placeCell(caseCell(at('place.country_code'), SMALL_A)),
    // The numbers of a place are left to the column.
    place_bbox: placeCell(() => false),
    longitude: positionCell,
    latitude: positionCell,
  };
}

/** Of the posts that a post shares, quotes or answers. */
function relatedCells(post: PostBytes, shown: ShownContent): CellsOfColumns {
  const { isNone, isDigits, writeText, writeId, idCell, textCell, timeCell, countCell } = post;
  const { own, last, isShared, firstOf, quoted } = shown;

  function sharedCell(cell: PostCell): PostCell {
    return out => (isShared() ? cell(out) : writeNone(out));
  }

  function quotedCell(write: (out: Cells, of: typeof own.quoted) => boolean): PostCell {
    return out => {
      const of = quoted();
      return of === undefined ? writeNone(out) : write(out, of);
    };
  }

  function quotedIdCell(out: Cells): boolean {
    const of = quoted();
    if (of !== undefined) return isDigits(of.id.digits) && writeId(out, of.id);
    const { quotedId } = last.content;
    if (!isNone(quotedId.digits) || !isNone(quotedId.number)) return writeId(out, quotedId);
    return isNone(own.quotedId.number) && writeNone(out);
  }

  return {
    shared_id: sharedCell(idCell('retweeted_status.id')),
    shared_author_id: sharedCell(idCell('retweeted_status.user.id')),
    shared_author_handle: sharedCell(textCell('retweeted_status.user.screen_name')),
    shared_posted_at: sharedCell(timeCell('retweeted_status.created_at')),
    shared_favorite_count: sharedCell(countCell('retweeted_status.favorite_count')),
    shared_retweet_count: sharedCell(countCell('retweeted_status.retweet_count')),
    quoted_id: quotedIdCell,
    quoted_author_id: quotedCell((out, of) => writeId(out, of.userId)),
    quoted_author_handle: quotedCell((out, of) => writeText(out, of.handle)),
    quoted_text: quotedCell((out, of) => writeText(out, firstOf(of.texts), true)),
    replied_id: idCell('in_reply_to_status_id'),
    replied_author_id: idCell('in_reply_to_user_id'),
    replied_author_handle: textCell('in_reply_to_screen_name'),
  };
}

function editCells(post: PostBytes): CellsOfColumns {
  const { at, elements, startOf, endOf, isNone, isText, isList, whole } = post;
  const { readList, writeList, countCell, flagCell } = post;
  const history = at('edit_history');
  const initialId = at('edit_history.initial_tweet_id');
  const editIds = at('edit_history.edit_tweet_ids');
  const until = at('edit_controls.editable_until_ms');
  const remaining = at('edit_controls.edits_remaining');
  const ids = elements();
  const isWholeOrAbsent = (value: number) =>
    startOf(value) === 0 || !Number.isNaN(whole(value, 15));

  /** A column of edits, where all of them are valid. */
  function editCell(cell: PostCell): PostCell {
    return out => {
      if (isNone(history)) return writeNone(out);
      if (!isText(initialId) || !isList(editIds)) return false;
      if (!isWholeOrAbsent(until) || !isWholeOrAbsent(remaining)) return false;
      return readList(editIds, ids, () => true) && cell(out);
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
    edits_remaining: editCell(countCell('edit_controls.edits_remaining')),
    is_editable: editCell(flagCell('editable')),
  };
}

/** Of values that come again and again, which are kept. */
function repeatedCells(post: PostBytes, spanned: PostInBytes): CellsOfColumns {
  const { at, bytes, startOf, endOf, isText } = post;
  const source = at('source');
  const sources = new BytesMap<PostFields['source']>();
  const ruleIds = new WeakMap<object, readonly string[]>();

  function sourceCell(part: 'name' | 'link'): PostCell {
    return out => {
      const [start, end] = [startOf(source), endOf(source)];
      let parts = sources.get(bytes, start, end);
      if (parts === undefined) {
        if (!isText(source)) return false;
        parts = fieldsOf(spanned).source;
        sources.set(bytes, start, end, parts);
      }
      return writeValue(out, parts[part] === '' ? null : parts[part]);
    };
  }

  return {
    source: sourceCell('name'),
    source_link: sourceCell('link'),
    rule_ids: out => {
      const { rules } = spanned.matches;
      let ids = ruleIds.get(rules);
      if (ids === undefined) {
        ids = Object.freeze(rules.map(({ id }) => id).filter(id => id !== undefined));
        ruleIds.set(rules, ids);
      }
      return writeValue(out, ids);
    },
    rule_tags: out => writeValue(out, spanned.matches.tags),
  };
}

/** As `\w`. */
function isWord(byte: number): boolean {
  return isDigit(byte) || isSmallLetter(byte | 0x20) || byte === 0x5f;
}
