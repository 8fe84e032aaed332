import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DAY, floorTo, formatTimestamp, MINUTE, parseTimestamp } from '../../../src/base/time.js';
import { bucketsOf, usagePeriod } from '../../../src/service/usage/build-usage-report.js';
import { monthsLater, startOfMonth } from '../../../src/service/usage/usage-meter.js';

const ms = (text: string) => parseTimestamp(text) as number;
const day = fc
  .integer({ min: Date.UTC(2006, 0) / DAY, max: Date.UTC(2040, 0) / DAY })
  .map(days => days * DAY);

describe('monthsLater', () => {
  it.each([
    ['202401310000', 1, '202402290000'],
    ['202301310000', 1, '202302280000'],
    ['202402290000', -12, '202302280000'],
    ['202412310530', 2, '202502280530'],
    ['202401150000', -2, '202311150000'],
    ['202405010000', 0, '202405010000'],
  ])('moves %s by %d months to %s', (from, months, to) => {
    expect(formatTimestamp(monthsLater(ms(from), months))).toBe(to);
  });
});

describe('the buckets of a usage report', () => {
  it('are partial at the ends of the period', () => {
    const period = { from: ms('202402290000'), to: ms('202404110000') };
    expect(
      bucketsOf(period, 'month').map(({ from, to }) => [from, to].map(formatTimestamp)),
    ).toEqual([
      ['202402290000', '202403010000'],
      ['202403010000', '202404010000'],
      ['202404010000', '202404110000'],
    ]);
  });

  it('cover the period without a gap, each within one month or day', () => {
    fc.assert(
      fc.property(
        day,
        fc.integer({ min: 0, max: 500 * 1440 }),
        fc.constantFrom('day' as const, 'month' as const),
        (from, minutes, bucket) => {
          const period = { from, to: from + minutes * MINUTE };
          let reached = period.from;
          for (const { from, to } of bucketsOf(period, bucket)) {
            expect(from).toBe(reached);
            expect(to).toBeGreaterThan(from);
            const unit = bucket === 'day' ? (at: number) => floorTo(DAY, at) : startOfMonth;
            expect(unit(to - 1)).toBe(unit(from));
            reached = to;
          }
          expect(reached).toBe(period.to);
        },
      ),
    );
  });
});

describe('the period of a usage query', () => {
  it('ends neither before its start, nor after the requested end, nor after the current time', () => {
    const some = fc.option(day, { nil: undefined });
    fc.assert(
      fc.property(some, some, day, fc.nat(DAY - 1), (from, to, today, since) => {
        const now = today + since;
        const period = usagePeriod({ from, to }, now);
        expect(period.to).toBeGreaterThanOrEqual(period.from);
        if (from !== undefined) expect(period.from).toBe(from);
        else expect(startOfMonth(period.from)).toBe(period.from);
        if (period.to === period.from) return;
        expect(period.to).toBeLessThanOrEqual(to ?? now + MINUTE);
        if (to === undefined) expect(period.to).toBeGreaterThan(now);
        else expect(period.to).toBeLessThanOrEqual(today);
      }),
    );
  });
});
