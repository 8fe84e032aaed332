import type { Json } from '../../json/type-guards.js';

/** A finished file of `files`, under its final name. */
export interface WrittenFile {
  readonly path: string;
  readonly posts: number;
  /** Size on disk, after compression. */
  readonly bytes: number;
  /** What `onFile` resolved to, `null` for nothing; absent where it was not called, or has failed. */
  readonly handedOn?: Json | undefined;
}

/** What `files` or `stdout` has written, including earlier runs that this one resumed. */
export interface Written {
  /** Lines, one for each item: a post that is routed to two tags counts twice. */
  readonly posts: number;
  /** Bytes on disk, or handed to the stream. */
  readonly bytes: number;
  /** In the order of their creation; empty for a stream. */
  readonly files: readonly WrittenFile[];
  /** Where the checkpoint said that all is written, so that nothing was asked or opened: since when. */
  readonly completeSince?: Date | undefined;
  /**
   * With `damaged`: the records in its file, those of earlier runs included. Each branch of `tee` has those of all.
   */
  readonly damaged?: number | undefined;
  /** Of a flow with an `incremental` source: the lines of this run alone. 0 says that nothing was new. */
  readonly added?: number | undefined;
  /**
   * Of `localFiles` with `incremental`: files that changed after an earlier run read them, as `applyCompliance` changes
   * them, and that are not read again. Absent if there are none.
   */
  readonly changedFiles?: number | undefined;
}
