/** The key of the internal data of a flow, operator, sink, function or error that this package created. */
export const internals = Symbol('internals of millrace');

/** Data that stages of this package share. All members are absent on objects that the caller created. */
export interface Internals {
  /** The streams, generators, flows and stages that the object was made of. They are closed together with it. */
  readonly parts?: readonly unknown[];
  /**
   * Set for a flow whose items were cut by framers. They are known to be records, so stages do not check them
   * again.
   */
  readonly isOfRecords?: boolean;
  /** The stages that `compose` has joined. `tee` uses it to find the sink at the end of a branch. */
  readonly composed?: ComposedStages;
  /** Set for a sink that holds locks. After an abort, the pipeline waits until the sink has released them. */
  readonly holdsLocks?: boolean;
  /**
   * Set for a sink that counts the items that it writes. For other sinks, each item that they have read
   * counts as written.
   */
  readonly counts?: boolean;
  /** Set for a function that encodes an item: how it encodes many at once, an `ItemEncoding`. */
  readonly encoding?: object;
  /** How `tee` runs a sink as a branch, such as a `FileSink`. */
  readonly branch?: object;
  /** Set for an error about the way stages were combined. Every item would cause the same error. */
  readonly isAboutStages?: boolean;
}

/** The stages of a composed operator or sink, with the last stage separately. */
export interface ComposedStages {
  readonly stages: readonly Argument[];
  readonly last: Argument;
}

/** An argument of `pipeline`, `compose`, `merge`, `concat` or `tee`, with its position, from 1. */
export interface Argument {
  readonly value: unknown;
  readonly position: number;
  /** The call that has the argument. @default 'pipeline' */
  readonly of?: 'pipeline' | 'compose' | 'merge' | 'concat' | 'tee' | undefined;
}

/** Adds internal data to an object that this package has created. Returns the object. */
export function withInternals<Made extends object>(made: Made, more: Internals): Made {
  // The property is not enumerable, because printing a flow would otherwise print everything it was
  // made of.
  return Object.defineProperty(made, internals, {
    value: { ...internalsOf(made), ...more },
    configurable: true,
  });
}

/** The internal data of a value; empty if the caller created the value. */
export function internalsOf(value: unknown): Internals {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return NONE;
  const made: { readonly [internals]?: Internals } = value;
  return made[internals] ?? NONE;
}

const NONE: Internals = {};
