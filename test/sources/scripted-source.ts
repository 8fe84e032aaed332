import { type Cursor, Flow } from '../../src/flow/flow.js';

export interface Step {
  readonly items: number;
  readonly cursor: boolean;
  readonly wait: 'none' | 'tick' | 'ms';
}

export interface SourceState {
  opened: number;
  closed: number;
  batches: number;
}

export const newState = (): SourceState => ({ opened: 0, closed: 0, batches: 0 });

export function scripted(name: string, steps: readonly Step[], state = newState()): Flow<string> {
  return new Flow(
    async function* ({ resume }) {
      state.opened++;
      try {
        const first = Number(resume?.step ?? 0);
        let item = steps.slice(0, first).reduce((sum, { items }) => sum + items, 0);
        for (let step = first; step < steps.length; step++) {
          const { items, cursor, wait } = steps[step]!;
          if (wait === 'tick') await new Promise(setImmediate);
          if (wait === 'ms') await new Promise(resolve => setTimeout(resolve, 1));
          state.batches++;
          const names = Array.from({ length: items }, () => `${name}:${item++}`);
          yield { items: names, cursor: cursor ? { step: step + 1 } : undefined, origin: name };
        }
      } finally {
        state.closed++;
      }
    },
    undefined,
    [{ step: name }],
  );
}

export function itemsOf(name: string, steps: readonly Step[]): string[] {
  const count = steps.reduce((sum, { items }) => sum + items, 0);
  return Array.from({ length: count }, (_, item) => `${name}:${item}`);
}

/**
 * Reads a flow like a sink with a checkpoint, with crashes. Each run ends after a number of
 * batches. It keeps only the items up to its last cursor, at which the next run resumes. The last
 * run reads to the end.
 */
export async function withCrashes<T>(flow: Flow<T>, crashes: readonly number[]): Promise<T[]> {
  const kept: T[] = [];
  let resume: Cursor | undefined;
  for (const limit of [...crashes, Number.POSITIVE_INFINITY]) {
    let held: T[] = [];
    let batches = 0;
    for await (const { items, cursor } of flow.batches({ resume })) {
      held.push(...items);
      if (cursor !== undefined) {
        kept.push(...held);
        held = [];
        resume = JSON.parse(JSON.stringify(cursor));
      }
      if (++batches >= limit) break;
    }
    if (limit === Number.POSITIVE_INFINITY) kept.push(...held);
  }
  return kept;
}
