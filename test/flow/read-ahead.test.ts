import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { readAhead } from '../../src/flow/read-ahead.js';

/** Counts up, and how far it was asked. */
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

describe('results of a generator that are requested ahead', () => {
  it('come all, in order', async () => {
    for (const ahead of [1, 2, 7, 20]) {
      const { items } = await untilError(readAhead(numbers(9).input, ahead));
      expect(items).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    }
  });

  it('are as many before the first is read as it says', async () => {
    const { input, state } = numbers(9);
    const ahead = readAhead(input, 3);
    await nextTurn();
    expect(state.begun).toBe(3);
    await ahead.next();
    await nextTurn();
    expect(state.begun).toBe(4);
  });

  it('come before the error of the generator, which waits for its turn', async () => {
    const failure = new Error('failed');
    const ahead = readAhead(numbers(2, failure).input, 5);
    // An unhandled rejection would end the process now.
    await nextTurn();
    expect(await untilError(ahead)).toEqual({ items: [0, 1], error: failure });
  });
});
