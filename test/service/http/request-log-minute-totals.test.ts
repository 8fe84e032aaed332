import { describe, expect, it } from 'vitest';
import { HOUR, MINUTE } from '../../../src/base/time.js';
import { MinuteTotals } from '../../../src/service/http/request-log.js';

describe('the totals of the last hour in the request log', () => {
  const totalsAt = (start: number) => {
    const clock = { now: start };
    return { clock, totals: new MinuteTotals(() => clock.now) };
  };

  it('are split into equal periods, the last of which ends with the current minute', () => {
    const { clock, totals } = totalsAt(100 * HOUR);
    totals.add('posts', 5);
    clock.now += 4 * MINUTE;
    totals.add('posts', 2);
    totals.add('jobs');
    clock.now += 30 * MINUTE;
    totals.add('posts');
    expect(totals.lastHour('posts', 12)).toEqual([0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 1]);
    expect(totals.lastHour('jobs', 2)).toEqual([1, 0]);
    expect(totals.lastHour('requests', 2)).toEqual([0, 0]);
  });

  it('do not include older minutes, or future minutes after the clock was moved back', () => {
    const { clock, totals } = totalsAt(100 * HOUR);
    totals.add('posts', 5);
    clock.now += 59 * MINUTE;
    expect(totals.lastHour('posts', 3)).toEqual([5, 0, 0]);
    clock.now += MINUTE;
    expect(totals.lastHour('posts', 3)).toEqual([0, 0, 0]);
    clock.now -= 2 * HOUR;
    expect(totals.lastHour('posts', 3)).toEqual([0, 0, 0]);
    totals.add('posts');
    clock.now += HOUR;
    totals.add('posts', 2);
    clock.now += HOUR;
    expect(totals.lastHour('posts', 1)).toEqual([0]);
  });
});
