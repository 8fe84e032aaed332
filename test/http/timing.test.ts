import { describe, expect, it } from 'vitest';
import { ServiceClock } from '../../src/http/timing.js';

const NOW = Date.UTC(2024, 4, 15, 12, 0, 0, 400);

function clockAt(now = NOW) {
  const local = { ms: now };
  return { local, clock: new ServiceClock({ now: () => local.ms }) };
}

const dateOf = (ms: number) => new Date(ms).toUTCString();

describe('the estimated clock of the service', () => {
  it('equals the local clock until a response has a Date header', () => {
    const { clock } = clockAt();
    expect(clock.isKnownSince(0)).toBe(false);
    expect(clock.now()).toBe(NOW);
    clock.learn(dateOf(NOW - 3_600_000), NOW);
    expect(clock.isKnownSince(0)).toBe(true);
    expect(Math.abs(clock.now() - (NOW - 3_600_000))).toBeLessThanOrEqual(1000);
  });

  it('is known again only after another response, because the service clock may have been moved', () => {
    const { clock } = clockAt();
    clock.learn(dateOf(NOW), NOW);
    const { responses } = clock;
    expect(clock.isKnownSince(responses)).toBe(false);
    clock.learn(dateOf(NOW), NOW);
    expect(clock.isKnownSince(responses)).toBe(true);
  });

  it('stays the same while responses agree with it to the second', () => {
    const { clock, local } = clockAt();
    for (let step = 0; step < 50; step++) {
      local.ms += 137;
      clock.learn(dateOf(local.ms), local.ms - 60);
      expect(clock.now()).toBe(local.ms);
    }
  });

  it('follows a service clock that is moved', () => {
    const { clock, local } = clockAt();
    for (const offset of [86_400_000, -5_000_000, 0]) {
      clock.learn(dateOf(local.ms + offset), local.ms);
      local.ms += 10_000;
      expect(Math.abs(clock.now() - (local.ms + offset))).toBeLessThanOrEqual(1000);
    }
  });

  it('equals the local clock if a response has no readable Date', () => {
    const { clock } = clockAt();
    clock.learn(undefined, NOW);
    clock.learn('yesterday', NOW);
    expect(clock.isKnownSince(0)).toBe(true);
    expect(clock.now()).toBe(NOW);
  });

  it('equals the clock that the caller passes, if there is one', () => {
    const given = new ServiceClock({ now: () => NOW }, () => 7);
    given.learn(dateOf(NOW), NOW);
    expect([given.isKnownSince(given.responses), given.now()]).toEqual([true, 7]);
  });
});
