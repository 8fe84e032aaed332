import type { RowEncoding } from '../../engine/encode-rows.js';
import type { ChunkTask } from '../../engine/messages.js';
import type { ColumnChunk } from '../../parquet/column-chunk.js';
import type { RowBlock } from '../../parquet/row-block.js';

/**
 * How the items of a sink become the bytes of its files: records that are appended one by one, or files
 * that an encoder builds.
 */
export type Format<T> = RecordFormat<T> | EncodedFormat<T>;

/**
 * Each item becomes one record, such as a line: a file can be cut after any record and continued.
 * It is written in blocks, which may be compressed.
 */
export interface RecordFormat<T> {
  /** The bytes of an item, without the line feed that is written after them. */
  encode(item: T, origin: string | undefined): Uint8Array;
  /** What each new file begins with, without its line feed; it counts in `maxBytes`, not as an item. */
  readonly header?: Uint8Array | undefined;
  /** How a thread does the same for posts, where it can. */
  readonly rows?: RowEncoding | undefined;
}

/**
 * Each file has an encoder with state, and cannot be continued after a crash. With a checkpoint, a commit
 * ends all open files, so the checkpoint lists only finished files, which have their final names.
 */
export interface EncodedFormat<T> {
  /** @param inThread Encodes columns in another thread; gives nothing where there is none. */
  encoder(inThread?: EncodeInThread): Encoder<T>;
  /** Memory of all encoders of a run together; beyond it the largest are flushed. */
  readonly maxHeldBytes: number;
  /** With a checkpoint, a file ends at this size where `maxBytes` is not given: a crash costs the files under way. */
  readonly committedBytes: number;
  /** With a checkpoint, files are committed once those that still get items have this number of them on average. */
  readonly committedItems: number;
  /** How a thread makes blocks of posts, where it can: then encoders have `addBlock`. */
  readonly rows?: RowEncoding | undefined;
}

/** Encodes columns of a row group. */
export type EncodeInThread = (task: ChunkTask) => Promise<readonly ColumnChunk[]> | undefined;

/** Builds one file. */
export interface Encoder<T> {
  /** Takes an item. */
  add(item: T, origin: string | undefined): void;
  /** Takes rows of a block that a thread makes. A block that fails makes `flush` and `end` fail. */
  addBlock?(rows: number, block: Promise<RowBlock>): void;
  /** How many rows `addBlock` may take before it is time to `flush`. */
  readonly room?: number;
  /** The same after a `flush`. */
  readonly maxRoom?: number;
  /** Estimated memory of the items added since the last `flush`, in bytes, without blocks. */
  readonly heldBytes: number;
  /** Whether it is time to `flush`, as when a row group is complete. */
  readonly full: boolean;
  /** The next bytes of the file: all that was added since the last call. */
  flush(): Uint8Array | Promise<Uint8Array>;
  /** The last bytes of the file, including all that was added since the last `flush`. */
  end(): Uint8Array | Promise<Uint8Array>;
}

export function isEncoded<T>(format: Format<T>): format is EncodedFormat<T> {
  return 'encoder' in format;
}
