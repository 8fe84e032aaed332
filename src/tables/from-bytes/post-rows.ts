import { Activity, type Format } from '../../post/activity.js';
import type { StringDecoder } from '../../post/bytes/find-members.js';
import { PostInBytes } from '../../post/bytes/post-in-bytes.js';
import type { RowValue } from '../column.js';
import { converterOf } from '../convert-value.js';
import {
  activityOf,
  POST_COLUMNS,
  type PostColumnName,
  type PostItem,
  PostView,
  tagOf,
} from '../post-columns.js';
import { rowReader } from '../row-reader.js';
import {
  type CheckedColumns,
  type InvalidValues,
  listColumns,
  postColumnNames,
} from '../table-options.js';
import type { CellWriter } from './cell-writer.js';
import { type PostCell, postBytes, writeValue } from './field-cells.js';
import { specialCells } from './special-cells.js';

/**
 * Creates a value from the post between two positions in the content of a file. `tag` is the tag by which the
 * post was routed.
 */
export type OfPost<T> = (
  content: Buffer,
  start: number,
  end: number,
  tag?: string,
  origin?: string,
) => T;

/**
 * Creates a function that parses a post in the content of a file, and returns the post's row.
 *
 * @param call The name of the function that was called with the columns, for messages.
 * @throws DataError from the returned function, for a value that does not fit its column.
 */
export function postRowReader(
  call: string,
  columns: readonly PostColumnName[],
  invalid: InvalidValues,
): OfPost<RowValue[]> {
  const read = rowReader(call, listColumns(columns), invalid);
  return (content, start, end, tag, origin) => {
    const activity = new Activity(content.subarray(start, end));
    return read(tag === undefined ? activity : { tag, activity }, origin);
  };
}

function readerOf(name: PostColumnName): (view: PostView) => RowValue {
  const { type, value } = POST_COLUMNS[name];
  const convert = converterOf(type);
  return view => {
    const given = value(view) ?? null;
    const held = given === null ? null : convert(given);
    if (held === undefined) throw new RangeError(`Does not fit its column: ${name}`);
    return held;
  };
}

/** The cells that can be written directly from the bytes of posts in one format. */
interface FormatCells {
  readonly begin: () => boolean;
  readonly cells: { readonly [Name in PostColumnName]?: PostCell | undefined };
}

/** Cells are created once and reused, because creating them takes some of the limited memory of a `PostInBytes`. */
const madeCells = new WeakMap<PostInBytes, Map<Format, FormatCells>>();

export function cellsOf(post: PostInBytes, format: Format): FormatCells {
  const ofFormats = madeCells.get(post) ?? new Map<Format, FormatCells>();
  madeCells.set(post, ofFormats);
  const cells = ofFormats.get(format) ?? newCells(post, format);
  ofFormats.set(format, cells);
  return cells;
}

function newCells(post: PostInBytes, format: Format): FormatCells {
  const bytes = postBytes(post, format);
  const special = specialCells(bytes);
  const cells: { [name: string]: PostCell | undefined } = { ...special };
  for (const [name, { field, part = 'own' }] of Object.entries(POST_COLUMNS))
    if (field !== undefined) cells[name] = bytes.fieldCell(field, part);
  return { begin: bytes.begin, cells };
}

/**
 * Creates a function that writes the row of a post. Rows and errors are the same as with `postRowReader`,
 * except that members that no column reads are not checked.
 *
 * Most cells are written directly from the bytes of the post. For other columns, the `value` function gets a
 * view that reads members when they are used. If a cell cannot be written in either way, the post is parsed.
 *
 * @throws DataError from the function, for a value that does not fit its column.
 */
export function postRowWriter(
  call: string,
  columns: readonly PostColumnName[],
  invalid: InvalidValues,
  { post, out }: { readonly post: PostInBytes; readonly out: CellWriter },
): OfPost<void> {
  const parseRow = postRowReader(call, columns, invalid);
  const readers = columns.map(readerOf);
  /** The tag of the current post. It is stored here, because the bytes of the post do not contain it. */
  let currentTag: string | undefined;
  const tagCell: PostCell = out => writeValue(out, currentTag ?? null);
  const cellsIn = (format: Format) => {
    const { begin, cells } = cellsOf(post, format);
    return { begin, cells: columns.map(name => (name === 'tag' ? tagCell : cells[name])) };
  };
  const original = cellsIn('original');
  let streams: typeof original | undefined;
  const cellsOfPost = () => {
    if (post.format === 'original') return original;
    streams ??= cellsIn('activity_streams');
    return streams;
  };
  const write = (tag: string | undefined) => {
    const { begin, cells } = cellsOfPost();
    const isPlain = begin();
    // If `isPlain` is true, `begin` has found an id. Otherwise, reading `post.id` throws an error if the post
    // has no id, even if no column reads the id.
    if (!isPlain) void post.id;
    currentTag = tag;
    let view: PostView | undefined;
    for (let column = 0; column < cells.length; column++) {
      out.begin(column);
      if (isPlain && cells[column]?.(out) === true) continue;
      view ??= new PostView(post, tag);
      const value = readers[column]!(view);
      out.begin(column);
      out.value(value);
    }
    out.endRow();
    return true;
  };
  return (content, start, end, tag, origin) => {
    try {
      if (post.read(content, start, end, () => write(tag)) === true) return;
    } catch {
      // Reading the bytes has failed. The parser below either writes the row or throws the exact error.
      out.undoRow();
    }
    out.row(parseRow(content, start, end, tag, origin));
  };
}

export interface ItemWriter<C extends CellWriter> {
  readonly out: C;
  /**
   * Writes the row of a post. For any other item, returns `false` without writing anything.
   *
   * @throws DataError for a value that does not fit its column.
   */
  write(item: unknown, origin?: string): boolean;
}

/**
 * Creates an `ItemWriter` for the columns. Returns `undefined` if one of them is not a post column, or if
 * WebAssembly gets no memory.
 */
export function itemWriter<C extends CellWriter>(
  call: string,
  columns: CheckedColumns,
  invalid: InvalidValues,
  cells: (strings: StringDecoder) => C,
): ItemWriter<C> | undefined {
  const names = postColumnNames(columns);
  const post = names && PostInBytes.ofThread();
  if (names === undefined || post === undefined) return undefined;
  const out = cells(post.strings);
  const writePost = postRowWriter(call, names, invalid, { post, out });
  return {
    out,
    write(item, origin) {
      const raw = activityOf(item)?.raw;
      if (raw === undefined) return false;
      writePost(raw, 0, raw.length, tagOf(item as PostItem), origin);
      return true;
    },
  };
}
