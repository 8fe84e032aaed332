import type { RowEncoding } from '../../files/encode-rows.js';
import type { RunInThread } from '../../files/record-columns.js';
import type { EncodedBlock } from '../../files/rows.js';
import type { Buffers } from './buffers.js';

/** How the items of a sink become the bytes of its files. */
export interface Format<T, Entry extends FileEntry = FileEntry> {
  /**
   * What the encoder of a file takes for an item.
   *
   * @throws DataError for an item that does not fit, which the encoder may throw, too.
   */
  encode(item: T, origin: string | undefined): Entry;
  /** Begins to encode a file. */
  encoder(file: FileToEncode): Encoder<Entry>;
  /** Set where a file cannot be continued, as it has an end: a commit then ends all open files, and lists only such. */
  readonly wholeFiles?: WholeFiles | undefined;
  /** How a thread does the same for posts, where it can. */
  readonly rows?: RowEncoding | undefined;
}

/** What a file takes for an item. */
export interface FileEntry {
  /** How many bytes it takes in the file, without the line feed after it; 0 where that is not known before it is encoded. */
  readonly byteLength: number;
}

export interface WholeFiles {
  /** Memory of all encoders of a run together; beyond it the largest are flushed. */
  readonly maxHeldBytes: number;
  /** With a checkpoint, a file ends at this size where `maxBytes` is not given: a crash costs the files under way. */
  readonly committedBytes: number;
  /** With a checkpoint, files are committed once those that still get items have this number of them on average. */
  readonly committedItems: number;
}

/** What an encoder gets. */
export interface FileToEncode {
  /** Whether the file has nothing yet. */
  readonly isNew: boolean;
  /** Memory that is used again once the bytes in it are written. */
  readonly buffers: Buffers;
  /** Runs a task in another thread; returns `undefined` if there is none. */
  readonly inThread?: RunInThread | undefined;
}

/** Encodes one file. */
export interface Encoder<Entry> {
  /** Takes what `encode` has made of an item. */
  add(entry: Entry): void;
  /**
   * Takes rows of a block that a thread makes. A block that fails makes `flush` and `end` fail. Absent where blocks are
   * bytes of the file as they are.
   */
  addBlock?(rows: number, block: Promise<EncodedBlock>): void;
  /** How many rows `addBlock` may take before it is time to `flush`. */
  readonly room?: number;
  /** The same after a `flush`. */
  readonly maxRoom?: number;
  /** Memory of what was added since the last `flush`, in bytes, without blocks; an estimate will do. */
  readonly heldBytes: number;
  /** How many bytes of the file the next `flush` gives, where that is not `heldBytes`. */
  readonly size?: number;
  /** Whether it is time to `flush`. */
  readonly full: boolean;
  /** The next bytes of the file: all that was added since the last call. Their memory is no longer the encoder's. */
  flush(): Uint8Array | Promise<Uint8Array>;
  /** The last bytes of the file, including all that was added since the last `flush`. */
  end(): Uint8Array | Promise<Uint8Array>;
}
