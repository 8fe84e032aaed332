import type { RunInThread } from '../../files/record-columns.js';
import { itemWriter } from '../from-bytes/post-rows.js';
import { rowReader } from '../row-reader.js';
import type { CheckedColumns, InvalidValues } from '../table-options.js';
import {
  type ColumnChunk,
  type ColumnsToEncode,
  ENCODE_CHUNKS,
  encodeChunks,
} from './column-chunk.js';
import type { ParquetCompression } from './page-codec.js';
import { ParquetFile } from './parquet-file.js';
import { BlockCells, columnsOfPart, PARTS, type RowBlock, RowBlockBuilder } from './row-block.js';

export interface ParquetFormat {
  readonly columns: CheckedColumns;
  readonly addRow: RowAdder;
  readonly compression: ParquetCompression;
  readonly rowGroup: number;
}

type RowAdder = (rows: RowBlockBuilder, item: unknown, origin: string | undefined) => void;

/** An item that is passed to the encoder. Its size in bytes is unknown until the encoder reads its cells. */
export interface ItemToAdd {
  readonly item: unknown;
  readonly origin: string | undefined;
  readonly byteLength: 0;
}

export function itemToAdd(item: unknown, origin: string | undefined): ItemToAdd {
  return { item, origin, byteLength: 0 };
}

/**
 * Creates a function that adds the row of an item to a block.
 *
 * @throws DataError from the returned function, like `rowReader`.
 */
export function rowAdder(columns: CheckedColumns, invalid: InvalidValues): RowAdder {
  const read = rowReader('parquet', columns, invalid);
  const none = new RowBlockBuilder(columns.map(({ type }) => type));
  const posts = itemWriter('parquet', columns, invalid, strings => new BlockCells(none, strings));
  return (rows, item, origin) => {
    if (posts !== undefined) posts.out.rows = rows;
    if (posts?.write(item, origin) !== true) rows.add(read(item, origin));
  };
}

/**
 * Bytes of the file in chunks. The chunks of a row group are not joined, because that would take as much memory
 * again.
 */
type ByteChunks = readonly Uint8Array[];

interface RowGroup {
  readonly rows: number;
  readonly blocks: readonly (RowBlock | Promise<RowBlock>)[];
}

/**
 * The default maximum number of rows in a row group. A larger maximum needs more memory, because rows stay in
 * memory until their row group is complete.
 */
export const ROW_GROUP_ROWS = 100_000;

/**
 * Encodes the rows of a sink as a Parquet file. Holds the rows until a row group is complete, and then
 * encodes the row group column by column. A row group with blocks from other threads may be encoded in other
 * threads.
 */
export class ParquetEncoder {
  readonly #format: ParquetFormat;
  readonly #inThread: RunInThread | undefined;
  readonly #file: ParquetFile;
  /** The newest rows of the row group, which were added one by one. */
  readonly #rows: RowBlockBuilder;
  /** Blocks with the earlier rows of the row group. */
  #blocks: (RowBlock | Promise<RowBlock>)[] = [];
  #blockRows = 0;
  #builtBytes = 0;
  /** Resolves when the last row group that was passed to other threads is encoded. */
  #last: Promise<unknown> | undefined;

  constructor(format: ParquetFormat, inThread: RunInThread | undefined) {
    const { columns, compression } = format;
    this.#format = format;
    this.#inThread = inThread;
    this.#file = new ParquetFile(columns, compression);
    this.#rows = new RowBlockBuilder(columns.map(({ type }) => type));
  }

  get heldBytes(): number {
    return this.#builtBytes + this.#rows.bytes;
  }

  add({ item, origin }: ItemToAdd): void {
    this.#format.addRow(this.#rows, item, origin);
  }

  addBlock(rows: number, block: Promise<RowBlock>): void {
    this.#endBlock();
    // Prevents an unhandled rejection. Everything that waits for the row group fails with the same error.
    block.catch(() => {});
    this.#blocks.push(block);
    this.#blockRows += rows;
  }

  get room(): number {
    return this.maxRoom - this.#blockRows - this.#rows.rows;
  }

  get maxRoom(): number {
    return this.#format.rowGroup;
  }

  get full(): boolean {
    return this.room <= 0;
  }

  flush(): ByteChunks | Promise<ByteChunks> {
    return this.#encoded(pieces => pieces);
  }

  end(): ByteChunks | Promise<ByteChunks> {
    return this.#encoded(pieces => [...pieces, this.#file.footer()]);
  }

  #encoded(finish: (pieces: ByteChunks) => ByteChunks): ByteChunks | Promise<ByteChunks> {
    const group = this.#takeGroup();
    const { rows, blocks } = group;
    const write = (chunks: readonly ColumnChunk[]) =>
      finish(rows === 0 ? [] : this.#file.rowGroup(rows, chunks));
    if (this.#last === undefined && blocks.every(block => 'parts' in block))
      return write(this.#encodeHere(blocks as readonly RowBlock[]));
    const chunks = this.#encode(group);
    // Row groups are written in order, even if a later row group is encoded first.
    const bytes = Promise.all([chunks, this.#last]).then(([made]) => write(made));
    this.#last = bytes;
    return bytes;
  }

  async #encode({ blocks }: RowGroup): Promise<readonly ColumnChunk[]> {
    const made = await Promise.all(blocks);
    const chunks = await Promise.all(
      this.#columnsOf(made).map(
        columns => this.#inThread?.(ENCODE_CHUNKS, columns) ?? encodeChunks(columns),
      ),
    );
    return dealtBack(this.#types, chunks);
  }

  #encodeHere(blocks: readonly RowBlock[]): readonly ColumnChunk[] {
    return dealtBack(this.#types, this.#columnsOf(blocks).map(encodeChunks));
  }

  /**
   * Returns what to encode, split into at most `PARTS` groups of columns that can be encoded in parallel.
   * Returns an empty list if there are no rows.
   */
  #columnsOf(blocks: readonly RowBlock[]): readonly ColumnsToEncode[] {
    if (blocks.length === 0) return [];
    const types = this.#types;
    const { compression } = this.#format;
    return Array.from({ length: Math.min(PARTS, types.length) }, (_, part) => ({
      types: columnsOfPart(types, part),
      parts: blocks.map(({ parts }) => parts[part]!),
      compression,
    }));
  }

  get #types() {
    return this.#format.columns.map(({ type }) => type);
  }

  #takeGroup(): RowGroup {
    this.#endBlock();
    const group = { rows: this.#blockRows, blocks: this.#blocks };
    this.#blocks = [];
    this.#blockRows = 0;
    this.#builtBytes = 0;
    return group;
  }

  #endBlock(): void {
    const { rows } = this.#rows;
    if (rows === 0) return;
    this.#builtBytes += this.#rows.bytes;
    this.#blocks.push(this.#rows.take());
    this.#blockRows += rows;
  }
}

/**
 * Returns the column chunks in the order of the columns. `parts[n]` has the chunks of the columns `n`, `n +
 * PARTS`, `n + 2 * PARTS` and so on; see `columnsOfPart`.
 */
function dealtBack(
  types: readonly unknown[],
  parts: readonly (readonly ColumnChunk[])[],
): readonly ColumnChunk[] {
  if (parts.length === 0) return [];
  return types.map((_, index) => parts[index % PARTS]![Math.floor(index / PARTS)]!);
}
