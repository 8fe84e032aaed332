import type { Cursor, Run } from '../flow/flow.js';
import type { DecodedFile } from './decoded-file.js';

// What a source of whole files and the engine have to do with each other.

/**
 * The bytes of a file. They move to the thread that decodes them, and back, without a copy, so they must have their
 * memory to themselves. If the thread ends, they are lost: then they are empty.
 */
export interface FileContent {
  bytes: Buffer;
}

/** A file on disk. A thread reads it by its path, the main thread by the function. */
export interface FileOnDisk {
  readonly path: string;
  /** When it was listed: one that has become shorter is refused. */
  readonly size: number;
  read(): Promise<Buffer>;
}

/** A whole file. */
export interface StoredFile {
  readonly file: FileOnDisk | FileContent;
  /** The path or URL, for error messages. */
  readonly origin: string;
}

/** What the engine gives to a source. */
export interface Decoder {
  /** The number of files to start decoding before the first is read. */
  readonly ahead: number;
  /** Whether threads hold what is decoded; known after `expect`. */
  readonly inThreads: boolean;
  /** Announces the files of a source before its first. Threads start if there is enough to decode. */
  expect(files: { readonly count: number; readonly bytes: number }): void;
  /**
   * Decodes a file. Resolves to `undefined` where the stages must process it in blocks. Files are decoded in the
   * order of the calls, and a thread holds each until it is released. The reader of a file must
   * therefore not wait for a later one.
   */
  decode(file: StoredFile): Promise<DecodedFile | undefined>;
}

/** A file of a source: decoded, or its bytes. */
export interface SourceFile {
  readonly origin?: string | undefined;
  /** The cursor after the file. */
  readonly cursor: Cursor;
  readonly decoded?: DecodedFile | undefined;
  /** The bytes of a file that is not decoded; absent where only the cursor has changed. */
  readonly blocks?: AsyncIterable<Uint8Array> | undefined;
}

/** A source of whole files: delivers the files of a run in order. Without a decoder, it delivers their bytes. */
export type FileSource = (run: Run, decoder: Decoder | undefined) => AsyncIterable<SourceFile>;
