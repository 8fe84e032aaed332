import fc from 'fast-check';
import { expect, it } from 'vitest';
import { WakeUp } from '../src/wait.js';

it('a reader that looks before it waits misses nothing, however its writer wakes it', async () => {
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

it('sleeps until the next call, not at one before', async () => {
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
