import { type Compression, compressBlockSync } from '../gzip/compress-block.js';
import { sharedPost } from '../post/bytes/spanned-post.js';
import { listColumns } from '../tables/columns.js';
import { CsvCells } from '../tables/csv/csv-cells.js';
import { csvRow } from '../tables/csv/csv-row.js';
import { type OfPost, postRowReader, postRowWriter } from '../tables/from-bytes/post-rows.js';
import { BlockCells, type RowBlock, RowBlockBuilder } from '../tables/parquet/row-block.js';
import type { PostColumnName } from '../tables/post-columns.js';
import type { InvalidValues } from '../tables/row-reader.js';
import type { FileContent } from './file-content.js';

/** How a sink writes posts, as a thread can do it too. */
export type RowEncoding = (
  | /** The bytes of each post, and a line feed. */
  { readonly kind: 'lines' }
  | {
      readonly kind: 'csv';
      readonly columns: readonly PostColumnName[];
      readonly invalidValues: InvalidValues;
      readonly escapesFormulas: boolean;
    }
  /** As blocks of columns, which row groups are made of. */
  | {
      readonly kind: 'parquet';
      readonly columns: readonly PostColumnName[];
      readonly invalidValues: InvalidValues;
    }
) & {
  /** How blocks of lines are compressed. */
  readonly compression?: Compression | undefined;
};

/** Rows of a file, and the tags that they are routed by. */
export interface RowList {
  readonly rows: Uint32Array;
  /** For each row, the index of its tag in `tagNames`; absent before `routeByTag`. */
  readonly tags?: Uint32Array | undefined;
  readonly tagNames?: readonly string[] | undefined;
}

/** Posts of a file that are encoded. */
interface EncodedRows extends RowList {
  readonly content: FileContent;
}

/** Rows as bytes of a file, in one part, or as a block of columns. */
export interface EncodedBlock extends RowBlock {
  /** Size of its lines before compression; 0 for columns, and for bytes of posts, whose size is known before. */
  readonly lineBytes: number;
}

/** Encodes the rows from `from` to `to` as one block. */
type EncodeRows = (posts: EncodedRows, from: number, to: number) => EncodedBlock;

/** @throws From what it returns: DataError, for a value that does not fit its column. */
export function rowsEncoder(encoding: RowEncoding): EncodeRows {
  if (encoding.kind === 'parquet') return columnsEncoder(encoding);
  const { kind, compression } = encoding;
  const encode = kind === 'lines' ? linesOf : csvEncoder(encoding);
  return (posts, from, to) => {
    const lines = encode(posts, from, to);
    const bytes = compression === undefined ? lines : compressBlockSync(lines, compression);
    const lineBytes = kind === 'lines' ? 0 : lines.length;
    // A copy has no more memory than it needs, and none of the content.
    return { rows: to - from, parts: [new Uint8Array(bytes)], lineBytes };
  };
}

function linesOf({ content, rows }: EncodedRows, from: number, to: number): Uint8Array {
  const pieces = content.lines(rows, from, to);
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
}

function csvEncoder(encoding: RowEncoding & { readonly kind: 'csv' }) {
  const { columns, invalidValues, escapesFormulas } = encoding;
  const post = sharedPost();
  if (post !== undefined) {
    const out = new CsvCells(post.spans, escapesFormulas);
    const write = postRowWriter('csv', columns, invalidValues, { post, out });
    return (posts: EncodedRows, from: number, to: number): Uint8Array => {
      out.clear();
      for (let index = from; index < to; index++) withRow(write, posts, index);
      return out.take();
    };
  }
  const read = postRowReader('csv', columns, invalidValues);
  return (posts: EncodedRows, from: number, to: number): Uint8Array => {
    let text = '';
    for (let index = from; index < to; index++)
      text += `${csvRow(withRow(read, posts, index), escapesFormulas)}\n`;
    return Buffer.from(text);
  };
}

function columnsEncoder(encoding: RowEncoding & { readonly kind: 'parquet' }): EncodeRows {
  const { columns, invalidValues } = encoding;
  const builder = new RowBlockBuilder(listColumns(columns).map(({ type }) => type));
  const post = sharedPost();
  const read = postRowReader('parquet', columns, invalidValues);
  const write: OfPost<void> =
    post === undefined
      ? (content, start, end, tag) => builder.add(read(content, start, end, tag))
      : postRowWriter('parquet', columns, invalidValues, {
          post,
          out: new BlockCells(builder, post.spans),
        });
  return (posts, from, to) => {
    builder.clear();
    for (let index = from; index < to; index++) withRow(write, posts, index);
    return { ...builder.take(), lineBytes: 0 };
  };
}

function withRow<T>(
  use: OfPost<T>,
  { content: { bytes, bounds }, rows, tags, tagNames }: EncodedRows,
  index: number,
): T {
  const { starts, lengths } = bounds;
  const start = starts[rows[index]!]!;
  return use(bytes, start, start + lengths[rows[index]!]!, tags && tagNames![tags[index]!]);
}
