import { type Compression, compressBlockSync } from '../gzip/compression.js';
import type { FileRecords } from './file-records.js';
import type { EncodedBlock, RowList, RowParts } from './rows.js';

/** Calls `use` with the position and the tag of each row in a range of a list. */
export type EachRow = (
  use: (content: Buffer, start: number, end: number, tag: string | undefined) => void,
) => void;

/**
 * Defines how a format encodes rows on the thread that has decoded them. `src/worker.ts` lists the kinds for
 * threads.
 */
export interface EncoderKind<Options = unknown> {
  /** The name of the kind in calls to threads. */
  readonly name: string;
  /**
   * Returns a function that encodes rows, either to the bytes of a file, which are compressed afterwards, or
   * to parts. That function throws a DataError for a value that the format cannot hold.
   */
  create(options: Options): (each: EachRow) => Uint8Array | RowParts;
  /** Whether the format needs threads after the last file, in order to assemble its parts. */
  readonly hasTasks: boolean;
}

/** The encoding of rows for one sink. */
export interface RowEncoding<Options = unknown> {
  /** The format of the rows. If absent, each row is the bytes of its record and a line feed. */
  readonly kind?: EncoderKind<Options> | undefined;
  /** The options of the kind, which are sent to threads. */
  readonly options?: Options;
  /** The compression of blocks of bytes. */
  readonly compression?: Compression | undefined;
}

/** Encodes a range of a list of rows as one block. */
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
    // Copies the bytes, so that they need only their own memory and do not share memory with the
    // content.
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

/** Encodes items on this thread, as the same bytes that a thread encodes of their rows. */
export interface ItemEncoder {
  /** The size of the encoded items since the last `take`, in bytes. */
  readonly byteLength: number;
  /** Encodes an item. @throws DataError for an item that cannot be encoded. Keeps the items before it. */
  add(item: unknown, origin?: string): void;
  /** Returns the bytes of the items since the last call. */
  take(): Buffer;
}

/**
 * How a function that encodes an item, and that this package has made, encodes many items without being
 * called for each.
 */
export class ItemEncoding {
  /** Creates an encoder on this thread. */
  readonly encoder: () => ItemEncoder;
  /** How a thread encodes the rows of posts, if it can. */
  readonly rows: RowEncoding | undefined;

  constructor(encoder: () => ItemEncoder, rows: RowEncoding | undefined) {
    this.encoder = encoder;
    this.rows = rows;
  }
}

/** Collects pieces of bytes, and joins them. */
export class JoinedBytes {
  byteLength = 0;
  #pieces: Buffer[] = [];

  add(bytes: Buffer): void {
    this.#pieces.push(bytes);
    this.byteLength += bytes.length;
  }

  /** Returns the bytes since the last call. */
  take(): Buffer {
    const pieces = this.#pieces;
    this.#pieces = [];
    this.byteLength = 0;
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  }
}
