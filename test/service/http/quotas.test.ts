import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/base/time.js';
import { Clock } from '../../../src/service/clock.js';
import { admit, checkRate, RateWindow } from '../../../src/service/http/quotas.js';

function frozenClock(at = Date.UTC(2024, 0, 1)): Clock {
  const clock = new Clock();
  clock.freeze();
  clock.set(at);
  return clock;
}

describe('a rate limit of the local service', () => {
  it('accepts its number of requests, and one more when the oldest request has left the window', () => {
    const clock = frozenClock();
    const window = new RateWindow({ requests: 2, perMs: SECOND }, clock);
    expect(admit([window])).toBeUndefined();
    clock.advance(400);
    expect(admit([window])).toBeUndefined();
    expect(admit([window])?.wait()).toBe(600);
    clock.advance(599);
    expect(admit([window])?.wait()).toBe(1);
    clock.advance(1);
    expect(admit([window])).toBeUndefined();
    expect(admit([window])?.wait()).toBe(400);
  });

  it('counts a request in all of its windows, or in none if one window is full', () => {
    const clock = frozenClock();
    const wide = new RateWindow({ requests: 3, perMs: HOUR }, clock);
    const narrow = new RateWindow({ requests: 1, perMs: SECOND }, clock);
    expect(admit([wide, narrow])).toBeUndefined();
    for (let i = 0; i < 10; i++) expect(admit([wide, narrow])).toBe(narrow);
    clock.advance(SECOND);
    expect(admit([wide, narrow])).toBeUndefined();
  });

  it('for a UTC day starts again at midnight', () => {
    const clock = frozenClock(Date.UTC(2024, 0, 1, 23, 59));
    const window = new RateWindow({ requests: 1, perMs: DAY, byDay: true }, clock);
    expect(admit([window])).toBeUndefined();
    expect(admit([window])?.wait()).toBe(60_000);
    clock.advance(60_000);
    expect(admit([window])).toBeUndefined();
  });

  it('forgets requests from the future when the clock is set back', () => {
    const clock = frozenClock();
    const window = new RateWindow({ requests: 1, perMs: SECOND }, clock);
    expect(admit([window])).toBeUndefined();
    clock.advance(-HOUR);
    expect(admit([window])).toBeUndefined();
  });

  it('suggests the wait until enough requests have left the window if it counts more than it allows', () => {
    const clock = frozenClock();
    const window = new RateWindow({ requests: 2, perMs: MINUTE }, clock);
    // The jobs of an earlier run of the service, which had a higher limit.
    for (const ageMs of [50 * SECOND, 40 * SECOND, 10 * SECOND]) window.count(clock.now() - ageMs);
    expect(window.wait()).toBe(20 * SECOND);
    clock.advance(window.wait());
    expect(admit([window])).toBeUndefined();
  });

  it('accepts no request if it is zero, and every request if it is infinite', () => {
    const clock = frozenClock();
    expect(admit([new RateWindow({ requests: 0, perMs: SECOND }, clock)])?.wait()).toBe(SECOND);
    const free = new RateWindow({ requests: Number.POSITIVE_INFINITY, perMs: SECOND }, clock);
    for (let i = 0; i < 100; i++) expect(admit([free])).toBeUndefined();
  });

  it('suggests a wait of at least 1 s', () => {
    const clock = frozenClock();
    const window = new RateWindow({ requests: 1, perMs: SECOND }, clock);
    checkRate([window], String);
    clock.advance(SECOND - 1);
    const message = () => {
      clock.advance(1);
      return 'full';
    };
    expect(() => checkRate([window], message)).toThrow(
      expect.objectContaining({ status: 429, headers: { 'Retry-After': '1' } }),
    );
  });

  it('accepts a request exactly if the request does not exceed the limit in any window', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 50 }),
        fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 60 }),
        (requests, perMs, steps) => {
          const clock = frozenClock();
          const window = new RateWindow({ requests, perMs }, clock);
          const admitted: number[] = [];
          for (const step of steps) {
            clock.advance(step);
            const now = clock.now();
            const recent = admitted.filter(time => time > now - perMs).length;
            const full = admit([window]);
            expect(full === undefined).toBe(recent < requests);
            if (full === undefined) admitted.push(now);
            else {
              const then = now + full.wait();
              expect(admitted.filter(time => time > then - perMs).length).toBeLessThan(requests);
              expect(admitted.filter(time => time > then - 1 - perMs).length).toBe(requests);
            }
          }
        },
      ),
    );
  });
});
