export const internals = Symbol('internals of millrace');

/**
 * Data that stages of this package share with each other. Objects that the caller created have none of these
 * members.
 */
export interface Internals {
  /**
   * The streams, generators, flows and stages from which the object was created. `closeHeld` closes them.
   */
  readonly parts?: readonly unknown[];
  /**
   * Set for a flow of records that this package has cut from bytes, as `jsonLines` does. Later stages then do
   * not check whether the items are records.
   */
  readonly isOfRecords?: boolean;
  /** The stages that `compose` has joined. `tee` uses them to find the sink at the end of a branch. */
  readonly composed?: ComposedStages;
  /** Set for a sink that holds locks. After an abort, the pipeline waits until the sink has released them. */
  readonly holdsLocks?: boolean;
  /**
   * Set for a sink that counts the items that it has written. For any other sink, an item counts as written
   * once the sink has read it.
   */
  readonly counts?: boolean;
  /** Set for a function that encodes one item: the `ItemEncoding` that encodes many items in the same way. */
  readonly encoding?: object;
  /**
   * Set for a file sink or `committed`: the `FileSink` or `CommittedSink` object that `tee` uses if the sink
   * ends a branch.
   */
  readonly branch?: object;
  /**
   * Set for the `FlowStep` of a source of files. Returns whether the source would read a file with this
   * absolute path if the file existed. False for a file that the caller has listed by its name.
   */
  readonly reads?: (file: string) => boolean;
  /**
   * Set for an error that comes from the way stages are combined and not from an item. It would occur for
   * every item, so the run ends with this error even if the option `damaged` is set.
   */
  readonly isAboutStages?: boolean;
}

export interface ComposedStages {
  readonly stages: readonly Argument[];
  readonly last: Argument;
}

/**
 * An argument of `pipeline`, `compose`, `merge`, `concat` or `tee`, with its position, which counts from 1.
 */
export interface Argument {
  readonly value: unknown;
  readonly position: number;
  /** The function that received the argument. @default 'pipeline' */
  readonly of?: 'pipeline' | 'compose' | 'merge' | 'concat' | 'tee' | undefined;
}

export function withInternals<Made extends object>(made: Made, more: Internals): Made {
  // The property is not enumerable. Otherwise, printing a flow would print everything from which it was
  // created.
  return Object.defineProperty(made, internals, {
    value: { ...internalsOf(made), ...more },
    configurable: true,
  });
}

export function internalsOf(value: unknown): Internals {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return NONE;
  const made: { readonly [internals]?: Internals } = value;
  return made[internals] ?? NONE;
}

const NONE: Internals = {};
