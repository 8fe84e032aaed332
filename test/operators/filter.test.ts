import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import type { Flow } from '../../src/flow/flow.js';
import { Progress } from '../../src/flow/progress.js';
import { filter } from '../../src/operators/filter.js';
import { all } from '../json/cut.js';
import { unchecked } from '../unchecked.js';
import { batchesOf, source } from './batches.js';

describe('filter', () => {
  it('keeps items that pass, with the cursor and origin of their batch', async () => {
    const flow = filter((item: string | number) => item !== 'a')(source([['a', 1], [2]]));
    expect(await batchesOf(flow)).toEqual([
      { items: [1], cursor: { next: 1 }, origin: 'here' },
      { items: [2], cursor: { next: 2 }, origin: 'here' },
    ]);
  });

  it('narrows the type of its items with a type guard', async () => {
    const strings: Flow<string> = filter(
      (item: string | number): item is string => typeof item === 'string',
    )(source([['a', 1], [2]]));
    expect(await batchesOf(strings)).toEqual([
      { items: ['a'], cursor: { next: 1 }, origin: 'here' },
      { items: [], cursor: { next: 2 }, origin: 'here' },
    ]);
  });

  it('counts dropped items under the name filter', async () => {
    const progress = new Progress();
    const strings = filter((item: string | number) => typeof item === 'string')(
      source([['a', 1], [2]]),
    );
    const none = filter((text: string | number) => text !== 'a', { name: 'a' })(strings);
    expect(await batchesOf(none, undefined, progress)).toEqual([
      { items: [], cursor: { next: 1 }, origin: 'here' },
      { items: [], cursor: { next: 2 }, origin: 'here' },
    ]);
    expect(Object.fromEntries(progress.dropped)).toEqual({ filter: 2, a: 1 });
  });

  it.each([
    ['an async function', async () => false],
    ['a promise that rejects', () => Promise.reject(new Error('no answer'))],
    // biome-ignore lint/suspicious/noThenProperty: the promise of another library
    ['an object with a `then`', () => ({ then: (resolve: () => void) => resolve() })],
  ])('refuses %s as its test function', async (_name, test) => {
    const flow = filter<number>(unchecked<() => boolean>(test))(source([[1, 2]]));
    const error = await all(flow).catch(thrown => thrown);
    expect(error).toBeInstanceOf(OptionError);
    expect(error).toMatchObject({
      option: 'test',
      message: expect.stringMatching(/^filter: `test` must return true/),
    });
  });

  it('accepts an untyped test function that returns values other than true and false', async () => {
    const length = (text: string) => unchecked<boolean>(text.length);
    expect(await all(filter(length)(source([['', 'a'], ['']])))).toEqual(['a']);
  });
});
