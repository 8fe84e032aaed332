export interface KeptFiles {
  /** The name in `npm run faults -- disks` and in the table of `src/storage/README.md`. */
  readonly name: string;
  /**
   * The names of the files below `MOUNT`. At the end of a trial, the name of every file must match
   * one of these patterns.
   */
  readonly files: readonly RegExp[];
  /**
   * Creates everything that must exist before the first step. The created files survive any power
   * cut.
   */
  readonly prepare?: (() => Promise<unknown>) | undefined;
  start(): Promise<Life> | Life;
  /**
   * Returns the data that a later process finds, for comparison. Reads it in the same way as the
   * library, or with `storedFiles()`.
   */
  read(): Promise<unknown>;
  /**
   * Returns whether a state in the middle of a step is valid, for example because every file in it
   * is complete. Only for steps that are not atomic.
   */
  readonly isBetween?: ((state: unknown, before: unknown, after: unknown) => boolean) | undefined;
  /** Whether the simulated process ends after a failed step. By default, it repeats the step. */
  readonly endsAtFailure?: boolean | undefined;
}

export interface Life {
  /** The steps. Each resolves when its result survives a power cut, and each can be repeated. */
  readonly steps: readonly (() => Promise<unknown>)[];
  end?(): Promise<unknown>;
}
