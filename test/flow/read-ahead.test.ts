import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readAhead, workAhead } from '../../src/flow/read-ahead.js';
import { bySuite } from '../suite.js';

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTurn();
}

describe('workAhead', () => {
  it('delivers each item with its result in input order, however long each takes', async () => {
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
      { numRuns: bySuite(13, 50) },
    );
  });

  it('starts more work only while the total weight of the items in progress is below the limit', async () => {
    const begun: number[] = [];
    const work = async (weight: number) => {
      begun.push(weight);
    };
    const ahead = workAhead([2, 2, 2, 9, 1], work, 5, weight => weight);
    await ahead.next();
    await turns(5);
    // After the first item is taken, items with a weight of 2 + 2 are in progress. That is less
    // than 5, so the item with a weight of 9 may start too.
    expect(begun).toEqual([2, 2, 2, 9]);
    await ahead.return();
  });

  it('throws the error of an item only when that item is next in order', async () => {
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

  it('delivers the items that precede an error of the input, and then throws it', async () => {
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

  it('starts no more work after the consumer has stopped', async () => {
    const begun: number[] = [];
    const work = async (n: number) => {
      begun.push(n);
    };
    for await (const _ of workAhead([0, 1, 2, 3, 4, 5], work, 2)) break;
    const { length } = begun;
    await turns(5);
    expect(begun).toHaveLength(length);
    expect(length).toBeLessThan(5);
  });
});

function numbers(end: number, failure?: Error) {
  const state = { begun: 0, closed: false };
  const input = (async function* () {
    try {
      for (let n = 0; n < end; n++) {
        state.begun++;
        yield n;
      }
      if (failure !== undefined) throw failure;
    } finally {
      state.closed = true;
    }
  })();
  return { input, state };
}

async function untilError(read: AsyncGenerator<number>) {
  const items: number[] = [];
  try {
    for await (const item of read) items.push(item);
  } catch (error) {
    return { items, error };
  }
  return { items, error: undefined };
}

describe('readAhead', () => {
  it('delivers all items in order', async () => {
    for (const ahead of [1, 2, 7, 20]) {
      const { items } = await untilError(readAhead(numbers(9).input, ahead));
      expect(items).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    }
  });

  it('reads the given number of items before the first item is requested', async () => {
    const { input, state } = numbers(9);
    const ahead = readAhead(input, 3);
    await nextTurn();
    expect(state.begun).toBe(3);
    await ahead.next();
    await nextTurn();
    expect(state.begun).toBe(4);
  });

  it('delivers the items that precede an error of its input, and then throws it', async () => {
    const failure = new Error('failed');
    const ahead = readAhead(numbers(2, failure).input, 5);
    // If nothing handled the rejection, the process would end in this turn.
    await nextTurn();
    expect(await untilError(ahead)).toEqual({ items: [0, 1], error: failure });
  });

  it('does not wait for a pending item when the consumer stops', async () => {
    const input = (async function* () {
      yield 0;
      await new Promise(() => {});
    })();
    for await (const item of readAhead(input, 2)) {
      expect(item).toBe(0);
      break;
    }
  });
});
