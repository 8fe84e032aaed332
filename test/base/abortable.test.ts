import { getEventListeners } from 'node:events';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { abortable, LinkedAbort, settledSoon } from '../../src/base/abortable.js';

describe('an abort signal', () => {
  it('has a listener of abortable() only while that call waits', async () => {
    const controller = new AbortController();
    let resolve = () => {};
    const work = new Promise<void>(done => {
      resolve = done;
    });
    const wait = abortable(work, controller.signal);
    expect(getEventListeners(controller.signal, 'abort').length).toBe(1);
    resolve();
    await wait;
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });

  it('leaves no timer of settledSoon() once the work has ended', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const controller = new AbortController();
    let resolve = () => {};
    const work = new Promise<void>(done => {
      resolve = done;
    });
    const wait = settledSoon(work, controller.signal);
    controller.abort();
    expect(vi.getTimerCount()).toBe(1);
    resolve();
    await wait;
    expect(vi.getTimerCount()).toBe(0);
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });

  it('aborts the signals linked to it until they are unlinked', () => {
    const { signal: other } = new AbortController();
    for (const isLinked of [true, false]) {
      const controller = new AbortController();
      const linked = new LinkedAbort(undefined, controller.signal, other);
      if (!isLinked) linked.unlink();
      controller.abort('reason');
      expect(linked.signal.reason).toBe(isLinked ? 'reason' : undefined);
      linked.unlink();
      expect(new LinkedAbort(controller.signal).signal.reason).toBe('reason');
    }
    expect(getEventListeners(other, 'abort')).toEqual([]);
  });
});
