import { describe, expect, it } from 'vitest';
import { tap } from '../../src/operators/tap.js';
import { all } from '../json/cut.js';
import { source } from './batches.js';

describe('tap', () => {
  it('calls the function with each item, and forwards the item', async () => {
    const seen: number[] = [];
    expect(await all(tap<number>(n => seen.push(n))(source([[1, 2], [3]])))).toEqual([1, 2, 3]);
    expect(seen).toEqual([1, 2, 3]);
  });
});
