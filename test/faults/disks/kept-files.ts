/** Files that something keeps on disk, and how a test writes and reads them. */
export interface KeptFiles {
  /** The word of the cells, and of the table in `src/storage/README.md`. */
  readonly name: string;
  /** What the files are called, below `MOUNT`: every file that is there in the end has one of these names. */
  readonly files: readonly RegExp[];
  /** What is there before the first step; survives any power cut. */
  readonly prepare?: (() => Promise<unknown>) | undefined;
  /** A process starts: new objects. */
  start(): Promise<Life> | Life;
  /** What a later process finds, to be compared. Reads as the library does, or by `storedFiles()`. */
  read(): Promise<unknown>;
  /**
   * Whether a state is a correct one between two steps, where they are not atomic: every file whole, for
   * example.
   */
  readonly isBetween?: ((state: unknown, before: unknown, after: unknown) => boolean) | undefined;
  /** A process that could not do a step does not try it again. */
  readonly endsAtFailure?: boolean | undefined;
}

/** One process. */
export interface Life {
  /** Each resolves once what it did survives a power cut. A step can be repeated. */
  readonly steps: readonly (() => Promise<unknown>)[];
  /** The process ends. */
  end?(): Promise<unknown>;
}
