import type { Cursor, Run } from '../flow/flow.js';
import type { DecodedFile } from './decoded-file.js';

// The interface between a source of whole files and the engine.

/**
 * The bytes of a file. They are transferred to the thread that decodes them, and back, without a copy, so
 * they must not share their memory with anything else. If the thread ends, the bytes are lost, and the
 * content is empty.
 */
export interface FileContent {
  bytes: Buffer;
}

/** A file on disk. A thread reads it by its path, and the main thread reads it with the function. */
export interface FileOnDisk {
  readonly path: string;
  /** The size when the file was listed. If the file has become shorter, it is refused. */
  readonly size: number;
  read(): Promise<Buffer>;
}

/** A whole file, either on disk or in memory. */
export interface StoredFile {
  readonly file: FileOnDisk | FileContent;
  /** The path or URL, for error messages. */
  readonly origin: string;
}

/** The interface of the engine for a source. */
export interface Decoder {
  /** The number of files to start decoding before the first is read. */
  readonly ahead: number;
  /** Whether threads hold the decoded files. Known after `expect`. */
  readonly inThreads: boolean;
  /** Announces the files of a source before the first is decoded. Starts threads if there is enough to decode. */
  expect(files: { readonly count: number; readonly bytes: number }): void;
  /**
   * Decodes a file. Resolves to `undefined` if the stages must process it in blocks. Files are decoded in the
   * order of the calls, and a thread holds each file until it is released. Therefore the reader of a file
   * must not wait for a later file.
   */
  decode(file: StoredFile): Promise<DecodedFile | undefined>;
}

/** A file of a source, either decoded or as bytes. */
export interface SourceFile {
  readonly origin?: string | undefined;
  /** The cursor after the file. */
  readonly cursor: Cursor;
  readonly decoded?: DecodedFile | undefined;
  /** The bytes of a file that is not decoded. Absent if only the cursor has changed. */
  readonly blocks?: AsyncIterable<Uint8Array> | undefined;
}

/** A source of whole files: delivers the files of a run in order. Without a decoder, it delivers their bytes. */
export type FileSource = (run: Run, decoder: Decoder | undefined) => AsyncIterable<SourceFile>;
