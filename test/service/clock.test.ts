import { describe, expect, it, vi } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { DAY, HOUR, MINUTE } from '../../src/base/time.js';
import { Clock } from '../../src/service/clock.js';

function thrown(call: () => void): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('the adjustable clock of the local service', () => {
  it('runs in real time until it is moved', () => {
    const clock = new Clock();
    const before = Date.now();
    const now = clock.now();
    expect(now).toBeGreaterThanOrEqual(before);
    expect(now).toBeLessThanOrEqual(Date.now());
  });

  it('continues to run after it is set', async () => {
    const clock = new Clock();
    const instant = Date.UTC(2012, 0, 1);
    clock.set(instant);
    await new Promise(resolve => setTimeout(resolve, 20));
    expect(clock.now() - instant).toBeGreaterThanOrEqual(15);
    expect(clock.now() - instant).toBeLessThan(HOUR);
  });

  describe('after it is frozen and set', () => {
    const frozen = () => {
      const clock = new Clock();
      clock.freeze();
      clock.set(new Date('2012-01-01T00:00:00Z'));
      return clock;
    };

    it('does not run', async () => {
      const clock = frozen();
      await new Promise(resolve => setTimeout(resolve, 5));
      expect(clock.now()).toBe(Date.UTC(2012, 0, 1));
    });

    it('can still be moved', () => {
      const clock = frozen();
      clock.advance(15 * DAY);
      expect(clock.now()).toBe(Date.UTC(2012, 0, 16));
    });

    it('runs again after it is resumed', () => {
      const clock = frozen();
      clock.resume();
      expect(clock.frozen).toBe(false);
      expect(clock.now()).toBeGreaterThanOrEqual(Date.UTC(2012, 0, 1));
      expect(clock.now()).toBeLessThan(Date.UTC(2012, 0, 2));
    });

    it('returns to the system time when it is reset', () => {
      const clock = frozen();
      clock.resume();
      clock.reset();
      expect(Math.abs(clock.now() - Date.now())).toBeLessThan(HOUR);
    });
  });

  it('fires all alarms of a move in order of time, including alarms that other alarms set', () => {
    const clock = new Clock();
    clock.freeze();
    clock.set(0);
    const rung: string[] = [];
    clock.at(3 * HOUR, () => rung.push('third'));
    clock.at(HOUR, at => {
      rung.push('first');
      clock.at(at + HOUR, () => rung.push('second'));
    });
    const cancel = clock.at(90 * 60_000, () => rung.push('cancelled'));
    cancel();
    clock.advance(HOUR - 1);
    expect(rung).toEqual([]);
    clock.advance(DAY);
    expect(rung).toEqual(['first', 'second', 'third']);
  });

  it('fires alarms in real time while it is not frozen', async () => {
    const clock = new Clock();
    await new Promise<void>(resolve => clock.at(clock.now() + 10, () => resolve()));
  });

  it('reports each move before it fires alarms', () => {
    const clock = new Clock();
    clock.freeze();
    clock.set(HOUR);
    const told: (number | string)[] = [];
    const stop = clock.onMove(() => told.push(clock.now()));
    clock.at(2 * HOUR, () => told.push('rung'));
    clock.advance(-HOUR);
    clock.advance(3 * HOUR);
    stop();
    clock.reset();
    expect(told).toEqual([0, 3 * HOUR, 'rung']);
  });

  it('accepts the same instants as the control API', () => {
    const clock = new Clock();
    clock.freeze();
    const at = Date.UTC(2024, 0, 31);
    for (const instant of [
      '2024-01-31',
      '202401310000',
      '2024-01-31T01:00+01:00',
      new Date(at),
      at,
    ]) {
      clock.reset();
      clock.freeze();
      clock.set(instant);
      expect(clock.now()).toBe(at);
    }
    clock.set('2024-01-31T00:00');
    expect(clock.now()).toBe(at);
    clock.advance('31m');
    clock.advance('-1m');
    clock.advance(1);
    expect(clock.now()).toBe(at + 30 * MINUTE + 1);
  });

  it('interprets a time without an offset as UTC in any time zone of the machine', () => {
    vi.stubEnv('TZ', 'America/New_York');
    try {
      expect(new Date(2024, 0, 31).getTimezoneOffset()).toBe(300);
      const clock = new Clock();
      clock.freeze();
      for (const instant of ['2024-01-31', '2024-01-31T00:00', '2024-01-31 00:00:00.000']) {
        clock.set(instant);
        expect(clock.now()).toBe(Date.UTC(2024, 0, 31));
      }
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it.each<[unknown, RegExp]>([
    [Number.NaN, /`set` to be epoch milliseconds.*, got NaN$/],
    ['soon', /`set` .* ISO 8601 time such as .*, got "soon"$/],
    [undefined, /`set` .*, got undefined$/],
    [null, /`set` .*, got null$/],
    [[2024], /`set` .*, got 2024$/],
    [8.64e15, /from the year 1 to the year 9999$/],
  ])('rejects the instant %s and does not move', (instant, message) => {
    const clock = new Clock();
    clock.freeze();
    const before = clock.now();
    const error = thrown(() => clock.set(instant as string));
    expect(error).toBeInstanceOf(OptionError);
    expect((error as OptionError).message).toMatch(message);
    expect(clock.now()).toBe(before);
  });

  it.each([Number.POSITIVE_INFINITY, Number.NaN, 'a while', '5 years', null, {}])(
    'rejects an advance by %s and does not move',
    by => {
      const clock = new Clock();
      clock.freeze();
      const before = clock.now();
      const error = thrown(() => clock.advance(by as string));
      expect(error).toBeInstanceOf(OptionError);
      expect((error as OptionError).message).toContain('`advance` to be milliseconds or a time');
      expect(clock.now()).toBe(before);
    },
  );
});
