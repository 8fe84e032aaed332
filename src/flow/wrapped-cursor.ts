import { OptionError } from '../errors.js';
import type { Json } from '../json/json.js';
import type { Cursor } from './flow.js';

export interface WrappedCursor {
  /** The operator's own part, as JSON; absent at the start. */
  readonly state: unknown;
  /** The cursor of the operator's input. */
  readonly inner: Cursor | undefined;
}

/** A cursor of an operator's input, with the state of the operator at that place. */
export function wrapCursor(
  operator: string,
  state: Json | { toJSON(): Json },
  inner: Cursor,
): Cursor {
  return { [operator]: state, inner };
}

/** Takes such a cursor apart again: the very one, or what a checkpoint kept of it. */
export function unwrapCursor(operator: string, resume: Cursor | undefined): WrappedCursor {
  if (resume === undefined) return { state: undefined, inner: undefined };
  const { [operator]: state, inner } = resume;
  if (state === undefined || !isObject(inner))
    throw new OptionError(
      'resume',
      `The place to go on from was kept by another pipeline, one without ${operator}() here. Run that one, or remove its checkpoint to begin anew`,
    );
  return { state: isObject(state) && hasJson(state) ? state.toJSON() : state, inner };
}

function isObject(value: unknown): value is Cursor {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function hasJson(value: object): value is { toJSON(): Json } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}
