import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { map } from '../../src/operators/map.js';
import { all, until } from '../json/cut.js';
import { batchesOf, source } from './batches.js';

describe('map', () => {
  it('maps each item, and keeps the cursor and origin of its batch', async () => {
    expect(await batchesOf(map((n: number) => `${n}!`)(source([[1, 2], [], [3]])))).toEqual([
      { items: ['1!', '2!'], cursor: { next: 1 }, origin: 'here' },
      { items: [], cursor: { next: 2 }, origin: 'here' },
      { items: ['3!'], cursor: { next: 3 }, origin: 'here' },
    ]);
  });

  it('ends the run with the error that the function throws', async () => {
    const failure = new Error('no');
    const { error } = await until(
      map((n: number) => {
        if (n === 2) throw failure;
        return n;
      })(source([[1], [2]])),
    );
    expect(error).toBe(failure);
  });
});

describe('map with an async function', () => {
  it('throws an OptionError for the returned promise, even if it rejects', async () => {
    for (const promise of [() => Promise.resolve(1), () => Promise.reject(new Error('no'))]) {
      const error = await all(map(promise)(source([[1, 2]]))).catch(thrown => thrown);
      expect(error).toBeInstanceOf(OptionError);
      expect(error).toMatchObject({
        option: 'transform',
        message: expect.stringMatching(
          /^map: `transform` must not return a promise: use `mapAsync`/,
        ),
      });
    }
  });
});
