import { OptionError } from '../base/errors.js';
import { isRecord } from '../base/record.js';
import type { Json } from '../json/type-guards.js';
import type { Cursor } from './flow.js';

export interface WrappedCursor {
  /** The state of the operator as JSON. Absent if the run starts from the beginning. */
  readonly state: unknown;
  readonly inner: Cursor | undefined;
}

export function wrapCursor(
  operator: string,
  state: Json | { toJSON(): Json },
  inner: Cursor,
): Cursor {
  return { [operator]: state, inner };
}

export function unwrapCursor(operator: string, resume: Cursor | undefined): WrappedCursor {
  if (resume === undefined) return { state: undefined, inner: undefined };
  const { [operator]: state, inner } = resume;
  if (state === undefined || !isRecord(inner))
    throw new OptionError(
      'resume',
      `The cursor to resume from was saved by a pipeline without ${operator}() here. Run that pipeline, or remove its checkpoint to start again`,
    );
  return {
    state: isRecord(state) && hasJson(state) ? state.toJSON() : state,
    inner: inner as Cursor,
  };
}

function hasJson(value: object): value is { toJSON(): Json } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}
