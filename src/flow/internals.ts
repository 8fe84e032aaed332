/** The key of the internal data of a flow, operator, sink or error that this package created. */
export const internals = Symbol('internals of millrace');

/** Data that stages of this package share. All members are absent for objects that the caller created. */
export interface Internals {
  /** The streams, generators, flows and stages that it was made of: they are closed with it. */
  readonly parts?: readonly unknown[];
  /** Set for a flow whose items are records as framers cut them: no stage checks them again. */
  readonly isOfRecords?: boolean;
  /** What `compose` has joined, so that `tee` finds the sink at the end of a branch. */
  readonly composed?: ComposedStages;
  /** Set for a sink that holds locks: after an abort, the pipeline waits until it has released them. */
  readonly holdsLocks?: boolean;
  /** Set for a sink that counts what it writes. For all others, what they have taken counts as written. */
  readonly counts?: boolean;
  /** How `tee` runs a sink as a branch, such as a `FileSink`. */
  readonly branch?: object;
  /** Set for an error about the stages that were put together: every item would give it. */
  readonly isAboutStages?: boolean;
}

/** The stages of a composed operator or sink, and the last one. */
export interface ComposedStages {
  readonly stages: readonly Argument[];
  readonly last: Argument;
}

/** An argument of `pipeline`, `compose`, `merge`, `concat` or `tee`, and its position, from 1. */
export interface Argument {
  readonly value: unknown;
  readonly position: number;
  /** @default 'pipeline' */
  readonly of?: 'pipeline' | 'compose' | 'merge' | 'concat' | 'tee' | undefined;
}

/** Adds to what is known of something that this package has made. Returns it. */
export function withInternals<Made extends object>(made: Made, more: Internals): Made {
  // Not enumerable: printing a flow does not print all that it was made of.
  return Object.defineProperty(made, internals, {
    value: { ...internalsOf(made), ...more },
    configurable: true,
  });
}

/** What is known of a value; nothing if it was made by the caller. */
export function internalsOf(value: unknown): Internals {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return NONE;
  const made: { readonly [internals]?: Internals } = value;
  return made[internals] ?? NONE;
}

const NONE: Internals = {};
