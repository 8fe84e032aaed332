import fc from 'fast-check';
import { expect, it } from 'vitest';
import { backoffMs, WakeUp } from '../../src/base/wait.js';

it('a reader that checks for items before it awaits WakeUp.next misses no item', async () => {
  const turns = fc.array(fc.record({ items: fc.nat(3), pause: fc.boolean(), wakes: fc.nat(2) }));
  await fc.assert(
    fc.asyncProperty(turns, async script => {
      const wakeUp = new WakeUp();
      const waiting: number[] = [];
      let written = 0;
      let ended = false;
      const write = async () => {
        for (const { items, pause, wakes } of script) {
          for (let item = 0; item < items; item++) waiting.push(written++);
          for (let wake = 0; wake <= wakes; wake++) wakeUp.wake();
          if (pause) await new Promise(setImmediate);
        }
        ended = true;
        wakeUp.wake();
      };
      const read: number[] = [];
      const writing = write();
      while (waiting.length > 0 || !ended) {
        if (waiting.length === 0) await wakeUp.next();
        read.push(...waiting.splice(0));
      }
      await writing;
      expect(read).toEqual(Array.from({ length: written }, (_, item) => item));
    }),
  );
});

it('WakeUp.next waits for the next wake(), and ignores earlier ones', async () => {
  const wakeUp = new WakeUp();
  wakeUp.wake();
  let isAwake = false;
  const woken = wakeUp.next().then(() => {
    isAwake = true;
  });
  await new Promise(setImmediate);
  expect(isAwake).toBe(false);
  wakeUp.wake();
  await woken;
});

it('backoffMs doubles with each failure up to a maximum, and random jitter takes at most half of it', () => {
  const waits = (random: number) =>
    [1, 2, 3, 4, 5].map(failures => backoffMs(failures, { firstMs: 100, maxMs: 500, random }));
  expect(waits(0)).toEqual([50, 100, 200, 250, 250]);
  expect(waits(0.5)).toEqual([75, 150, 300, 375, 375]);
});
