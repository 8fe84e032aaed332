import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DAY, HOUR, MINUTE, SECOND, type Window } from '../../src/base/time.js';
import { type ReplayEnd, ReplayMachine } from '../../src/replay/replay-machine.js';
import { TIMINGS } from '../../src/replay/replay-timings.js';

const NOW = Date.UTC(2024, 4, 15, 12);
const RATES = [{ requests: 5, perMs: 5 * MINUTE }];
const WINDOW: Window = { from: NOW - 5 * HOUR, to: NOW - 3 * HOUR };
const FIRST: Window = { from: WINDOW.from, to: WINDOW.from + 16 * MINUTE };

const machineOf = (window = WINDOW) => new ReplayMachine(window, { rates: RATES });
const at = (machine: ReplayMachine, now = NOW) => machine.next(now, now);
const minute = (n: number): number => FIRST.from + n * MINUTE;

function end(more: Partial<ReplayEnd> = {}): ReplayEnd {
  return {
    outcome: 'completed',
    activityCount: 7,
    minutesFailed: [],
    unprocessedRange: undefined,
    ...more,
  };
}

const got = (activities: number) => ({ activities, bytes: 0 });

const openOf = ({ state }: ReplayMachine) => state.open.map(({ from, to }) => ({ from, to }));

describe('the next step of the replay state machine', () => {
  it('is to finish when no range is open', () => {
    const machine = machineOf(FIRST);
    expect(machine.ended(FIRST, end(), got(7), NOW, 0.5)).toBe(true);
    expect(at(machine)).toEqual({ do: 'done' });
  });

  it('is to connect for the earliest open range, of at most 16 minutes', () => {
    expect(at(machineOf())).toEqual({ do: 'connect', range: FIRST });
  });

  it('is to connect after the minutes older than five days, which become a gap', () => {
    const from = NOW - 5 * DAY - 3 * MINUTE;
    const machine = machineOf({ from, to: from + 10 * MINUTE });
    expect(at(machine)).toMatchObject({ do: 'connect', range: { from: NOW - 5 * DAY } });
    expect(machine.state.gaps).toEqual([{ from, to: NOW - 5 * DAY, reason: 'expired' }]);
  });

  it('is to wait if the minutes are younger than 30 minutes', () => {
    const to = NOW - 20 * MINUTE;
    expect(at(machineOf({ from: to - 5 * MINUTE, to }))).toEqual({
      do: 'wait',
      ms: 10 * MINUTE,
      why: 'too recent',
    });
    const one = { from: NOW - 30 * MINUTE, to: NOW - 29 * MINUTE };
    expect(at(machineOf(one))).toMatchObject({ do: 'wait', ms: MINUTE });
  });

  describe.each([
    { second: 0, to: NOW - 30 * MINUTE },
    { second: 59, to: NOW - 30 * MINUTE },
    { second: 60, to: NOW - 29 * MINUTE },
  ])('$second s after the start of a minute', ({ second, to }) => {
    const now = NOW + second * SECOND;
    const machineWith = (firstChunkMs: number) => {
      const machine = new ReplayMachine(
        { from: NOW - 60 * MINUTE, to: NOW + HOUR },
        { rates: RATES, timings: { ...TIMINGS, firstChunkMs } },
      );
      machine.ended({ from: NOW - 60 * MINUTE, to: NOW - 59 * MINUTE }, end(), got(7), NOW, 0);
      return machine;
    };

    it('is to wait if some minutes of the next range are too recent', () => {
      expect(machineWith(HOUR).next(now, now)).toMatchObject({ do: 'wait', why: 'too recent' });
    });

    it('is to connect for the minutes that are at least 30 minutes old', () => {
      const machine = machineWith(16 * MINUTE);
      machine.ended({ from: NOW - 59 * MINUTE, to: NOW - 58 * MINUTE }, end(), got(7), NOW, 0);
      expect(machine.next(now, now)).toEqual({
        do: 'connect',
        range: { from: NOW - 58 * MINUTE, to },
      });
    });
  });

  it('is to connect, not to wait or report a gap, if the time of the service is unknown', () => {
    for (const from of [NOW - 9 * DAY, NOW + HOUR]) {
      const machine = machineOf({ from, to: from + HOUR });
      expect(machine.next(NOW, undefined)).toEqual({
        do: 'connect',
        range: { from, to: from + 16 * MINUTE },
      });
      expect(machine.state.gaps).toEqual([]);
    }
  });
});

/**
 * Runs a replay whose connections all complete and take no time. Returns the number of connections
 * and how long the replay has waited.
 */
function completed(minutes: number, machine = machineOf(pastOf(minutes))) {
  let now = NOW;
  const connects: number[] = [];
  const next = () => machine.next(now, now, connects);
  for (let action = next(); action.do !== 'done'; action = next()) {
    if (action.do === 'wait') now += action.ms;
    if (action.do !== 'connect') continue;
    connects.push(now);
    machine.ended(action.range, end(), got(7), now, 0.5);
  }
  return { connections: connects.length, ms: now - NOW };
}

const pastOf = (minutes: number): Window => ({
  from: NOW - 3 * HOUR - minutes * MINUTE,
  to: NOW - 3 * HOUR,
});

describe('a simulated replay in which every connection completes', () => {
  it('needs 7 connections and one wait for a window of a day', () => {
    expect(completed(24 * 60)).toEqual({ connections: 7, ms: 5 * MINUTE + SECOND });
  });

  it('needs one more connection for a window that is twice as long', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 * 24 * 60 - 180 }), minutes => {
        const { connections, ms } = completed(minutes);
        expect(connections).toBe(Math.ceil(Math.log2(minutes / 16 + 1)));
        expect(ms).toBe(connections > 5 ? 5 * MINUTE + SECOND : 0);
      }),
    );
  });

  it('takes as long as the machine predicted at any point', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 * 24 * 60 - 180 }),
        fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 5 }),
        fc.integer({ min: 1, max: 2000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (minutes, secondsAgo, maxMinutes, pace) => {
          const bytes = (range: Window) => (range.to - range.from) / MINUTE;
          const machine = new ReplayMachine(pastOf(minutes), {
            rates: RATES,
            maxRangeBytes: maxMinutes,
          });
          const connects = secondsAgo.map(seconds => NOW - seconds * SECOND).sort((a, b) => a - b);
          const said: (readonly [number, number | undefined])[] = [];
          let now = NOW;
          const next = () => machine.next(now, now, connects);
          for (let action = next(); action.do !== 'done'; action = next()) {
            // Predictions count only after the first connection, which shows how many bytes a
            // minute contains.
            if (minutes <= 16 || machine.state.chunk > 16 * MINUTE)
              said.push([now, machine.leftMs(now, now, pace, connects)]);
            if (action.do === 'wait') now += action.ms;
            if (action.do !== 'connect') continue;
            const { range } = action;
            connects.push(now);
            now += pace * (range.to - range.from);
            machine.ended(range, end(), { activities: 7, bytes: bytes(range) }, now, 0.5);
          }
          for (const [when, leftMs = Number.NaN] of said.slice(0, 20))
            expect(Math.abs(when + leftMs - now)).toBeLessThan(1);
        },
      ),
    );
  });
});

describe('the replay state machine', () => {
  it('waits after 5 connections in 5 minutes', () => {
    const connects = [4, 3, 2, 1, 0].map(n => NOW - n * MINUTE);
    expect(machineOf().next(NOW, NOW, connects)).toMatchObject({
      do: 'wait',
      ms: MINUTE + SECOND,
      why: 'connect limit',
    });
  });

  it('waits until only 4 connections are left in 5 minutes if other processes have made more than 5', () => {
    const connects = [4.5, 4.25, 4, 3, 2, 1, 0].map(n => NOW - n * MINUTE);
    expect(machineOf().next(NOW, NOW, connects)).toMatchObject({
      do: 'wait',
      ms: MINUTE + SECOND,
      why: 'connect limit',
    });
  });

  it('requests older minutes after the service rejects a date near the newest limit', () => {
    const young = { from: NOW - 40 * MINUTE, to: NOW - 32 * MINUTE };
    const machine = machineOf(young);
    let now = NOW;
    let refusals = 0;
    for (; now < NOW + 6 * HOUR && refusals < 20; refusals++) {
      const action = at(machine, now);
      if (action.do !== 'connect') now += action.do === 'wait' ? action.ms : DAY;
      else machine.datesRefused(action.range, now, now, 0.5);
    }
    expect(at(machine, NOW + 2 * HOUR)).toMatchObject({ do: 'connect' });
  });

  it('waits and retries after the service rejects a date far from both limits', () => {
    const machine = machineOf({ from: NOW - 2 * DAY, to: NOW - 2 * DAY + HOUR });
    machine.datesRefused({ from: NOW - 2 * DAY, to: NOW - 2 * DAY + HOUR }, NOW, NOW, 1);
    expect(at(machine)).toEqual({ do: 'wait', ms: 5 * SECOND, why: 'after a failure' });
  });

  it('waits for Retry-After after a 429, or for 5 minutes without that header', () => {
    const machine = machineOf();
    for (const ms of [77_000, 6 * MINUTE]) {
      machine.limited(NOW, ms);
      expect(at(machine)).toMatchObject({ do: 'wait', ms });
    }
    machine.limited(NOW, undefined);
    expect(at(machine)).toMatchObject({ do: 'wait', ms: 5 * MINUTE });
  });

  it('waits for 5 s after a 503, doubling to 320 s', () => {
    const machine = machineOf();
    const waits = Array.from({ length: 8 }, () => {
      machine.refused(NOW, 1);
      const action = at(machine);
      return action.do === 'wait' ? action.ms / SECOND : action.do;
    });
    expect(waits).toEqual([5, 10, 20, 40, 80, 160, 320, 320]);
  });

  it('gives up after 20 failed attempts', () => {
    const machine = machineOf();
    const actions = Array.from({ length: 20 }, () => {
      machine.refused(NOW, 1);
      return at(machine).do;
    });
    expect(actions).toEqual([...Array.from({ length: 19 }, () => 'wait'), 'give up']);
  });

  it('gives up after the service has rejected dates 20 times', () => {
    const window = { from: NOW - 2 * HOUR, to: NOW - HOUR };
    const machine = machineOf(window);
    const actions = Array.from({ length: 20 }, () => {
      machine.datesRefused(window, NOW, NOW, 0.5);
      return at(machine).do;
    });
    expect(actions.slice(0, 19)).not.toContain('give up');
    expect(actions.at(-1)).toBe('give up');
  });

  it('waits for half of the maximum wait if the random jitter is lowest', () => {
    const lucky = machineOf();
    lucky.refused(NOW, 0);
    expect(at(lucky)).toMatchObject({ do: 'wait', ms: 2.5 * SECOND });
  });
});

describe('a replay connection that has ended', () => {
  it('confirms its range if it was complete and its count was right', () => {
    const machine = machineOf();
    expect(machine.ended(FIRST, end(), got(7), NOW, 0.5)).toBe(true);
    expect(openOf(machine)).toEqual([{ from: FIRST.to, to: WINDOW.to }]);
  });

  it('doubles the next range, up to five days, if it was complete', () => {
    const machine = machineOf();
    machine.ended(FIRST, end(), got(7), NOW, 0.5);
    expect(machine.state.chunk).toBe(32 * MINUTE);
    for (let n = 0; n < 9; n++) machine.ended({ from: 0, to: MINUTE }, end(), got(7), NOW, 0.5);
    expect(machine.state.chunk).toBe(5 * DAY);
  });

  it('shortens the next ranges if it delivered more bytes than the disk limit', () => {
    const machine = new ReplayMachine(WINDOW, { rates: RATES, maxRangeBytes: 1000 });
    for (const [bytes, minutes] of [
      [100, 32],
      [900, 35],
      [2000, 17],
      [100_000, 2],
      [0, 4],
    ] as const) {
      const action = at(machine, NOW + HOUR);
      if (action.do !== 'connect') throw new Error(action.do);
      const { range } = action;
      machine.ended(range, end(), { activities: 7, bytes }, NOW, 0.5);
      expect(machine.state.chunk).toBe(minutes * MINUTE);
    }
  });

  it('leaves its range open the first two times that its count differs', () => {
    const machine = machineOf(FIRST);
    for (let n = 0; n < 2; n++) {
      expect(machine.ended(FIRST, end(), got(6), NOW, 0.5)).toBe(false);
      expect(openOf(machine)).toEqual([FIRST]);
    }
    expect(machine.ended(FIRST, end(), got(6), NOW, 0.5)).toBe(true);
    expect(machine.state).toMatchObject({ open: [], gaps: [{ ...FIRST, reason: 'unverified' }] });
  });

  it('leaves its range open if it delivered more activities than announced', () => {
    const machine = machineOf(FIRST);
    expect(machine.ended(FIRST, end(), got(8), NOW, 0.5)).toBe(false);
    expect(openOf(machine)).toEqual([FIRST]);
    expect(machine.ended(FIRST, end(), got(7), NOW, 0.5)).toBe(true);
    expect(machine.state).toMatchObject({ open: [], gaps: [] });
  });

  it('confirms its range except the failed minutes if it ended with errors', () => {
    const machine = machineOf(FIRST);
    const told = end({ outcome: 'completed_with_errors', minutesFailed: [minute(2), minute(9)] });
    expect(machine.ended(FIRST, told, got(7), NOW, 0.5)).toBe(true);
    expect(openOf(machine)).toEqual([
      { from: minute(2), to: minute(3) },
      { from: minute(9), to: minute(10) },
    ]);
    expect(machine.state.open.every(({ partial }) => partial)).toBe(true);
  });

  it('confirms its range except the unprocessed part if it failed', () => {
    const machine = machineOf(FIRST);
    const unprocessedRange = { from: minute(4), to: FIRST.to };
    machine.ended(FIRST, end({ outcome: 'failed', unprocessedRange }), got(7), NOW, 0.5);
    expect(openOf(machine)).toEqual([unprocessedRange]);
  });

  it('keeps a failed minute apart from a failed range before it of which nothing was delivered', () => {
    const machine = machineOf();
    machine.ended(FIRST, end({ outcome: 'failed', activityCount: 0 }), got(0), NOW, 0.5);
    const second = { from: minute(16), to: minute(32) };
    const errors = end({ outcome: 'completed_with_errors', minutesFailed: [minute(16)] });
    machine.ended(second, errors, got(7), NOW, 0.5);
    // Posts of the failed minute may have been delivered, so its next connection removes duplicates.
    expect(machine.state.open).toContainEqual({
      from: minute(16),
      to: minute(17),
      mismatches: 0,
      failures: 1,
      partial: true,
    });
  });

  it('leaves its range open if it was cut', () => {
    const machine = machineOf();
    for (let n = 0; n < 4; n++) {
      machine.cut(NOW, 0.5);
      expect(openOf(machine)).toEqual([WINDOW]);
    }
  });

  it('keeps the next range in whole minutes if a range of odd length was cut', () => {
    const { open, gaps } = machineOf().state;
    const machine = new ReplayMachine({ open, gaps, chunk: 15 * MINUTE }, { rates: RATES });
    machine.cut(NOW, 0.5);
    expect(at(machine)).toEqual({ do: 'connect', range: { from: minute(0), to: minute(7) } });
  });

  it('halves the next range, down to 2 minutes, if it was cut', () => {
    const machine = machineOf();
    for (const minutes of [8, 4, 2, 2]) {
      machine.cut(NOW, 0.5);
      expect(machine.state.chunk).toBe(minutes * MINUTE);
    }
  });

  it('is repeated immediately if it was cut once, and after longer and longer waits after that', () => {
    const machine = machineOf();
    machine.cut(NOW, 1);
    expect(at(machine)).toMatchObject({ do: 'connect' });
    for (const seconds of [5, 10, 20]) {
      machine.cut(NOW, 1);
      expect(at(machine)).toEqual({ do: 'wait', ms: seconds * SECOND, why: 'after a failure' });
    }
  });
});
