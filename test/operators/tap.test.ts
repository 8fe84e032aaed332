import { describe, expect, it } from 'vitest';
import { pipeline } from '../../src/flow/pipeline.js';
import { tap } from '../../src/operators/tap.js';
import { collect } from '../../src/sinks/collect.js';
import { all } from '../json/cut.js';
import { source } from './batches.js';

describe('tap', () => {
  it('calls the function with each item, and forwards the item', async () => {
    const seen: number[] = [];
    expect(await all(tap<number>(n => seen.push(n))(source([[1, 2], [3]])))).toEqual([1, 2, 3]);
    expect(seen).toEqual([1, 2, 3]);
  });

  it('closes its source at an abort even if the promise of its function never settles', async () => {
    const stop = new AbortController();
    const look = () => {
      setImmediate(() => stop.abort(new Error('enough')));
      return new Promise(() => {});
    };
    const state = { read: 0, open: 0, closed: 0 };
    const run = pipeline(source([[1, 2]], state), tap<number>(look), collect(), {
      signal: stop.signal,
    });
    await expect(run).rejects.toThrow('enough');
    expect(state).toEqual({ read: 1, open: 1, closed: 1 });
  });
});
