import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { DAY } from '../../../src/base/time.js';
import { Clock } from '../../../src/service/clock.js';
import { IdleTracker } from '../../../src/service/jobs/idle-tracker.js';

describe('IdleTracker, which tells when all tasks of the service wait,', () => {
  it('settles only when every task waits again', async () => {
    const clock = new Clock();
    clock.freeze();
    const idle = new IdleTracker(clock);
    const { signal } = new AbortController();
    const log: string[] = [];
    const start = clock.now();
    const work = idle.track(async () => {
      await idle.waitUntil(start + 10, signal);
      log.push('ten');
      await setTimeout(20);
      log.push('worked');
      await idle.waitUntil(start + 20, signal);
      log.push('twenty');
    });
    await idle.settled();
    expect(log).toEqual([]);
    clock.advance(10);
    await idle.settled();
    expect(log).toEqual(['ten', 'worked']);
    clock.advance(100);
    await idle.settled();
    expect(log).toEqual(['ten', 'worked', 'twenty']);
    await work;
  });

  it('settles after the requested time even if a task is still working', async () => {
    const idle = new IdleTracker(new Clock());
    let end: () => void = () => {};
    const work = idle.track(() => new Promise(resolve => (end = resolve)));
    await idle.settled(20);
    end();
    await work;
    await idle.settled();
  });

  it('rejects a waiting task with the reason when the service stops', async () => {
    const clock = new Clock();
    clock.freeze();
    const idle = new IdleTracker(clock);
    const stop = new AbortController();
    const reason = new Error('stop');
    const work = idle.track(() => idle.waitUntil(clock.now() + DAY, stop.signal));
    stop.abort(reason);
    await expect(work).rejects.toBe(reason);
    await expect(idle.track(() => idle.waitUntil(0, stop.signal))).rejects.toBe(reason);
    clock.advance(2 * DAY);
    await idle.settled();
  });
});
