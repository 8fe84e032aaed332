import { type Batch, type Cursor, Flow } from '../../src/flow/flow.js';
import type { Progress } from '../../src/flow/progress.js';

interface State {
  read: number;
  open: number;
  closed: number;
}

export function source<T>(
  batches: readonly (readonly T[])[],
  state: State = { read: 0, open: 0, closed: 0 },
): Flow<T> {
  return new Flow(async function* ({ resume }) {
    state.open++;
    try {
      for (let next = Number(resume?.next ?? 0); next < batches.length; next++) {
        state.read++;
        yield { items: batches[next]!, cursor: { next: next + 1 }, origin: 'here' };
      }
    } finally {
      state.closed++;
    }
  });
}

export async function batchesOf<T>(
  flow: Flow<T>,
  resume?: Cursor,
  progress?: Progress,
): Promise<Batch<T>[]> {
  const batches: Batch<T>[] = [];
  for await (const batch of flow.batches({ resume, progress })) batches.push(batch);
  return batches;
}
