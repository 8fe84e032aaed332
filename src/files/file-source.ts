import type { Cursor, Run } from '../flow/flow.js';
import type { DecodedFile } from './decoded-file.js';

// The interface between a source of whole files and the engine.

/**
 * The bytes of a file in memory. They are transferred to the thread that decodes them and back, without a
 * copy, so they must not share their memory with anything else. If the thread ends early, the bytes are lost
 * and `bytes` is empty.
 */
export interface FileContent {
  bytes: Buffer;
}

/** A file on disk. A thread reads it by its path. The main thread calls `read`. */
export interface FileOnDisk {
  readonly path: string;
  /**
   * The size of the file in bytes when it was listed. If the file is shorter when it is read, no thread
   * decodes it, and `read` rejects.
   */
  readonly size: number;
  read(): Promise<Buffer>;
}

export interface StoredFile {
  readonly file: FileOnDisk | FileContent;
  /** The path or URL, for error messages. */
  readonly origin: string;
}

/** The part of the engine that decodes the files of a source. */
export interface Decoder {
  /** How many files a source decodes ahead of the reader. */
  readonly ahead: number;
  /** Whether the contents of decoded files stay on worker threads. Read this only after calling `expect`. */
  readonly inThreads: boolean;
  /**
   * Announces the files of a source before the first file is decoded. Starts threads if there are enough
   * bytes to decode.
   */
  expect(files: { readonly count: number; readonly bytes: number }): void;
  /**
   * Decodes a file. Resolves to `undefined` if the stages must process the file in blocks. Files are decoded
   * in the order of the calls, and a thread holds each file until it is released. The reader of a file must
   * therefore not wait for a later file.
   */
  decode(file: StoredFile): Promise<DecodedFile | undefined>;
}

export interface SourceFile {
  readonly origin?: string | undefined;
  /** The cursor after the file. */
  readonly cursor: Cursor;
  readonly decoded?: DecodedFile | undefined;
  /**
   * The bytes of a file that is not decoded. If `decoded` is also absent, there is no file and only the
   * cursor has changed.
   */
  readonly blocks?: AsyncIterable<Uint8Array> | undefined;
}

/**
 * A source of whole files. It delivers the files of a run in order. If there is no decoder, it delivers the
 * bytes of the files.
 */
export type FileSource = (run: Run, decoder: Decoder | undefined) => AsyncIterable<SourceFile>;
