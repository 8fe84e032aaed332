import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { type Cursor, Flow } from '../../src/flow/flow.js';
import { Progress } from '../../src/flow/progress.js';
import { take } from '../../src/operators/take.js';
import { all } from '../json/cut.js';
import { batchesOf, source } from './batches.js';

function flowFrom<T>(flow: Flow<T>, resume: Cursor | undefined): Flow<T> {
  return new Flow(run => flow.batches({ ...run, resume }));
}

describe('take', () => {
  it.each([
    [0, [], 0],
    [1, [1], 1],
    [2, [1, 2], 1],
    [3, [1, 2, 3], 2],
    [9, [1, 2, 3, 4], 3],
  ])('delivers the first %i items and then stops reading', async (count, items, read) => {
    const state = { read: 0, open: 0, closed: 0 };
    expect(await all(take<number>(count)(source([[1, 2], [3], [4]], state)))).toEqual(items);
    expect(state).toEqual({ read, open: Math.min(read, 1), closed: Math.min(read, 1) });
  });

  it('closes its source before the last item is processed', async () => {
    const state = { read: 0, open: 0, closed: 0 };
    const seen: number[] = [];
    for await (const item of take<number>(2)(source([[1], [2], [3]], state))) {
      seen.push(item);
      expect(state.closed).toBe(item === 2 ? 1 : 0);
    }
    expect(seen).toEqual([1, 2]);
  });

  it('counts the items that were delivered before a resume towards its limit', async () => {
    const state = { read: 0, open: 0, closed: 0 };
    const flow = take<number>(3)(source([[1, 2], [3, 4], [5]], state));
    const [first, last] = await batchesOf(flow);
    expect(await all(flowFrom(flow, first?.cursor))).toEqual([3]);
    state.open = 0;
    expect(await all(flowFrom(flow, JSON.parse(JSON.stringify(last?.cursor))))).toEqual([]);
    expect(state.open).toBe(0);
  });

  it('counts as dropped the items of the last batch that it does not deliver', async () => {
    const progress = new Progress();
    for await (const _ of take<number>(4)(source([[1, 2], [3], [4, 5, 6]])).batches({ progress }));
    expect([...progress.dropped]).toEqual([['take', 2]]);
  });

  it('throws an OptionError for a wrong count and for the cursor of another operator', async () => {
    for (const count of [-1, 1.5, Number.NaN]) expect(() => take(count)).toThrow(OptionError);
    await expect(all(flowFrom(take(2)(source([[1]])), { next: 1 }))).rejects.toThrow(OptionError);
    await expect(all(flowFrom(take(2)(source([[1]])), { take: 'x', inner: {} }))).rejects.toThrow(
      /damaged.* take\(\).* to start again$/,
    );
  });
});
