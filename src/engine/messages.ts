import type { ColumnChunk } from '../parquet/column-chunk.js';
import type { ParquetCompression } from '../parquet/page-codec.js';
import type { ColumnType } from '../tables/column.js';
import type { Decoding, Fields } from './decode-file.js';
import type { EncodedBlock, RowEncoding } from './encode-rows.js';
import type { RowFieldsData } from './row-fields.js';

/** What a worker is started with. */
export interface WorkerStart {
  readonly fields: Fields;
  /** How rows are encoded, where they are; a command names one by its index. */
  readonly encodings?: readonly RowEncoding[];
}

/** A file to decode, by its path or its bytes. */
export interface DecodeTask extends Decoding {
  readonly file: string | Uint8Array;
  /** The size of a file at a path when it was listed: one that has become shorter is refused. */
  readonly size?: number | undefined;
}

/** Columns of a row group: those of the same part of its blocks, in order. The parts are transferred. */
export interface ChunkTask {
  readonly types: readonly ColumnType[];
  readonly parts: readonly Uint8Array[];
  readonly compression: ParquetCompression;
}

/** Bytes of posts for one output: those of the rows from `from` to `to` in a list, each with a line feed. */
export interface WriteRange {
  /** An open file of this process. */
  readonly fd: number;
  readonly position: number;
  readonly from: number;
  readonly to: number;
}

/** What the main thread asks of a worker. `file` is a number that it has given to a file. */
export type ThreadCommand =
  | { readonly kind: 'decode'; readonly file: number; readonly task: DecodeTask }
  | {
      readonly kind: 'write';
      readonly file: number;
      readonly rows: Uint32Array;
      readonly ranges: readonly WriteRange[];
    }
  /**
   * Encodes posts in blocks, which are blocks of columns where the encoding says so: `ends` has the index in `rows`
   * behind the last of each.
   */
  | {
      readonly kind: 'encode';
      readonly encoding: number;
      readonly file: number;
      readonly rows: Uint32Array;
      readonly tags: Uint32Array | undefined;
      readonly tagNames: readonly string[] | undefined;
      readonly ends: readonly number[];
    }
  /** Encodes columns of a row group. */
  | { readonly kind: 'chunks'; readonly task: ChunkTask }
  /** Asks for a copy of some posts. */
  | { readonly kind: 'posts'; readonly file: number; readonly rows: Uint32Array }
  /** Puts other posts in the place of some. */
  | {
      readonly kind: 'replace';
      readonly file: number;
      readonly rows: Uint32Array;
      readonly posts: readonly Uint8Array[];
    }
  /** Asks for a copy of the content of a file. */
  | { readonly kind: 'copy'; readonly file: number }
  /** Transfers the content of a file. */
  | { readonly kind: 'send'; readonly file: number }
  /** Frees the content of a file. */
  | { readonly kind: 'free'; readonly file: number }
  /** Ends the thread after the commands before it. */
  | { readonly kind: 'end' };

/** What a worker answers, in the order of the commands; nothing to `replace`, `free` and `end`. */
export type ThreadReply =
  | {
      readonly kind: 'decoded';
      readonly file: number;
      readonly data: RowFieldsData;
      /** Records that are messages in place of posts. */
      readonly messages: readonly Uint8Array[];
      /** Size of the content. */
      readonly bytes: number;
      /** What the task had in place of a path. */
      readonly input: Uint8Array | undefined;
    }
  /** The file has to be read in another way. */
  | { readonly kind: 'refused'; readonly file: number; readonly input: Uint8Array | undefined }
  | { readonly kind: 'written'; readonly file: number; readonly failure: WriteFailure | undefined }
  /** The blocks; absent where a post cannot be encoded. */
  | {
      readonly kind: 'encoded';
      readonly file: number;
      readonly blocks: readonly EncodedBlock[] | undefined;
    }
  | { readonly kind: 'chunks'; readonly chunks: readonly ColumnChunk[] }
  | {
      readonly kind: 'posts';
      readonly file: number;
      readonly posts: readonly Uint8Array[];
    }
  | { readonly kind: 'sent'; readonly file: number; readonly bytes: Uint8Array };

/** A failed system call, as an error loses its code on the way between threads. */
export interface WriteFailure {
  /** Of the range. */
  readonly index: number;
  readonly message: string;
  readonly code: string | undefined;
  readonly errno: number | undefined;
  readonly syscall: string | undefined;
}
