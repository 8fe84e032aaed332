import { type Compression, compressBlockSync } from '../gzip/compression.js';
import type { FileRecords } from './file-records.js';
import type { EncodedBlock, RowList, RowParts } from './rows.js';

export type EachRow = (
  use: (content: Buffer, start: number, end: number, tag: string | undefined) => void,
) => void;

/**
 * Defines how an output format, such as CSV, encodes rows on the thread that has decoded them.
 * `src/worker.ts` lists all kinds that threads can use.
 */
export interface EncoderKind<Options = unknown> {
  /** The name by which threads look up this kind, because functions cannot be sent to a thread. */
  readonly name: string;
  /**
   * Returns a function that encodes rows. That function returns either uncompressed bytes to append to the
   * file, or separate parts from which the format assembles the file later. It throws a DataError if the
   * format cannot represent a value.
   */
  create(options: Options): (each: EachRow) => Uint8Array | RowParts;
  /**
   * Whether threads are still needed after the last file has been decoded, because they assemble the
   * `RowParts` of the format.
   */
  readonly hasTasks: boolean;
}

export interface RowEncoding<Options = unknown> {
  /** The format of the rows. If absent, each row is written as the bytes of its record and a line feed. */
  readonly kind?: EncoderKind<Options> | undefined;
  readonly options?: Options;
  /** How blocks of bytes are compressed. If absent, the blocks are not compressed. */
  readonly compression?: Compression | undefined;
}

/** Encodes the rows of `list` from index `from` up to, but not including, index `to` into one block. */
export type EncodeRows = (
  rows: FileRecords,
  list: RowList,
  from: number,
  to: number,
) => EncodedBlock;

export function rowsEncoder({ kind, options, compression }: RowEncoding): EncodeRows {
  const encode = kind?.create(options);
  return (rows, list, from, to) => {
    const made =
      encode === undefined
        ? linesOf(rows.lines(list.rows, from, to))
        : encode(use => eachRow(rows, list, from, to, use));
    if ('parts' in made) return { ...made, lineBytes: 0 };
    const bytes = compression === undefined ? made : compressBlockSync(made, compression);
    // Copies the bytes into separate memory. They are transferred to another thread, and transferring a view
    // would transfer the memory of the whole file.
    const parts = [new Uint8Array(bytes)];
    return { rows: to - from, parts, lineBytes: made.length };
  };
}

function linesOf(pieces: readonly Buffer[]): Uint8Array {
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
}

function eachRow(
  { content, starts, lengths }: FileRecords,
  { rows, tags, tagNames }: RowList,
  from: number,
  to: number,
  use: Parameters<EachRow>[0],
): void {
  for (let index = from; index < to; index++) {
    const row = rows[index]!;
    const start = starts[row]!;
    use(content, start, start + lengths[row]!, tags && tagNames![tags[index]!]);
  }
}

/** Encodes items on this thread, to the same bytes as a worker thread that encodes the rows of a file. */
export interface ItemEncoder {
  /** The size of the encoded items since the last `take`, in bytes. */
  readonly byteLength: number;
  /**
   * Encodes an item. If this fails, the items before it are kept.
   *
   * @throws DataError if the item cannot be encoded
   */
  add(item: unknown, origin?: string): void;
  take(): Buffer;
}

/**
 * Attached to the functions that `tables.toCsv` returns. Sinks then use this faster encoder instead of
 * calling the function for each item.
 */
export class ItemEncoding {
  readonly encoder: () => ItemEncoder;
  /** How a worker thread encodes the rows of posts. Absent if only this thread can encode the items. */
  readonly rows: RowEncoding | undefined;

  constructor(encoder: () => ItemEncoder, rows: RowEncoding | undefined) {
    this.encoder = encoder;
    this.rows = rows;
  }
}

export class JoinedBytes {
  byteLength = 0;
  #pieces: Buffer[] = [];

  add(bytes: Buffer): void {
    this.#pieces.push(bytes);
    this.byteLength += bytes.length;
  }

  take(): Buffer {
    const pieces = this.#pieces;
    this.#pieces = [];
    this.byteLength = 0;
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  }
}
