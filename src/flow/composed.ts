import type { Argument } from './pipeline-arguments.js';

/** What `compose` has joined. */
interface Composed {
  readonly stages: readonly Argument[];
  readonly last: Argument;
}

const composed = new WeakMap<object, Composed>();

/** Remembers what `compose` has joined, so that `tee` finds the sink at the end of a branch. */
export function rememberComposed(joined: object, parts: Composed): void {
  composed.set(joined, parts);
}

/** The stages of a branch and the sink at its end. */
export function partsOf(branch: Argument): Composed {
  const parts = typeof branch.value === 'function' ? composed.get(branch.value) : undefined;
  if (parts === undefined) return { stages: [], last: branch };
  const { stages, last } = partsOf(parts.last);
  return { stages: [...parts.stages, ...stages], last };
}
