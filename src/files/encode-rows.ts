import { type Compression, compressBlockSync } from '../gzip/compression.js';
import type { FileRecords } from './file-records.js';
import type { EncodedBlock, RowList, RowParts } from './rows.js';

/** Calls `use` with the position of each row from one index up to another, and its tag. */
export type EachRow = (
  use: (content: Buffer, start: number, end: number, tag: string | undefined) => void,
) => void;

/** How a format encodes rows where they were decoded. `src/worker.ts` lists the kinds for threads. */
export interface EncoderKind<Options = unknown> {
  /** The name that threads know it by. */
  readonly name: string;
  /**
   * Returns what encodes rows: to bytes of a file, which are compressed afterwards, or to parts.
   *
   * @throws From what it returns: DataError, for a value that does not fit.
   */
  create(options: Options): (each: EachRow) => Uint8Array | RowParts;
  /** Whether the format needs threads after the last file, to assemble its parts. */
  readonly hasTasks: boolean;
}

/** How a sink encodes rows. */
export interface RowEncoding<Options = unknown> {
  /** Absent for the bytes of each record, and a line feed. */
  readonly kind?: EncoderKind<Options> | undefined;
  /** Sent to threads. */
  readonly options?: Options;
  /** How blocks of bytes are compressed. */
  readonly compression?: Compression | undefined;
}

/** Encodes the rows from one index of a list up to another as one block. */
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
    // A copy has no more memory than it needs, and none of the content.
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
