import { CLOSE_ARRAY, COMMA, digitsIn } from '../../json/byte-codes.js';
import type { Format } from '../../post/activity.js';
import { BytesMap } from '../../post/bytes/bytes-map.js';
import type { Elements, WantedMembers } from '../../post/bytes/find-members.js';
import type { PostInBytes } from '../../post/bytes/post-in-bytes.js';
import { AUTHOR, FIRST, type Field, type FieldKind, type Path } from '../../post/field-table.js';
import { createdAtIn, isoTimeIn } from '../../post/posted-at.js';
import type { Part } from '../../post/read-fields.js';
import type { RowValue } from '../column.js';
import type { CellWriter } from './cell-writer.js';

/**
 * Writes the cell of a column for the current post, directly from the bytes of the post. Returns `false` if
 * it cannot read the bytes, for example because a number is expected and a string is there. The slower
 * `value` function of the column is then called instead.
 */
export type PostCell = (out: CellWriter) => boolean;

export type PostBytes = ReturnType<typeof postBytes>;
type PostValues = ReturnType<typeof valuesOf>;
type Writers = ReturnType<typeof writersOf>;

/**
 * Finds a value of the current post, and returns its index. Returns `NO_PART` if the post has no part, such
 * as a quoted post, that could contain the value.
 */
type Find = () => number;

const NO_PART = -1;

const OTHER_POSTS = {
  original: { shared: 'retweeted_status', quoted: 'quoted_status' },
  activity_streams: { shared: 'object', quoted: 'twitter_quoted_status' },
} as const;

const [CAPITAL_A, SMALL_A] = [0x41, 0x61];
const ALPHABET = 26;
/** The lengths of `"Wed Oct 10 20:19:24 +0000 2018"` and `"2018-10-10T20:19:24.000Z"`, including quotes. */
const TIME_BYTES = { original: 32, activity_streams: 26 } as const;
const itself = (value: number) => value;

/**
 * Creates functions that write cells directly from the bytes of posts in one format. They handle values as the
 * service usually prints them. For any other value, such as a string where a number is expected, they return
 * `false`. The slower `value` function of the column is then called instead.
 *
 * These are closures instead of methods, because V8 treats the variables of a closure as constants.
 */
export function postBytes(post: PostInBytes, format: Format) {
  const values = valuesOf(post, format);
  const writers = writersOf(values, format);
  return { ...values, ...writers, ...fieldCells(values, writers) };
}

function valuesOf(post: PostInBytes, format: Format) {
  const { values } = post;
  const { startOf, hasEscapes, isObject, isNone, isText, isDigits, is, digitsOfId } = values;
  const { shared, quoted } = OTHER_POSTS[format];
  /** The objects that contain the values to read. Each is the index of a member in `values`. */
  const objects: number[] = [];
  /** How many posts were read, including the current one, and whether the current post is a retweet. */
  let posts = 0;
  let isShare = false;

  function at(path: string): number {
    if (path.includes('.')) {
      const object = at(path.slice(0, path.lastIndexOf('.')));
      if (!objects.includes(object)) objects.push(object);
    }
    return post.numberOf(path);
  }

  const [id, idString, verb] = [at('id'), at('id_str'), at('verb')];
  const [createdAt, postedTime] = [at('created_at'), at('postedTime')];
  const [time, otherTime] =
    format === 'original' ? [createdAt, postedTime] : [postedTime, createdAt];
  const sharedPost = at(shared);
  /**
   * The member that distinguishes retweets from other posts. In `activity_streams`, all posts may have an
   * `object`, but only a retweet has an author in it.
   */
  const sharedAuthor = format === 'original' ? sharedPost : at('object.actor');
  const [ownQuoted, sharedQuoted] = [at(quoted), at(`${shared}.${quoted}`)];

  /** Starts the next post. Returns `false` if none of its cells can be written directly from its bytes. */
  function begin(): boolean {
    posts++;
    if (!isText(time) || startOf(otherTime) !== 0) return false;
    if (format === 'original') {
      isShare = isObject(sharedPost);
      return isDigits(idString) && !isText(id) && hasObjects();
    }
    isShare = is(verb, '"share"') && isObject(sharedPost) && startOf(sharedAuthor) !== 0;
    return digitsOfId(id, true) !== -1 && !hasEscapes(verb) && hasObjects();
  }

  function hasObjects(): boolean {
    for (let index = 0; index < objects.length; index++)
      if (!isObject(objects[index]!) && !isNone(objects[index]!)) return false;
    return true;
  }

  /**
   * Returns a function that caches a result for the current post, because several columns need the result.
   */
  function oncePerPost<T>(read: () => T): () => T {
    let last = 0;
    let value: T;
    return () => {
      if (last !== posts) value = read();
      last = posts;
      return value;
    };
  }

  /**
   * Returns whether the post itself (`own`) or the post that it retweets (`shared`) quotes another post;
   * `undefined` if neither does.
   */
  function quotedBy(): 'own' | 'shared' | undefined {
    if (isShare && !isNone(sharedQuoted)) return 'shared';
    return isNone(ownQuoted) ? undefined : 'own';
  }

  /**
   * Returns a function that finds the value at a path. The path starts in the object to which the keys
   * `within` lead. If the path has several places for the value, the first place with a value counts.
   */
  function findAt({ places, rest }: Path, ...within: readonly string[]): Find {
    const all = places.map(keys => [...within, ...keys]);
    const tested = all.map(keys => at(keys.join('.')));
    const found = all.map(keys => at([...keys, ...rest].join('.')));
    const last = found.length - 1;
    return () => {
      let place = 0;
      while (place < last && isNone(tested[place]!)) place++;
      return found[place]!;
    };
  }

  function find({ paths }: Pick<Field, 'paths'>, part: Part = 'own'): Find {
    const path = paths[format];
    if (path === undefined) return () => NO_PART;
    if (part === 'quoted') {
      const [ofOwn, ofShared] = [findAt(path, quoted), findAt(path, shared, quoted)];
      return () => {
        const by = quotedBy();
        if (by === undefined) return NO_PART;
        return by === 'own' ? ofOwn() : ofShared();
      };
    }
    if (part === 'shared') {
      const ofShared = findAt(path, shared);
      return () => (isShare ? ofShared() : NO_PART);
    }
    const own = findAt(path);
    if (part === 'own') return own;
    if (part === 'unshared') return () => (isShare ? NO_PART : own());
    if (part === 'retweet') return () => (isShare ? own() : NO_PART);
    const ofShared = findAt(path, shared);
    return () => (isShare ? ofShared() : own());
  }

  const isRetweet = () => isShare;
  return {
    ...{ ...values, bytes: post.bytes, post, format, at, find },
    ...{ begin, oncePerPost, isRetweet, quotedBy },
  };
}

function writersOf(values: PostValues, format: Format) {
  const { bytes, startOf, endOf, hasEscapes, isText, isList, isNone, isBlank, is } = values;
  const { digitsOfId } = values;
  const timeBytes = TIME_BYTES[format];
  const timeIn = format === 'original' ? createdAtIn : isoTimeIn;

  /** Writes a string. If the string is empty, writes an empty cell. */
  function writeText(out: CellWriter, value: number, entities = false): boolean {
    if (!isText(value)) return isNone(value) && writeNone(out);
    const start = startOf(value);
    const end = endOf(value);
    return end === start + 2 ? writeNone(out) : out.text(start + 1, end - 1, entities);
  }

  /**
   * Writes a string that already has the letter case of its column. Otherwise, returns `false`, as it does
   * for an escape or a character that is not ASCII. `first` is the first letter of the other case: `A` or
   * `a`.
   */
  function writeCase(out: CellWriter, value: number, first: number): boolean {
    if (hasEscapes(value)) return false;
    const end = isText(value) ? endOf(value) - 1 : 0;
    for (let place = startOf(value) + 1; place < end; place++) {
      const byte = bytes[place]!;
      if (byte >= 0x80 || (byte >= first && byte < first + ALPHABET)) return false;
    }
    return writeText(out, value);
  }

  function writeId(out: CellWriter, value: number): boolean {
    if (isBlank(value)) return writeNone(out);
    const digits = digitsOfId(value, true);
    return digits !== -1 && out.text(digits, endOf(value) - 1, false);
  }

  /**
   * Reads an integer without a sign. Returns NaN for anything else, and for an integer with more than
   * `maxDigits` digits.
   */
  function whole(value: number, maxDigits: number): number {
    const start = startOf(value);
    const length = endOf(value) - start;
    const isPlain = length > 0 && length <= maxDigits && (bytes[start] !== 0x30 || length === 1);
    return isPlain ? digitsIn(bytes, start, length) : Number.NaN;
  }

  function writeCount(out: CellWriter, value: number): boolean {
    const count = whole(value, 9);
    if (Number.isNaN(count)) return isNone(value) && writeNone(out);
    out.int32(count);
    return true;
  }

  function writeFlag(out: CellWriter, value: number): boolean {
    const isTrue = is(value, 'true');
    if (!isTrue && !is(value, 'false')) return isNone(value) && writeNone(out);
    out.boolean(isTrue);
    return true;
  }

  /**
   * Writes a time given in the notation of the format, rounded down to a multiple of `unitMs` milliseconds.
   */
  function writeTime(out: CellWriter, value: number, unitMs: number): boolean {
    const start = startOf(value);
    if (!isText(value) || endOf(value) !== start + timeBytes) return false;
    const ms = timeIn(bytes, start + 1);
    if (Number.isNaN(ms)) return false;
    out.time(unitMs === 1 ? ms : Math.floor(ms / unitMs) * unitMs);
    return true;
  }

  /**
   * Reads each element of a list. A missing list has no elements. Returns `false` if the value is not a list,
   * if an element has the wrong type, or if `each` returns `false`.
   */
  function readList(list: number, elements: Elements, each: () => boolean): boolean {
    if (isNone(list)) return true;
    if (!isList(list)) return false;
    const start = startOf(list);
    if (bytes[start + 1] === CLOSE_ARRAY) return true;
    for (let next = start + 1; ; next++) {
      next = elements.read(next);
      if (next === 0 || !each()) return false;
      if (bytes[next] === CLOSE_ARRAY) return true;
      if (bytes[next] !== COMMA) return false;
    }
  }

  /**
   * Writes a list with one string for each element. If there are no elements, writes an empty list. If
   * `textOf` returns -1 for an element, returns `false`, so that the column's `value` function is called
   * instead.
   */
  function writeList(out: CellWriter, list: number, elements: Elements, textOf = itself): boolean {
    const isRead = readList(list, elements, () => {
      const text = textOf(elements.first);
      if (text === -1) return false;
      if (isText(text)) return out.element(startOf(text) + 1, endOf(text) - 1);
      return isNone(text) && out.element(0, 0);
    });
    if (isRead) out.list();
    return isRead;
  }

  return {
    ...{ writeText, writeCase, writeId, writeCount, writeFlag, writeTime, whole },
    ...{ readList, writeList },
  };
}

function fieldCells(values: PostValues, writers: Writers) {
  const { bytes, post, format, find, at, oncePerPost, startOf, endOf, isText } = values;
  const { isNone, isList } = values;
  const { writeText, writeCase, writeId, writeCount, writeFlag, writeTime, writeList } = writers;
  const elements = (wanted?: WantedMembers) => post.elements(wanted);
  const strings = elements();
  const tags = elements({ text: true });

  /**
   * Functions that write cells, by the kind of field. They convert values in the same way as `converterOf`
   * does for parsed posts. Each kind has a separate function, so that V8 can inline its calls.
   */
  const CELLS: Readonly<Partial<Record<FieldKind, (value: Find) => PostCell>>> = {
    string: value => out => writeText(out, value()),
    text: value => out => writeText(out, value(), true),
    lower: value => out => writeCase(out, value(), CAPITAL_A),
    upper: value => out => writeCase(out, value(), SMALL_A),
    id: value => out => writeId(out, value()),
    count: value => out => writeCount(out, value()),
    flag: value => out => writeFlag(out, value()),
    time: value => out => writeTime(out, value(), 1),
    second: value => out => writeTime(out, value(), 1000),
    strings: value => out => (isNone(value()) ? writeNone(out) : writeList(out, value(), strings)),
    tags: value => out => writeList(out, value(), tags),
  };

  /**
   * Returns the function that writes a field of one part of the post. If the post does not have that part,
   * the cell is empty. Returns `undefined` if only the column's `value` function can read the field.
   */
  function fieldCell(field: Field, part: Part): PostCell | undefined {
    if (field.paths[format] === undefined) return writeNone;
    if (field.parts[format] !== undefined) return partCell(field, part);
    const [keys] = field.paths[format].places;
    if (keys?.includes(FIRST)) return firstCell(field, keys);
    const value = find(field, part);
    const cell = CELLS[field.kind]?.(value);
    if (cell === undefined || part === 'own' || part === 'shown') return cell;
    return out => (value() === NO_PART ? writeNone(out) : cell(out));
  }

  /**
   * Returns the function that writes a field that is a piece of a string. Caches the pieces of strings that
   * occur repeatedly.
   */
  function partCell(field: Field, part: Part): PostCell {
    const value = find(field, part);
    const known = new BytesMap<string | null>();
    return out => {
      const member = value();
      if (member === NO_PART || isNone(member)) return writeNone(out);
      if (!isText(member)) return false;
      const [start, end] = [startOf(member), endOf(member)];
      let text = known.get(bytes, start, end);
      if (text === undefined) {
        const part = field.read(post.post, format);
        text = typeof part === 'string' && part !== '' ? part : null;
        known.set(bytes, start, end, text);
      }
      return writeValue(out, text);
    };
  }

  function firstElement(list: string) {
    const paths = Object.values(AUTHOR).map(field => inFirst(field, list));
    const { wanted, members } = membersOf(paths.filter(path => path !== undefined));
    const reader = elements(wanted);
    const value = at(list);
    /**
     * 1 if the list has an element, 0 if it has none, and -1 if the column's `value` function must read it.
     */
    const count = oncePerPost(() => {
      if (isNone(value)) return 0;
      if (!isList(value)) return -1;
      const start = startOf(value) + 1;
      if (bytes[start] === CLOSE_ARRAY) return 0;
      return reader.read(start) === 0 ? -1 : 1;
    });
    return { count, numberOf: (path: string) => reader.first + 2 * members.indexOf(path) };
  }

  const firstElements = new Map<string, ReturnType<typeof firstElement>>();

  /**
   * Returns the path of a field within the first element of a list; `undefined` if the field is not in that
   * element.
   */
  function inFirst({ paths }: Field, list: string): string | undefined {
    const path = paths[format]?.places[0]?.join('.');
    const start = `${list}.${FIRST}.`;
    return path?.startsWith(start) ? path.slice(start.length) : undefined;
  }

  function firstCell(field: Field, keys: readonly string[]): PostCell | undefined {
    const list = keys.slice(0, keys.indexOf(FIRST)).join('.');
    const first = firstElements.get(list) ?? firstElement(list);
    firstElements.set(list, first);
    const member = first.numberOf(inFirst(field, list) ?? '');
    const cell = CELLS[field.kind]?.(() => member);
    return (
      cell && (out => (first.count() === 1 ? cell(out) : first.count() === 0 && writeNone(out)))
    );
  }

  return { elements, fieldCell };
}

/**
 * Converts paths such as `actor.id` to nested objects (`wanted`). `members` lists the paths of all members,
 * including parents such as `actor`, in the order in which the reader of elements stores their values.
 */
function membersOf(
  paths: readonly string[],
  prefix = '',
): { readonly wanted: WantedMembers; readonly members: readonly string[] } {
  const wanted: Record<string, WantedMembers | true> = {};
  const members: string[] = [];
  for (const path of paths) {
    const [key = ''] = path.split('.');
    if (key in wanted) continue;
    members.push(prefix + key);
    const start = `${key}.`;
    const within = paths.filter(other => other.startsWith(start));
    const nested = membersOf(
      within.map(other => other.slice(start.length)),
      prefix + start,
    );
    wanted[key] = within.length === 0 ? true : nested.wanted;
    members.push(...nested.members);
  }
  return { wanted, members };
}

/** Writes an empty cell. Returns `true`, like every `PostCell` that has written its cell. */
export function writeNone(out: CellWriter): true {
  out.none();
  return true;
}

export function writeValue(out: CellWriter, value: RowValue): true {
  out.value(value);
  return true;
}
