import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createdAtIn, isoTimeIn, parseCreatedAt, parseIsoTime } from '../../src/post/posted-at.js';

const instant = fc.date({
  min: new Date('2006-03-21T00:00:00Z'),
  max: new Date('2099-12-31T23:59:59Z'),
  noInvalidDate: true,
});

function createdAt(date: Date): string {
  // `toUTCString` returns `Wed, 10 Oct 2018 20:19:24 GMT`.
  const [name, day, month, year, clock] = date.toUTCString().replace(',', '').split(' ');
  return `${name} ${month} ${day} ${clock} +0000 ${year}`;
}

function wholeSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1_000) * 1_000;
}

describe('parseCreatedAt', () => {
  it('parses the time of a post of the original format', () => {
    expect(parseCreatedAt('Wed Oct 10 20:19:24 +0000 2018')).toBe(
      Date.UTC(2018, 9, 10, 20, 19, 24),
    );
    fc.assert(
      fc.property(instant, date => {
        expect(parseCreatedAt(createdAt(date))).toBe(wholeSeconds(date));
      }),
    );
  });

  it('returns NaN for a string that is not a time in the original format', () => {
    for (const text of [
      '',
      'Wed Oct 10 2018',
      '2018-10-10T20:19:24.000Z',
      'Wed Okt 10 20:19:24 +0000 2018',
      'Wed anF 10 20:19:24 +0000 2018',
      'Wed Oct 10 20:19:24 +0200 2018',
      'Wed Oct 10 20:19:24 +0000 2018 ',
    ])
      expect(parseCreatedAt(text)).toBeNaN();
  });
});

describe('parseIsoTime', () => {
  it('parses the times of the activity_streams format and of stream messages', () => {
    expect(parseIsoTime('2016-05-27T22:15:50+00:00')).toBe(Date.UTC(2016, 4, 27, 22, 15, 50));
    fc.assert(
      fc.property(instant, date => {
        expect(parseIsoTime(date.toISOString())).toBe(date.getTime());
      }),
    );
  });

  it('returns NaN for a string that is not a UTC time in ISO 8601', () => {
    for (const text of [
      '',
      '2016',
      '2016-05-27',
      '2016-05-27T22:15:50',
      '2016-13-01T00:00:00Z',
      '1',
    ])
      expect(parseIsoTime(text)).toBeNaN();
  });
});

describe('createdAtIn', () => {
  const bytesOf = (date: Date) => Buffer.from(`"${createdAt(date)}"`);

  it('reads the time of a post of the original format from its bytes', () => {
    fc.assert(
      fc.property(instant, date => {
        expect(createdAtIn(bytesOf(date), 1)).toBe(wholeSeconds(date));
      }),
    );
  });

  it('reads 29 February of a leap year', () => {
    const date = new Date('2024-02-29T20:19:24Z');
    expect(createdAtIn(bytesOf(date), 1)).toBe(date.getTime());
  });

  it('returns the same as parseCreatedAt, or NaN, for any bytes', () => {
    fc.assert(
      fc.property(instant, fc.nat(29), fc.nat(127), (date, place, byte) => {
        const bytes = bytesOf(date);
        bytes[1 + place] = byte;
        const found = createdAtIn(bytes, 1);
        if (!Number.isNaN(found))
          expect(found).toBe(parseCreatedAt(bytes.toString('latin1', 1, 31)));
      }),
    );
  });

  it('returns NaN for a day that its month does not have', () => {
    expect(createdAtIn(Buffer.from('Wed Feb 30 20:19:24 +0000 2018'), 0)).toBeNaN();
  });
});

describe('isoTimeIn', () => {
  it('reads the time of an activity from its bytes', () => {
    fc.assert(
      fc.property(instant, date => {
        const found = isoTimeIn(Buffer.from(`"${date.toISOString()}"`), 1);
        const isLeapDay = date.getUTCMonth() === 1 && date.getUTCDate() === 29;
        expect(found).toBe(isLeapDay ? Number.NaN : date.getTime());
      }),
    );
  });

  it.each([
    '2018-00-10T20:19:24.000Z',
    '2018-13-10T20:19:24.000Z',
    '2018-10-00T20:19:24.000Z',
    '2018-10-32T20:19:24.000Z',
    '2018-09-31T20:19:24.000Z',
    '2018-02-29T20:19:24.000Z',
    '2018-10-10T24:19:24.000Z',
    '2018-10-10T20:60:24.000Z',
    '2018-10-10T20:19:60.000Z',
    '2018-10-10T20:19:24.-01Z',
    '0999-10-10T20:19:24.000Z',
    '2018-10-10 20:19:24.000Z',
  ])('returns NaN for %s', text => {
    expect(isoTimeIn(Buffer.from(text), 0)).toBeNaN();
  });
});
