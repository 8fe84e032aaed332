/** A file as a sink left it. */
export interface WrittenFile {
  readonly path: string;
  readonly posts: number;
  /** On disk: compressed where the file is. */
  readonly bytes: number;
}

/** What a sink wrote, runs before a resume included. */
export interface Written {
  /** Lines, one an item: a post that was routed to two tags counts twice. */
  readonly posts: number;
  /** On disk, or handed to the stream. */
  readonly bytes: number;
  /** In the order in which they were begun; empty for a stream. */
  readonly files: readonly WrittenFile[];
}
