import { describe, expect, it } from 'vitest';
import { Flow } from '../../src/flow/flow.js';
import { mapAsync } from '../../src/operators/map-async.js';
import { all, until } from '../json/cut.js';
import { batchesOf, source } from './batches.js';

describe('mapAsync', () => {
  it('keeps the order of items and cursors, whichever call finishes first', async () => {
    const slow = mapAsync(
      async (n: number) => {
        for (let i = 0; i < 7 - n; i++) await new Promise(setImmediate);
        return n * 10;
      },
      { concurrency: 3 },
    );
    expect(await batchesOf(slow(source([[1, 2, 3], [], [4, 5]])))).toEqual([
      { items: [10, 20, 30], cursor: { next: 1 }, origin: 'here' },
      { items: [], cursor: { next: 2 }, origin: 'here' },
      { items: [40, 50], cursor: { next: 3 }, origin: 'here' },
    ]);
  });

  it.each<[string, (items: readonly number[]) => number[][]]>([
    ['within a batch', items => [[...items]]],
    ['across batches', items => items.map(n => [n])],
  ])(
    'runs exactly as many calls at a time as `concurrency` allows (%s)',
    async (_, batchesOfItems) => {
      let now = 0;
      let most = 0;
      const counted = mapAsync(
        async (n: number) => {
          most = Math.max(most, ++now);
          await new Promise(setImmediate);
          now--;
          return n;
        },
        { concurrency: 4 },
      );
      const items = Array.from({ length: 30 }, (_, n) => n);
      expect(await all(counted(source(batchesOfItems(items))))).toEqual(items);
      expect(most).toBe(4);
    },
  );

  describe('after a failed call', () => {
    const failed = async () => {
      const failure = new Error('no');
      const started: number[] = [];
      const told: number[] = [];
      const state = { read: 0, open: 0, closed: 0 };
      const flow = mapAsync(
        async (n: number, signal: AbortSignal) => {
          started.push(n);
          signal.addEventListener('abort', () => told.push(n));
          if (n === 2) throw failure;
          await new Promise(setImmediate);
          return n;
        },
        { concurrency: 2 },
      )(source([[1, 2, 3, 4, 5, 6]], state));
      const { error } = await until(flow);
      return { failure, error, started, told, state };
    };

    it('ends the run with the first error, and closes the source', async () => {
      const { failure, error, state } = await failed();
      expect(error).toBe(failure);
      expect(state.closed).toBe(1);
    });

    it('starts no further calls', async () => {
      const { started } = await failed();
      const startedThen = started.length;
      await new Promise(resolve => setTimeout(resolve, 5));
      expect(started).toHaveLength(startedThen);
    });

    it('aborts the running calls', async () => {
      const { told } = await failed();
      await new Promise(resolve => setTimeout(resolve, 5));
      expect(told).toContain(1);
    });
  });
});

describe('mapAsync, when the run is aborted,', () => {
  it('ends immediately even if running calls ignore the signal', async () => {
    const reason = new Error('enough');
    const controller = new AbortController();
    const state = { read: 0, open: 0, closed: 0 };
    const stuck = mapAsync(() => new Promise<never>(() => {}))(source([[1], [2]], state));
    const run = batchesOf(new Flow(at => stuck.batches({ ...at, signal: controller.signal })));
    setImmediate(() => controller.abort(reason));
    await expect(run).rejects.toBe(reason);
    expect(state.closed).toBe(1);
  });

  it('causes no unhandled rejection if a call fails after the abort', async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', onUnhandled);
    const controller = new AbortController();
    const late = mapAsync(async (n: number) => {
      controller.abort(new Error('enough'));
      await new Promise(setImmediate);
      throw new Error(`late ${n}`);
    });
    const flow = new Flow(at =>
      late(source([[1], [2], [3]])).batches({ ...at, signal: controller.signal }),
    );
    await expect(batchesOf(flow)).rejects.toThrow('enough');
    await new Promise(resolve => setTimeout(resolve, 5));
    process.off('unhandledRejection', onUnhandled);
    expect(unhandled).toEqual([]);
  });
});
