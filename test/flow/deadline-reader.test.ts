import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { HOUR } from '../../src/base/time.js';
import { DeadlineReader } from '../../src/flow/deadline-reader.js';

function controlled() {
  const waiting: ((result: IteratorResult<number>) => void)[] = [];
  let closed = 0;
  const input: AsyncIterable<number> = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise(resolve => waiting.push(resolve)),
      return: async () => {
        closed++;
        return { done: true, value: undefined };
      },
    }),
  };
  return {
    input,
    give: (value: number) => waiting.shift()?.({ done: false, value }),
    closed: () => closed,
  };
}

describe('a reader with a deadline for each value', () => {
  it('returns a value that missed its deadline at the next call', async () => {
    const { input, give } = controlled();
    const timed = new DeadlineReader(input);
    expect(await timed.next(performance.now())).toBe('late');
    give(5);
    expect(await timed.next()).toEqual({ done: false, value: 5 });
  });

  it('keeps no timer after the value has arrived, so that the process can end', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { input, give } = controlled();
    const next = new DeadlineReader(input).next(performance.now() + HOUR);
    expect(vi.getTimerCount()).toBe(1);
    give(5);
    expect(await next).toEqual({ done: false, value: 5 });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('closes its input when it is closed before the end of the input', async () => {
    const { input, closed } = controlled();
    const timed = new DeadlineReader(input);
    await timed.next(performance.now());
    await timed.close();
    expect(closed()).toBe(1);
  });

  const failing = () => {
    const state = { closed: false };
    const timed = new DeadlineReader({
      [Symbol.asyncIterator]: () => ({
        next: () => Promise.reject(new Error('broken')),
        return: async () => {
          state.closed = true;
          return { done: true, value: undefined };
        },
      }),
    });
    return { timed, state };
  };

  it('throws the error of its input at the call that waits for it, not earlier', async () => {
    const { timed } = failing();
    await expect(timed.next()).rejects.toThrow('broken');
  });

  it('does not close an input that has failed', async () => {
    const { timed, state } = failing();
    await timed.next().catch(() => {});
    await timed.close();
    expect(state.closed).toBe(false);
  });
});
