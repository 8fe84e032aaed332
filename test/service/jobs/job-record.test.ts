import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MINUTE, parseTimestamp } from '../../../src/base/time.js';
import { jobDays } from '../../../src/service/jobs/job-record.js';

const at = (text: string) => parseTimestamp(text) ?? Number.NaN;

describe('the number of days of a job', () => {
  it.each([
    ['201201010000', '201201020000', 1],
    ['201201010001', '201201020001', 2],
    ['201201010000', '201201020001', 2],
    ['201201012359', '201201020000', 1],
    ['201202280000', '201203010000', 2],
    ['201201010000', '201201010000', 0],
  ])('for the window from %s to %s is %d', (from, to, days) => {
    expect(jobDays({ from: at(from), to: at(to) })).toBe(days);
  });

  it('includes every day of which the window contains a minute', () => {
    fc.assert(
      fc.property(fc.nat(10_000), fc.nat(5_000), (start, length) => {
        const from = at('201202270000') + start * MINUTE;
        const days = new Set(
          Array.from({ length }, (_, i) => new Date(from + i * MINUTE).toISOString().slice(0, 10)),
        );
        expect(jobDays({ from, to: from + length * MINUTE })).toBe(days.size);
      }),
    );
  });
});
