import { expect, it, vi } from 'vitest';
import { MAX_TIMER_MS, sleep } from '../../src/base/wait.js';

const { delays } = vi.hoisted(() => ({ delays: [] as number[] }));
// Only Node's timers are replaced, because a real sleep of this length takes weeks.
vi.mock('node:timers/promises', () => ({
  setTimeout: async (ms: number) => {
    delays.push(ms);
  },
}));

it('sleep lasts for its whole time if it is longer than a timer of Node can be', async () => {
  await sleep(2 * MAX_TIMER_MS + 5);
  expect(delays).toEqual([MAX_TIMER_MS, MAX_TIMER_MS, 5]);
});
