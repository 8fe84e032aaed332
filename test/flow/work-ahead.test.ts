import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { workAhead } from '../../src/flow/work-ahead.js';

/** Waits this many turns of the event loop. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTurn();
}

describe('work ahead of its consumer', () => {
  it('gives each item with its result, in the order of the input, however long each takes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.option(fc.nat(3)), fc.nat(2)), { maxLength: 12 }),
        fc.integer({ min: 1, max: 5 }),
        async (items, limit) => {
          const work = ([takes]: readonly [number | null, number]) =>
            takes === null ? undefined : turns(takes).then(() => `took ${takes}`);
          const got: unknown[] = [];
          for await (const { item, result } of workAhead(items, work, limit)) {
            got.push([item, result]);
            await turns(item[1]);
          }
          expect(got).toEqual(
            items.map(item => [item, item[0] === null ? undefined : `took ${item[0]}`]),
          );
        },
      ),
      { numRuns: 50 },
    );
  });

  it('begins while the weight of what has begun is below the limit', async () => {
    const begun: number[] = [];
    const work = async (weight: number) => {
      begun.push(weight);
    };
    const ahead = workAhead([2, 2, 2, 9, 1], work, 5, weight => weight);
    await ahead.next();
    await turns(5);
    // The first is taken, so that the next three may come: before the last of them, four are begun.
    expect(begun).toEqual([2, 2, 2, 9]);
    await ahead.return();
  });

  it('throws the error of an item in its turn', async () => {
    const failure = new Error('failed');
    const work = (n: number) => (n === 2 ? Promise.reject(failure) : Promise.resolve(n));
    const got: number[] = [];
    const run = async () => {
      for await (const { item } of workAhead([0, 1, 2, 3], work, 10)) {
        await turns(3);
        got.push(item);
      }
    };
    await expect(run()).rejects.toBe(failure);
    expect(got).toEqual([0, 1]);
  });

  it('throws the error of the input after the items before it', async () => {
    const failure = new Error('failed');
    const input = (async function* () {
      yield 0;
      yield 1;
      throw failure;
    })();
    const got: number[] = [];
    const run = async () => {
      for await (const { item } of workAhead(input, async n => turns(n), 10)) got.push(item);
    };
    await expect(run()).rejects.toBe(failure);
    expect(got).toEqual([0, 1]);
  });

  it('closes its input when the consumer stops', async () => {
    let closed = false;
    const input = (async function* () {
      try {
        for (let n = 0; ; n++) yield n;
      } finally {
        closed = true;
      }
    })();
    for await (const { item } of workAhead(input, async n => n, 2)) if (item === 3) break;
    expect(closed).toBe(true);
  });
});
