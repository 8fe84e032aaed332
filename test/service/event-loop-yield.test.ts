import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { EventLoopYield } from '../../src/service/event-loop-yield.js';

describe('EventLoopYield', () => {
  it('lets the event loop serve other requests between any two of many tasks', async () => {
    let resumed = 0;
    let working = 10;
    const works = Array.from({ length: working }, async () => {
      for (let round = 0; round < 3; round++) {
        const work = new EventLoopYield();
        while (!work.isDue);
        await work.pause();
        resumed++;
      }
      working--;
    });
    let most = 0;
    while (working > 0) {
      const before = resumed;
      await setImmediate();
      most = Math.max(most, resumed - before);
    }
    await Promise.all(works);
    expect(resumed).toBe(30);
    expect(most).toBeLessThanOrEqual(2);
  });

  it('rejects with the reason of an aborted signal', async () => {
    const abort = new AbortController();
    const work = new EventLoopYield(abort.signal);
    abort.abort(new Error('stopped'));
    await expect(work.pause()).rejects.toThrow('stopped');
  });
});
