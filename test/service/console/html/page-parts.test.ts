import { describe, expect, it } from 'vitest';
import {
  printDuration,
  printExactDuration,
  printSize,
  renderWindow,
} from '../../../../src/service/console/html/page-parts.js';
import { readable } from '../browse.js';

describe('a number with its unit on a page of the console', () => {
  it.each([
    [0, '0 bytes'],
    [1, '1 byte'],
    [999, '999 bytes'],
    [1000, '1 kB'],
    [12_500, '12.5 kB'],
    [99_960, '100 kB'],
    [999_499, '999 kB'],
    [999_500, '1 MB'],
    [3.21e12, '3.2 TB'],
    [5e15, '5,000 TB'],
  ])('shows %d bytes as %s', (bytes, text) => {
    expect(printSize(bytes)).toBe(text);
  });

  it.each([
    [400, '400 ms'],
    [20_000, '20 seconds'],
    [60_000, '1 minute'],
    [0.1 * 3_600_000, '6 minutes'],
    [5_400_000, '1.5 hours'],
    [86_400_000, '1 day'],
    [30 * 86_400_000, '30 days'],
  ])('shows %d ms as %s', (ms, text) => {
    expect(printDuration(ms)).toBe(text);
  });
});

describe('a duration on a page of the console, in its two largest units,', () => {
  it.each([
    [1_999, '1 second'],
    [1_439_000, '23 minutes 59 seconds'],
    [3_600_000, '1 hour'],
    [90_061_000, '1 day 1 hour'],
  ])('shows %d ms as %s', (ms, text) => {
    expect(printExactDuration(ms)).toBe(text);
  });
});

describe('a time window on a page of the console', () => {
  const from = Date.UTC(2026, 10, 21, 20, 33);

  it('contains its day only once, with the time zone', () => {
    const text = readable(renderWindow({ from, to: from + 600_000 }).text);
    expect(text).toBe(' 2026-11-21 20:33 to 20:43 UTC');
  });

  it('contains both days if they differ', () => {
    const text = readable(renderWindow({ from, to: from + 86_400_000 }).text);
    expect(text).toBe(' 2026-11-21 20:33 to 2026-11-22 20:33 UTC');
  });
});
