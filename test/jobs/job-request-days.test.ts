import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/errors.js';
import { countJobDays } from '../../src/jobs/job-request.js';
import { DAY, floorTo, formatTimestamp, MINUTE } from '../../src/time.js';

describe('job days', () => {
  it.each([
    ['201201010000', '201201020000', 1],
    ['201201010001', '201201020001', 2],
    ['201201010000', '201201020001', 2],
    ['201201010000', '201201010001', 1],
    ['201202280000', '201203010000', 2],
  ])('from %s to %s: %i', (fromDate, toDate, days) => {
    expect(countJobDays(fromDate, toDate)).toBe(days);
  });

  it('are all days that contain a minute of the window', () => {
    const minute = fc
      .integer({ min: 0, max: 4 * 1440 })
      .map(n => Date.UTC(2016, 1, 27) + n * MINUTE);
    fc.assert(
      fc.property(minute, minute, (from, to) => {
        fc.pre(from < to);
        const days = new Set<number>();
        for (let at = from; at < to; at += MINUTE) days.add(floorTo(DAY, at));
        expect(countJobDays(formatTimestamp(from), new Date(to))).toBe(days.size);
      }),
    );
  });

  it.each([
    ['201201020000', '201201020000'],
    ['201201020000', '201201010000'],
    ['201201320000', '201202010000'],
  ])('there are none from %s to %s', (fromDate, toDate) => {
    expect(() => countJobDays(fromDate, toDate)).toThrow(OptionError);
  });
});
