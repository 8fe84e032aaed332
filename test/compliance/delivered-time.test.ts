import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DeliveredTime } from '../../src/compliance/delivered-time.js';

describe('the time up to which a connection has delivered every event', () => {
  it('is not ahead of an event that is still on its way, however late the stream is', () => {
    const step = fc.record({
      /** Until the event happens, and then until it arrives. */
      pauseMs: fc.nat(30_000),
      lateMs: fc.nat(3_600_000),
      /** Bytes of the same event before its last ones. */
      parts: fc.nat(6),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 30 }), steps => {
        const start = 1_700_000_000_000;
        let [happened, now] = [start, start];
        // In order, as one connection sends them; each as late as it is, and not before the one before it.
        const events = steps.map(({ pauseMs, lateMs, parts }) => {
          happened += pauseMs;
          now = Math.max(now, happened + lateMs);
          return { at: happened, arrives: now, parts };
        });
        // A reader that has been busy all the time cannot tell that nothing is on its way.
        const delivered = new DeliveredTime({ now: start, elapsed: 0 });
        for (const { at, arrives, parts } of events) {
          const instant = { now: arrives, elapsed: 0 };
          for (let part = 0; part <= parts; part++) {
            const until = delivered.afterBytes(part === 0, instant) ?? start;
            expect(until).toBeLessThanOrEqual(at);
          }
          expect(delivered.afterEvents([{ at: new Date(at) }], instant)).toBe(at);
        }
      }),
    );
  });

  it('follows the clock while only heartbeats come', () => {
    const delivered = new DeliveredTime({ now: 0, elapsed: 0 });
    const times = Array.from({ length: 8 }, (_, n) => {
      const at = (n + 1) * 10_000;
      return delivered.afterBytes(true, { now: at, elapsed: at });
    });
    expect(times).toEqual([undefined, undefined, undefined, undefined, 0, 10_000, 20_000, 30_000]);
  });

  it('does not follow it while a record comes in parts', () => {
    const delivered = new DeliveredTime({ now: 0, elapsed: 0 });
    const times = Array.from({ length: 8 }, (_, n) => {
      const at = (n + 1) * 10_000;
      return delivered.afterBytes(n < 2, { now: at, elapsed: at });
    });
    expect(times.slice(4)).toEqual([0, 10_000, 10_000, 10_000]);
  });

  it('does not follow bytes that wait for a reader, which come at once', () => {
    const delivered = new DeliveredTime({ now: 0, elapsed: 0 });
    const late = { now: 3_600_000, elapsed: 3_600_000 };
    const times = Array.from({ length: 9 }, () => delivered.afterBytes(true, late));
    // The first of them shows that all before was delivered, and no other one shows more.
    expect(times.filter(time => time !== undefined)).toEqual([0]);
  });

  it('is not in the future, and unknown where no event has a time', () => {
    const delivered = new DeliveredTime({ now: 0, elapsed: 0 });
    const instant = { now: 5, elapsed: 5 };
    expect(delivered.afterEvents([{ at: new Date(9) }, { at: undefined }], instant)).toBe(5);
    expect(delivered.afterEvents([{ at: undefined }], instant)).toBeUndefined();
  });
});
