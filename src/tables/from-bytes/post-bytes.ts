import { CLOSE_ARRAY, COMMA, digitsIn } from '../../json/byte-codes.js';
import type { Elements, WantedMembers } from '../../post/bytes/find-members.js';
import type { PostInBytes } from '../../post/bytes/post-in-bytes.js';
import { createdAtIn } from '../../post/posted-at.js';
import type { RowValue } from '../column.js';
import type { PostColumnName } from '../post-columns.js';
import type { Cells } from './cells.js';

/** Writes the cell of a column; `false` where the column has to be read in another way. */
export type PostCell = (out: Cells) => boolean;
export type CellsOfColumns = Readonly<Partial<Record<PostColumnName, PostCell>>>;
export type PostBytes = ReturnType<typeof postBytes>;
type Values = ReturnType<typeof valuesOf>;

/** Where a post has an id, which the format gives as digits and as a number. */
export interface IdPlaces {
  readonly digits: number;
  readonly number: number;
}

const ALPHABET = 26;
const itself = (value: number) => value;
/** `"Wed Oct 10 20:19:24 +0000 2018"` */
const TIME_BYTES = 32;

/** Writes cells of the post that is being read. These are functions that are made once, as `memberValues`. */
export function postBytes(post: PostInBytes) {
  const values = valuesOf(post);
  return { ...values, ...textCells(values), ...scalarCells(values), ...listCells(values) };
}

function valuesOf(post: PostInBytes) {
  const { bytes, values } = post;
  const { isObject, isNone } = values;
  /** What the values that are read are within. */
  const objects: number[] = [];

  /** The value at a path. */
  function at(path: string): number {
    if (path.includes('.')) {
      const object = at(path.slice(0, path.lastIndexOf('.')));
      if (!objects.includes(object)) objects.push(object);
    }
    return post.numberOf(path);
  }

  function idAt(path: string): IdPlaces {
    return { digits: at(`${path}_str`), number: at(path) };
  }

  /** A reader of elements that are objects with wanted members, or texts. */
  const elements = (wanted?: WantedMembers) => post.elements(wanted);

  /** Whether all that values are within is an object, or nothing. */
  function hasObjects(): boolean {
    for (let index = 0; index < objects.length; index++)
      if (!isObject(objects[index]!) && !isNone(objects[index]!)) return false;
    return true;
  }

  return { ...values, bytes, at, idAt, elements, hasObjects };
}

function textCells(values: Values) {
  const { bytes, at, idAt, startOf, endOf, hasEscapes, isText, isNone, isDigits } = values;

  /** A text; none for an empty one. */
  function textCell(path: string, entities = false): PostCell {
    const value = at(path);
    return out => writeText(out, value, entities);
  }

  function writeText(out: Cells, value: number, entities = false): boolean {
    if (!isText(value)) return isNone(value) && writeNone(out);
    const start = startOf(value);
    const end = endOf(value);
    return end === start + 2 ? writeNone(out) : out.text(start + 1, end - 1, entities);
  }

  /** A text whose case the column changes: one that has letters of the case that begins with `first` is left to it. */
  function caseCell(value: number, first: number): PostCell {
    return out => {
      if (hasEscapes(value)) return false;
      const end = isText(value) ? endOf(value) - 1 : 0;
      for (let place = startOf(value) + 1; place < end; place++) {
        const byte = bytes[place]!;
        if (byte >= 0x80 || (byte >= first && byte < first + ALPHABET)) return false;
      }
      return writeText(out, value);
    };
  }

  function idCell(path: string): PostCell {
    const id = idAt(path);
    return out => writeId(out, id);
  }

  function writeId(out: Cells, { digits, number }: IdPlaces): boolean {
    if (isDigits(digits)) return writeText(out, digits);
    return isNone(digits) && isNone(number) && writeNone(out);
  }

  return { textCell, writeText, caseCell, idCell, writeId };
}

function scalarCells({ bytes, at, startOf, endOf, isText, isNone, is }: Values) {
  /** A whole number without a sign; NaN for anything else, and for one of more digits. */
  function whole(value: number, maxDigits: number): number {
    const start = startOf(value);
    const length = endOf(value) - start;
    const isPlain = length > 0 && length <= maxDigits && (bytes[start] !== 0x30 || length === 1);
    return isPlain ? digitsIn(bytes, start, length) : Number.NaN;
  }

  function countCell(path: string): PostCell {
    const value = at(path);
    return out => {
      const count = whole(value, 9);
      if (Number.isNaN(count)) return isNone(value) && writeNone(out);
      out.int32(count);
      return true;
    };
  }

  function flagCell(path: string): PostCell {
    const value = at(path);
    return out => {
      const isTrue = is(value, 'true');
      if (!isTrue && !is(value, 'false')) return isNone(value) && writeNone(out);
      out.boolean(isTrue);
      return true;
    };
  }

  /** A time as the format has it. */
  function timeCell(path: string): PostCell {
    const value = at(path);
    return out => {
      const start = startOf(value);
      if (!isText(value) || endOf(value) !== start + TIME_BYTES) return false;
      const ms = createdAtIn(bytes, start + 1);
      if (Number.isNaN(ms)) return false;
      out.time(ms);
      return true;
    };
  }

  return { whole, countCell, flagCell, timeCell };
}

function listCells({ bytes, startOf, endOf, isText, isList, isNone }: Values) {
  /** Reads each element of a list; `false` where it is none, or an element is of another type, or is left by `each`. */
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

  /** A list of a text of each element, an empty one where it has none. `textOf` is -1 where that is not plain. */
  function writeList(out: Cells, list: number, elements: Elements, textOf = itself): boolean {
    const isRead = readList(list, elements, () => {
      const text = textOf(elements.first);
      if (text === -1) return false;
      if (isText(text)) return out.element(startOf(text) + 1, endOf(text) - 1);
      return isNone(text) && out.element(0, 0);
    });
    if (isRead) out.list();
    return isRead;
  }

  return { readList, writeList };
}

/** Writes that a post has no value. As what writes a value, it says that the cell is written. */
export function writeNone(out: Cells): true {
  out.none();
  return true;
}

export function writeValue(out: Cells, value: RowValue): true {
  out.value(value);
  return true;
}
