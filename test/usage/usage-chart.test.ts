import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { DAY } from '../../src/base/time.js';
import { usageChart } from '../../src/usage/usage-chart.js';
import { unchecked } from '../unchecked.js';
import { APRIL, REPORT, reportOf, server, span, WHOLE_MAY } from './scripted-report.js';

beforeEach(() => server.start());
afterEach(() => server.stop());

describe('a usage chart', () => {
  it('shows usage with its projection and limits', async () => {
    expect(usageChart(await reportOf(), { width: 60 })).toBe(
      `Usage of acme by month, 202404010000 to 202405151234 UTC

posts
  2024-04 ████████████████████▍              1,200
  2024-05 ████████▌░░░░░░░░                  500, then 1,000
  alert   ┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┤         1,500
  cap     ┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┤ 2,000
  projected 1,000 this month; alert at 1,500; cap of 2,000 activities; 50 % of it

posts: 30day
  2024-04 ████████████████████████████████████ 700
  2024-05 █████▏░░░░                           100, then 200
  projected 200 this month; cap of 15 requests; 133 % of it: over the cap

posts: power
  2024-04 ██████████████████████████████████████████████ 600
  2024-05 ██████████████████████████████▋                400`,
    );
  });

  it('says that a product is over its cap only if the projection exceeds the cap', async () => {
    const lastLine = async (projected: number) => {
      const [posts] = REPORT.publishers;
      const projection = span(projected, ...WHOLE_MAY);
      const publisher = { ...posts, products: [], projected: projection };
      const report = await reportOf({ ...REPORT, publishers: [publisher] });
      return usageChart(report, { width: 60 }).split('\n').at(-1);
    };
    expect(await lastLine(2_000)).toMatch(/cap of 2,000 activities; 100 % of it$/);
    expect(await lastLine(2_001)).toMatch(/; 100 % of it: over the cap$/);
  });

  it('has the requested width and height for any numbers', async () => {
    const days = Array.from({ length: 366 }, (_, i) => {
      const at = Date.UTC(2024, 0, 1) + i * DAY;
      const text = (ms: number) =>
        `${new Date(ms).toISOString().slice(0, 10).replaceAll('-', '')}0000`;
      return span(i === 5 ? 9_007_199_254_740_991 : i % 7, text(at), text(at + DAY));
    });
    const publisher = { name: 'a\u001b[31mb', type: 'x', used: days };
    const report = await reportOf({ ...REPORT, bucket: 'day', publishers: [publisher] });
    const lines = usageChart(report, { width: 60, lines: 10 }).split('\n');
    expect(lines.length).toBeLessThanOrEqual(2 + 1 + 10);
    const bars = lines.filter(line => line.startsWith('  2024-'));
    expect(bars.length).toBe(10);
    for (const line of bars) expect(line.length).toBeLessThanOrEqual(60);
    expect(lines.join()).not.toContain('\u001b');
    // A bar that reaches into the next month shows its full end date.
    expect(bars[0]).toMatch(/^ {2}2024-01-01 to 2024-02-06 /);
    // Any number above zero has a visible bar.
    for (const line of bars) expect(line).toMatch(/[▏█]/);
  });

  it('shows empty bars, and throws if the width is too small', async () => {
    const publisher = { name: 'p', type: 'p', used: [span(0, ...APRIL)] };
    const report = await reportOf({ ...REPORT, publishers: [publisher] });
    expect(usageChart(report, { width: 40 })).toMatch(/^ {2}2024-04 +0$/m);
    for (const options of [{ width: 39 }, { width: 50.5 }, { lines: 0 }, { height: 5 }])
      expect(() => usageChart(report, unchecked(options))).toThrow(OptionError);
  });
});
