import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkValue, date, required } from '../../src/base/check.js';
import { OptionError } from '../../src/base/errors.js';
import {
  DAY,
  floorTo,
  formatSent,
  formatTimestamp,
  MINUTE,
  parseDate,
  parseTimestamp,
} from '../../src/base/time.js';

const instants = fc.integer({ min: Date.UTC(2006, 2, 21), max: Date.UTC(2099, 11, 31) });

describe('timestamps YYYYMMDDHHMM', () => {
  it('are parsed to the same minute that was formatted', () => {
    fc.assert(
      fc.property(instants, ms => {
        expect(parseTimestamp(formatTimestamp(ms))).toBe(floorTo(MINUTE, ms));
      }),
    );
  });

  it('are parsed and formatted in UTC', () => {
    expect(parseTimestamp('201605272215')).toBe(Date.UTC(2016, 4, 27, 22, 15));
    expect(formatTimestamp(Date.UTC(2006, 2, 21))).toBe('200603210000');
  });

  it.each([
    ['20160527221', 'too short'],
    ['2016052722155', 'too long'],
    ['201602300000', '30 February'],
    ['201613010000', 'month 13'],
    ['201612012460', 'hour 24, minute 60'],
    ['2016-05-2722', 'other characters'],
    ['', 'nothing'],
  ])('are not parsed from %j (%s)', text => {
    expect(parseTimestamp(text)).toBeUndefined();
  });

  it('cause no exception when any string is parsed as one', () => {
    fc.assert(
      fc.property(fc.string(), text => {
        const ms = parseTimestamp(text);
        if (ms !== undefined) expect(formatTimestamp(ms)).toBe(text);
      }),
    );
  });
});

describe('a timestamp option', () => {
  const sent = (value: unknown) => formatTimestamp(parseDate(value) ?? Number.NaN);
  const check = (value: unknown) =>
    checkValue('search', 'fromDate', required(date('the oldest minute')), value);

  it('accepts a timestamp or a Date, which is floored to its minute', () => {
    expect(sent('201605272215')).toBe('201605272215');
    expect(sent(new Date('2016-05-27T22:15:59.999Z'))).toBe('201605272215');
  });

  it.each([
    ['2026-11-20', '202611200000'],
    ['2026-11-20T10:05', '202611201005'],
    ['2026-11-20 10:05', '202611201005'],
    ['2026-11-20T10:05:59.999Z', '202611201005'],
    ['2026-11-20T10:05:30', '202611201005'],
    ['2026-11-20T00:30+02:00', '202611192230'],
    ['2026-11-20T23:30:00-05:30', '202611210500'],
  ])('accepts an ISO date or time, in UTC unless it has an offset: %s', (value, expected) => {
    expect(sent(value)).toBe(expected);
  });

  it('accepts the toISOString form of any instant in a four-digit year', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 253_402_300_799_999 }), ms => {
        const iso = new Date(ms).toISOString();
        expect(parseDate(iso)).toBe(floorTo(MINUTE, ms));
        expect(parseDate(new Date(ms))).toBe(floorTo(MINUTE, ms));
      }),
    );
  });

  it.each([
    ...['yesterday', '2026-02-30', '2026-11-20T24:01', '2026-11-20T10:05:60', '2026-11', ''],
    ...['2026-11-20T10:05+25:00', '0000-01-01T00:00+01:00', '20261120', '2026-11-20Z'],
    ...[5, new Date(Number.NaN), new Date(8e15), null, undefined],
  ])('causes an OptionError if it is %j', value => {
    expect(parseDate(value)).toBeUndefined();
    expect(() => check(value)).toThrow(OptionError);
    expect(() => check(value)).toThrow('fromDate');
  });
});

it('formatSent prints an instant with seconds and an explicit offset', () => {
  expect(formatSent(Date.UTC(2016, 4, 27, 22, 15, 50, 999))).toBe('2016-05-27T22:15:50+00:00');
});

it('floorTo rounds a time down to the start of its unit', () => {
  expect(floorTo(DAY, Date.UTC(2020, 1, 29, 23, 59))).toBe(Date.UTC(2020, 1, 29));
});
