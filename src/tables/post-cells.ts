import { originalFields } from '../activity/original-fields.js';
import type { OriginalPost } from '../activity/original-post.js';
import type { PostFields } from '../activity/post-fields.js';
import { createdAtIn } from '../activity/posted-at.js';
import type { SpannedPost } from '../activity/spanned-post.js';
import { BytesMap } from '../json/bytes-map.js';
import {
  BACKSLASH,
  CLOSE_ARRAY,
  COLON,
  COMMA,
  digitsIn,
  isDigit,
  isSmallLetter,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from '../json/json-bytes.js';
import { type Elements, ESCAPES, POSITION } from '../json/member-spans.js';
import type { Cells } from './cells.js';
import type { PostColumnName } from './post-columns.js';

/** Writes the cell of a column; `false` where the column has to be read in another way. */
export type PostCell = (out: Cells) => boolean;

/** Cells of posts that are written from the bytes of members, without a value in between. */
export interface PostCells {
  /** Looks at the post that was read last; `false` where no cell of it is written in this way. */
  read(): boolean;
  readonly cells: Readonly<Partial<Record<PostColumnName, PostCell>>>;
}

/** The members that hold others which cells read: objects, or nothing. */
const OBJECTS = [
  ...['user', 'user.derived', 'entities', 'extended_entities', 'extended_tweet'],
  ...['extended_tweet.entities', 'extended_tweet.extended_entities', 'place'],
  ...['retweeted_status', 'retweeted_status.user', 'retweeted_status.entities'],
  ...['retweeted_status.extended_entities', 'retweeted_status.extended_tweet'],
  ...['retweeted_status.extended_tweet.entities', 'edit_history', 'edit_controls'],
  ...['retweeted_status.extended_tweet.extended_entities', 'retweeted_status.quoted_status'],
  ...['retweeted_status.quoted_status.user', 'retweeted_status.quoted_status.extended_tweet'],
  ...['quoted_status', 'quoted_status.user', 'quoted_status.extended_tweet'],
];

const RT = Buffer.from('RT @');
const LINK = Buffer.from('http://twitter.com/');
const STATUSES = Buffer.from('/statuses/');
const SPACE = 0x20;

/** More mentions are compared by the column. */
const MAX_MENTIONS = 64;

/**
 * The cells of posts of the `original` format: those of the columns, for values as the service prints them. Whatever
 * else there is, such as a text in the place of a number, is left to the column, which is slower; so is the other format.
 */
export function originalCells(post: SpannedPost): PostCells {
  const { bytes, positions } = post.spans;
  const at = (path: string) => 2 * post.placeOf(path);
  const objects = OBJECTS.map(at);
  const createdAt = at('created_at');
  const postedTime = at('postedTime');
  const idString = at('id_str');
  const id = at('id');
  const handle = at('user.screen_name');
  const text = at('text');
  const shared = at('retweeted_status');
  const root = contentOf('');
  const retweeted = contentOf('retweeted_status.');
  let content = root;

  const tags = post.spans.elements({ text: true });
  const urls = post.spans.elements({ url: true, expanded_url: true, unwound: { url: true } });
  const people = post.spans.elements({ id: true, id_str: true, screen_name: true });
  const media = post.spans.elements({ type: true, media_url_https: true, media_url: true });
  const locations = post.spans.elements({ country_code: true, region: true, locality: true });
  const texts = post.spans.elements();

  const sources = new BytesMap<PostFields['source']>();
  const ruleIds = new WeakMap<object, readonly string[]>();
  /** The places of ids and handles of mentions, each with its end; how many, or -1 before they are read. */
  const mentions = new Int32Array(4 * MAX_MENTIONS);
  let mentionCount = -1;
  /** The members of the first location, each with its end. */
  const home = new Uint32Array(6);
  let isHomeRead = false;
  let hasHome = false;

  function textsOf(path: string) {
    return [at(`${path}extended_tweet.full_text`), at(`${path}full_text`), at(`${path}text`)];
  }

  function contentOf(path: string) {
    const entities = (of: string) => ({
      self: at(of),
      hashtags: at(`${of}.hashtags`),
      symbols: at(`${of}.symbols`),
      mentions: at(`${of}.user_mentions`),
      urls: at(`${of}.urls`),
      media: at(`${of}.media`),
    });
    return {
      texts: textsOf(path),
      entities: entities(`${path}entities`),
      extendedEntities: entities(`${path}extended_tweet.entities`),
      media: [
        [
          at(`${path}extended_tweet.extended_entities`),
          at(`${path}extended_tweet.extended_entities.media`),
        ],
        [at(`${path}extended_entities`), at(`${path}extended_entities.media`)],
      ] as const,
      quoted: at(`${path}quoted_status`),
      quotedId: at(`${path}quoted_status_id`),
      quotedIdString: at(`${path}quoted_status_id_str`),
      quotedIds: [at(`${path}quoted_status.id_str`), at(`${path}quoted_status.id`)] as const,
      quotedUserIds: [
        at(`${path}quoted_status.user.id_str`),
        at(`${path}quoted_status.user.id`),
      ] as const,
      quotedHandle: at(`${path}quoted_status.user.screen_name`),
      quotedTexts: textsOf(`${path}quoted_status.`),
    };
  }

  // What follows reads values by their index in the positions of the post, or of an element.

  function endOf(member: number): number {
    return positions[member + 1]! & POSITION;
  }

  /** Whether the document does not have it, or it is null. */
  function isNone(member: number): boolean {
    return isNothing(positions, member);
  }

  function isNothing(of: Uint32Array, member: number): boolean {
    const start = of[member]!;
    if (start === 0) return true;
    return (
      bytes[start] === 0x6e &&
      (of[member + 1]! & POSITION) === start + 4 &&
      bytes[start + 1] === 0x75 &&
      bytes[start + 2] === 0x6c &&
      bytes[start + 3] === 0x6c
    );
  }

  function isText(of: Uint32Array, member: number): boolean {
    const start = of[member]!;
    return start !== 0 && bytes[start] === QUOTE;
  }

  /** Whether it is a text of digits. */
  function isDigits(of: Uint32Array, member: number): boolean {
    if (!isText(of, member)) return false;
    const end = (of[member + 1]! & POSITION) - 1;
    const start = of[member]! + 1;
    for (let place = start; place < end; place++) if (!isDigit(bytes[place]!)) return false;
    return end > start;
  }

  /** A text; none for an empty one. */
  function textCell(path: string, entities = false): PostCell {
    const member = at(path);
    return out => writeText(out, positions, member, entities);
  }

  function writeText(out: Cells, of: Uint32Array, member: number, entities: boolean): boolean {
    const start = of[member]!;
    const end = of[member + 1]! & POSITION;
    if (start !== 0 && bytes[start] === QUOTE && end > start + 2)
      return out.text(start + 1, end - 1, entities);
    if (!isNothing(of, member) && !isText(of, member)) return false;
    out.none();
    return true;
  }

  /** A text without letters that have another case. */
  function caseCell(member: number, first: number, of: Uint32Array = positions): PostCell {
    return out => {
      const end = of[member + 1]! & POSITION;
      if ((of[member + 1]! & ESCAPES) !== 0) return false;
      if (isText(of, member))
        for (let place = of[member]! + 1; place < end - 1; place++) {
          const byte = bytes[place]!;
          if (byte >= 0x80 || (byte >= first && byte < first + 26)) return false;
        }
      return writeText(out, of, member, false);
    };
  }

  function idCell(idStringPath: string, idPath: string): PostCell {
    const [idString, id] = [at(idStringPath), at(idPath)];
    return out => writeId(out, idString, id);
  }

  function writeId(out: Cells, idString: number, id: number): boolean {
    if (isDigits(positions, idString)) return writeText(out, positions, idString, false);
    if (!isNone(idString) || !isNone(id)) return false;
    out.none();
    return true;
  }

  function countCell(path: string): PostCell {
    const member = at(path);
    return out => {
      const start = positions[member]!;
      const length = endOf(member) - start;
      const isPlain = length > 0 && length < 10 && (bytes[start] !== 0x30 || length === 1);
      const number = isPlain ? digitsIn(bytes, start, length) : Number.NaN;
      if (!Number.isNaN(number)) out.int32(number);
      else if (isNone(member)) out.none();
      else return false;
      return true;
    };
  }

  function flagCell(path: string): PostCell {
    const member = at(path);
    return out => {
      const start = positions[member]!;
      const isTrue = is(start, endOf(member), 'true');
      if (isTrue || is(start, endOf(member), 'false')) out.boolean(isTrue);
      else if (isNone(member)) out.none();
      else return false;
      return true;
    };
  }

  function is(start: number, end: number, word: string): boolean {
    if (end - start !== word.length) return false;
    for (let letter = 0; letter < word.length; letter++)
      if (bytes[start + letter] !== word.charCodeAt(letter)) return false;
    return true;
  }

  /** A time as the format has it: `Wed Oct 10 20:19:24 +0000 2018`. */
  function timeCell(member: number): PostCell {
    return out => {
      const start = positions[member]! + 1;
      if (start === 1 || bytes[start - 1] !== QUOTE || endOf(member) !== start + 31) return false;
      const ms = createdAtIn(bytes, start);
      if (Number.isNaN(ms)) return false;
      out.time(ms);
      return true;
    };
  }

  /** Reads each element of a list; `false` where it is none, or an element is of another type, or is left by `each`. */
  function readList(member: number, elements: Elements, each: () => boolean): boolean {
    if (isNone(member)) return true;
    const start = positions[member]!;
    if (bytes[start] !== OPEN_ARRAY) return false;
    if (bytes[start + 1] === CLOSE_ARRAY) return true;
    for (let next = start + 1; ; next++) {
      next = elements.read(next);
      if (next === 0 || !each()) return false;
      if (bytes[next] === CLOSE_ARRAY) return true;
      if (bytes[next] !== COMMA) return false;
    }
  }

  /** A text of an element; an empty one where it has none. */
  function writeElement(out: Cells, of: Uint32Array, member: number): boolean {
    if (member < 0) return false;
    const start = of[member]!;
    if (start !== 0 && bytes[start] === QUOTE)
      return out.element(start + 1, (of[member + 1]! & POSITION) - 1);
    return isNothing(of, member) && out.element(0, 0);
  }

  function listCell(
    listOf: () => number,
    elements: Elements,
    memberOf: (of: Uint32Array) => number,
  ): PostCell {
    return out => {
      const { positions: of } = elements;
      if (!readList(listOf(), elements, () => writeElement(out, of, memberOf(of)))) return false;
      out.list();
      return true;
    };
  }

  function entities() {
    const { extendedEntities, entities } = content;
    return isNone(extendedEntities.self) ? entities : extendedEntities;
  }

  /** The first of the members that is a text with characters, or else the last. */
  function firstText(of: Uint32Array, ...members: readonly number[]): number {
    for (const member of members)
      if (!isNothing(of, member) && !(isText(of, member) && isEmpty(of, member))) return member;
    return members.at(-1)!;
  }

  function isEmpty(of: Uint32Array, member: number): boolean {
    return (of[member + 1]! & POSITION) === of[member]! + 2;
  }

  function mediaList(): number {
    const [long, short] = content.media;
    const list = isNone(long[0]) ? short[1] : long[1];
    // A list without elements is not used.
    const isUsed =
      !isNone(list) &&
      !(bytes[positions[list]!] === OPEN_ARRAY && endOf(list) === positions[list]! + 2);
    return isUsed ? list : entities().media;
  }

  function readMentions(): boolean {
    if (mentionCount !== -1) return mentionCount >= 0;
    mentionCount = 0;
    const isRead =
      (content === root || readList(root.entities.mentions, people, addMention)) &&
      readList(entities().mentions, people, addMention);
    if (!isRead) mentionCount = -2;
    return isRead;
  }

  /** Adds the mention that was read last, unless it is there; `false` where that is not plain. */
  function addMention(): boolean {
    const { positions: of } = people;
    if (mentionCount === MAX_MENTIONS || !isDigits(of, 2) || !isText(of, 4)) return false;
    if ((of[5]! & ESCAPES) !== 0) return false;
    const [idStart, idEnd] = [of[2]! + 1, (of[3]! & POSITION) - 1];
    const [start, end] = [of[4]! + 1, (of[5]! & POSITION) - 1];
    for (let other = 0; other < 4 * mentionCount; other += 4) {
      if (!isSame(idStart, idEnd, mentions[other]!, mentions[other + 1]!)) continue;
      // The same user with another handle is another one, unless only its capitals differ.
      return isSame(start, end, mentions[other + 2]!, mentions[other + 3]!);
    }
    mentions[4 * mentionCount] = idStart;
    mentions[4 * mentionCount + 1] = idEnd;
    mentions[4 * mentionCount + 2] = start;
    mentions[4 * mentionCount + 3] = end;
    mentionCount++;
    return true;
  }

  function isSame(start: number, end: number, otherStart: number, otherEnd: number): boolean {
    if (end - start !== otherEnd - otherStart) return false;
    for (let place = start; place < end; place++)
      if (bytes[place] !== bytes[otherStart + place - start]) return false;
    return true;
  }

  function mentionCell(part: number): PostCell {
    return out => {
      if (!readMentions()) return false;
      for (let mention = part; mention < 4 * mentionCount; mention += 4)
        if (!out.element(mentions[mention]!, mentions[mention + 1]!)) return false;
      out.list();
      return true;
    };
  }

  const derived = at('user.derived.locations');

  function homeCell(cell: PostCell): PostCell {
    return out => {
      if (!isHomeRead) {
        isHomeRead = true;
        home.fill(0);
        hasHome = readList(derived, locations, keepHome);
      }
      return hasHome && cell(out);
    };
  }

  let homes = 0;
  function keepHome(): boolean {
    if (homes++ === 0) home.set(locations.positions);
    return true;
  }

  function sourceCell(part: 'name' | 'link'): PostCell {
    const member = at('source');
    return out => {
      const [start, end] = [positions[member]!, endOf(member)];
      let source = sources.get(bytes, start, end);
      if (source === undefined) {
        if (!isText(positions, member)) return false;
        ({ source } = originalFields(post.post as OriginalPost));
        sources.set(bytes, start, end, source);
      }
      const value = source[part];
      out.value(value === '' ? null : value);
      return true;
    };
  }

  function placeCell(cell: PostCell): PostCell {
    const place = at('place');
    return out => {
      if (content === root && !isNone(place)) return cell(out);
      out.none();
      return true;
    };
  }

  /** Exact positions are left to their columns. */
  const positionCell: PostCell = out => {
    if (content === root && !(isNone(point) && isNone(geo))) return false;
    out.none();
    return true;
  };
  const [point, geo] = [at('coordinates'), at('geo')];

  function sharedCell(cell: PostCell): PostCell {
    return out => {
      if (content === retweeted) return cell(out);
      out.none();
      return true;
    };
  }

  /** The content with the quoted post; absent where there is none. */
  function quoting() {
    if (!isNone(content.quoted)) return content;
    return isNone(root.quoted) ? undefined : root;
  }

  function quotedCell(write: (out: Cells, of: typeof root) => boolean): PostCell {
    return out => {
      const of = quoting();
      if (of !== undefined) return write(out, of);
      out.none();
      return true;
    };
  }

  const history = at('edit_history');
  const initialId = at('edit_history.initial_tweet_id');
  const editIds = at('edit_history.edit_tweet_ids');
  const until = at('edit_controls.editable_until_ms');
  const remaining = at('edit_controls.edits_remaining');

  /** A column of edits, where all of them are valid. */
  function editCell(cell: PostCell): PostCell {
    return out => {
      if (isNone(history)) {
        out.none();
        return true;
      }
      if (!isText(positions, initialId) || bytes[positions[editIds]!] !== OPEN_ARRAY) return false;
      if (!isWholeOrAbsent(until) || !isWholeOrAbsent(remaining)) return false;
      return readList(editIds, texts, () => true) && cell(out);
    };
  }

  function isWholeOrAbsent(member: number): boolean {
    const [start, end] = [positions[member]!, endOf(member)];
    return end - start < 16 && !Number.isNaN(digitsIn(bytes, start, end - start));
  }

  const textOf: PostCell = out => {
    const member = wholeText(content.texts);
    const start = positions[member]!;
    if (start === 0 || bytes[start] !== QUOTE) return false;
    const prefixEnd = content === root ? 0 : afterPrefix();
    if (prefixEnd === -1) return false;
    const prefix = prefixEnd === 0 ? 0 : positions[text]! + 1;
    return out.text(start + 1, endOf(member) - 1, true, prefix, prefixEnd);
  };

  /** The first of the members that is there, or else the last. */
  function wholeText(members: readonly number[]): number {
    for (const member of members) if (!isNone(member)) return member;
    return members.at(-1)!;
  }

  /** Where the `RT @handle: ` of a shared post ends; 0 where it has none, -1 where that is not plain. */
  function afterPrefix(): number {
    if (isNone(text)) return 0;
    if (!isText(positions, text)) return -1;
    const start = positions[text]! + 1;
    for (let place = 0; place < RT.length; place++)
      if (bytes[start + place] !== RT[place]) return noPrefix(start + place);
    let place = start + RT.length;
    while (isWord(bytes[place]!)) place++;
    if (place === start + RT.length || bytes[place] !== COLON) return noPrefix(place);
    if (bytes[place + 1] !== SPACE) return noPrefix(place + 1);
    return place + 2;
  }

  /** For a byte that is not of a prefix: an escape may stand for one that is. */
  function noPrefix(place: number): number {
    return bytes[place] === BACKSLASH ? -1 : 0;
  }

  const withheld = at('withheld_in_countries');
  const lang = at('lang');
  const langCell = caseCell(lang, 0x41);
  const linkBytes = Buffer.alloc(512);
  LINK.copy(linkBytes);

  const linkCell: PostCell = out => {
    if (!isDigits(positions, idString) || !isText(positions, handle)) return false;
    const [start, end] = [positions[handle]! + 1, endOf(handle) - 1];
    const [idStart, idEnd] = [positions[idString]! + 1, endOf(idString) - 1];
    if (end - start + idEnd - idStart > 256) return false;
    let to = LINK.length;
    for (let place = start; place < end; place++) {
      if (!isWord(bytes[place]!)) return false;
      linkBytes[to++] = bytes[place]!;
    }
    for (let letter = 0; letter < STATUSES.length; letter++) linkBytes[to++] = STATUSES[letter]!;
    for (let place = idStart; place < idEnd; place++) linkBytes[to++] = bytes[place]!;
    out.value(linkBytes.toString('latin1', 0, to));
    return true;
  };

  const cells: Partial<Record<PostColumnName, PostCell>> = {
    id: out => writeText(out, positions, idString, false),
    posted_at: timeCell(createdAt),
    verb: out => {
      out.value(content === root ? 'post' : 'share');
      return true;
    },
    text: textOf,
    lang: out => {
      if (!isNone(lang) && !(isText(positions, lang) && isEmpty(positions, lang)))
        return langCell(out);
      out.value('und');
      return true;
    },
    link: linkCell,

    author_id: idCell('user.id_str', 'user.id'),
    author_handle: textCell('user.screen_name'),
    author_name: textCell('user.name', true),
    author_description: textCell('user.description', true),
    author_location: textCell('user.location', true),
    author_url: textCell('user.url'),
    author_image: textCell('user.profile_image_url_https'),
    author_verified: flagCell('user.verified'),
    author_protected: flagCell('user.protected'),
    author_created_at: timeCell(at('user.created_at')),
    author_posts: countCell('user.statuses_count'),
    author_followers: countCell('user.followers_count'),
    author_following: countCell('user.friends_count'),
    author_listed: countCell('user.listed_count'),
    author_favorites: countCell('user.favourites_count'),
    author_country_code: homeCell(caseCell(0, 0x61, home)),
    author_region: homeCell(out => writeText(out, home, 2, false)),
    author_locality: homeCell(out => writeText(out, home, 4, false)),

    favorite_count: countCell('favorite_count'),
    retweet_count: countCell('retweet_count'),
    reply_count: countCell('reply_count'),
    quote_count: countCell('quote_count'),
    possibly_sensitive: flagCell('possibly_sensitive'),
    withheld_countries: out => {
      const { positions: of } = texts;
      if (isNone(withheld)) {
        out.none();
        return true;
      }
      if (!readList(withheld, texts, () => writeElement(out, of, 0))) return false;
      out.list();
      return true;
    },
    source: sourceCell('name'),
    source_link: sourceCell('link'),

    place_id: placeCell(textCell('place.id')),
    place_name: placeCell(textCell('place.name')),
    place_full_name: placeCell(textCell('place.full_name')),
    place_type: placeCell(textCell('place.place_type')),
    place_country: placeCell(textCell('place.country')),
    place_country_code: placeCell(caseCell(at('place.country_code'), 0x61)),
    // The numbers of a place are left to the column.
    place_bbox: placeCell(() => false),
    longitude: positionCell,
    latitude: positionCell,

    hashtags: listCell(
      () => entities().hashtags,
      tags,
      () => 0,
    ),
    cashtags: listCell(
      () => entities().symbols,
      tags,
      () => 0,
    ),
    mentioned_ids: mentionCell(0),
    mentioned_handles: mentionCell(2),
    links: listCell(
      () => entities().urls,
      urls,
      of => (isUnwoundPlain(of) ? firstText(of, 6, 2, 0) : -1),
    ),
    media_types: listCell(mediaList, media, () => 0),
    media_urls: listCell(mediaList, media, of => (isNothing(of, 2) ? 4 : 2)),

    shared_id: sharedCell(idCell('retweeted_status.id_str', 'retweeted_status.id')),
    shared_author_id: sharedCell(
      idCell('retweeted_status.user.id_str', 'retweeted_status.user.id'),
    ),
    shared_author_handle: sharedCell(textCell('retweeted_status.user.screen_name')),
    shared_posted_at: sharedCell(timeCell(at('retweeted_status.created_at'))),
    shared_favorite_count: sharedCell(countCell('retweeted_status.favorite_count')),
    shared_retweet_count: sharedCell(countCell('retweeted_status.retweet_count')),
    quoted_id: out => {
      const of = quoting();
      if (of !== undefined)
        return isDigits(positions, of.quotedIds[0]) && writeId(out, ...of.quotedIds);
      if (!isNone(content.quotedIdString) || !isNone(content.quotedId))
        return writeId(out, content.quotedIdString, content.quotedId);
      if (!isNone(root.quotedId)) return false;
      out.none();
      return true;
    },
    quoted_author_id: quotedCell((out, of) => writeId(out, ...of.quotedUserIds)),
    quoted_author_handle: quotedCell((out, of) =>
      writeText(out, positions, of.quotedHandle, false),
    ),
    quoted_text: quotedCell((out, of) =>
      writeText(out, positions, wholeText(of.quotedTexts), true),
    ),
    replied_id: idCell('in_reply_to_status_id_str', 'in_reply_to_status_id'),
    replied_author_id: idCell('in_reply_to_user_id_str', 'in_reply_to_user_id'),
    replied_author_handle: textCell('in_reply_to_screen_name'),

    edit_initial_id: editCell(out => {
      const [start, end] = [positions[initialId]!, endOf(initialId)];
      return out.text(start + 1, end - 1, false);
    }),
    edit_ids: editCell(out => {
      const { positions: of } = texts;
      if (!readList(editIds, texts, () => writeElement(out, of, 0))) return false;
      out.list();
      return true;
    }),
    editable_until: editCell(out => {
      if (positions[until] === 0) out.none();
      else out.time(digitsIn(bytes, positions[until]!, endOf(until) - positions[until]!));
      return true;
    }),
    edits_remaining: editCell(out => {
      const length = endOf(remaining) - positions[remaining]!;
      if (length > 9) return false;
      if (length === 0) out.none();
      else out.int32(digitsIn(bytes, positions[remaining]!, length));
      return true;
    }),
    is_editable: editCell(flagCell('editable')),

    rule_ids: out => {
      const { rules } = post.matches;
      let ids = ruleIds.get(rules);
      if (ids === undefined) {
        ids = Object.freeze(rules.map(({ id }) => id).filter(id => id !== undefined));
        ruleIds.set(rules, ids);
      }
      out.value(ids);
      return true;
    },
    rule_tags: out => {
      out.value(post.matches.tags);
      return true;
    },
  };

  /** Whether `unwound` of the link that was read last is an object, or nothing. */
  function isUnwoundPlain(of: Uint32Array): boolean {
    return bytes[of[4]!] === OPEN_OBJECT || isNothing(of, 4);
  }

  return {
    cells,
    read() {
      if (!isText(positions, createdAt) || positions[postedTime] !== 0) return false;
      if (!isDigits(positions, idString) || isText(positions, id)) return false;
      for (let index = 0; index < objects.length; index++) {
        const member = objects[index]!;
        const start = positions[member]!;
        if (start !== 0 && bytes[start] !== OPEN_OBJECT && !isNone(member)) return false;
      }
      content =
        bytes[positions[shared]!] === OPEN_OBJECT && positions[shared] !== 0 ? retweeted : root;
      mentionCount = -1;
      isHomeRead = false;
      homes = 0;
      return true;
    },
  };
}

/** As `\w`. */
function isWord(byte: number): boolean {
  return isDigit(byte) || isSmallLetter(byte | 0x20) || byte === 0x5f;
}
