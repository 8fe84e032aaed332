import { Activity } from '../activity/activity.js';
import { type SpannedPost, sharedPost } from '../activity/spanned-post.js';
import type { MemberSpans } from '../json/member-spans.js';
import type { Cells } from './cells.js';
import type { RowValue } from './column.js';
import { type CheckedColumns, listColumns, postColumnNames } from './columns.js';
import { converterOf } from './convert-value.js';
import { originalCells, type PostCells } from './post-cells.js';
import {
  activityOf,
  POST_COLUMNS,
  type PostColumnName,
  type PostItem,
  PostView,
  tagOf,
} from './post-columns.js';
import { type InvalidValues, rowReader } from './row-reader.js';

/**
 * Reads the post between two positions of a file's content into the values of its row.
 *
 * @param tag The tag that it is routed by.
 */
export type PostRowReader = (
  content: Buffer,
  start: number,
  end: number,
  tag?: string,
) => RowValue[];

/**
 * Makes rows of posts in their bytes: those of `rowReader`, and its errors, but it does not check the members that no
 * column reads.
 *
 * Values are read from the members that columns need, without parsing the post. Where that does not succeed, for
 * whatever reason, the post is parsed.
 *
 * @param call Whose columns they are, for messages.
 */
export function postRowReader(
  call: string,
  columns: readonly PostColumnName[],
  invalid: InvalidValues,
): PostRowReader {
  const parseRow = rowReader(call, listColumns(columns), invalid);
  const readRow = spannedReader(columns);
  return (content, start, end, tag) => {
    const row = readRow(content, start, end, tag);
    if (row !== undefined) return row;
    const activity = new Activity(content.subarray(start, end));
    return parseRow(tag === undefined ? activity : { tag, activity });
  };
}

type SpannedReader = (
  content: Buffer,
  start: number,
  end: number,
  tag: string | undefined,
) => RowValue[] | undefined;

/** Makes rows of posts that are not parsed; `undefined` for a post that has to be. */
function spannedReader(columns: readonly PostColumnName[]): SpannedReader {
  const post = sharedPost();
  if (post === undefined) return () => undefined;
  const cells = columns.map(readerOf);
  return (content, start, end, tag) => {
    if (!post.read(content, start, end)) return undefined;
    const view = new PostView(post, tag);
    const row: RowValue[] = [];
    try {
      // A row needs an id, also where no column reads it.
      void post.id;
      for (const read of cells) row.push(read(view));
    } catch {
      // The parser gives the exact error, if there is one.
      return undefined;
    }
    return row;
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

const madeCells = new WeakMap<SpannedPost, PostCells>();

/** The cells of a post, made once: they take of its memory, which has an end. */
function cellsOf(post: SpannedPost): PostCells {
  const cells = madeCells.get(post) ?? originalCells(post);
  madeCells.set(post, cells);
  return cells;
}

/** Writes the row of the post between two positions of a file's content. */
export type PostRowWriter = (
  content: Buffer,
  start: number,
  end: number,
  tag?: string,
  origin?: string,
) => void;

/**
 * Writes rows of posts: those of `postRowReader`. Most cells are written from the bytes of their members, without a
 * value in between.
 *
 * @throws From what it returns: DataError, for a value that does not fit its column.
 */
export function postRowWriter(
  call: string,
  columns: readonly PostColumnName[],
  invalid: InvalidValues,
  { post, out }: { readonly post: SpannedPost; readonly out: Cells },
): PostRowWriter {
  const parseRow = rowReader(call, listColumns(columns), invalid);
  const original = cellsOf(post);
  const cells = columns.map(name => ({ write: original.cells[name], read: readerOf(name) }));
  const write = (tag: string | undefined) => {
    const isOriginal = original.read();
    if (!isOriginal) void post.id;
    let view: PostView | undefined;
    for (let column = 0; column < cells.length; column++) {
      const cell = cells[column]!;
      out.begin(column);
      if (isOriginal && cell.write?.(out) === true) continue;
      view ??= new PostView(post, tag);
      const value = cell.read(view);
      out.begin(column);
      out.value(value);
    }
    out.endRow();
  };
  return (content, start, end, tag, origin) => {
    if (post.read(content, start, end))
      try {
        write(tag);
        return;
      } catch {
        // The parser gives the exact error, if there is one.
        out.undoRow();
      }
    const activity = new Activity(content.subarray(start, end));
    out.row(parseRow(tag === undefined ? activity : { tag, activity }, origin));
  };
}

/** Writes the rows of items to `out`. */
export interface ItemWriter<C extends Cells> {
  readonly out: C;
  /**
   * Returns `false`, and has written nothing, for anything but a post.
   *
   * @throws DataError for a value that does not fit its column.
   */
  write(item: unknown, origin?: string): boolean;
}

/**
 * Writes rows of items as `postRowWriter` those of posts in a file. Absent where columns are not all of posts, or
 * WebAssembly gets no memory.
 */
export function itemWriter<C extends Cells>(
  call: string,
  columns: CheckedColumns,
  invalid: InvalidValues,
  cells: (spans: MemberSpans) => C,
): ItemWriter<C> | undefined {
  const names = postColumnNames(columns);
  const post = names && sharedPost();
  if (names === undefined || post === undefined) return undefined;
  const out = cells(post.spans);
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
