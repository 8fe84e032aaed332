import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DataError, HttpError, OptionError } from '../../src/errors.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { type AccountOptions, account } from '../../src/http/account.js';
import { search } from '../../src/search/search.js';
import { createService } from '../../src/service/index.js';
import { collect } from '../../src/sinks/collect.js';
import { DAY, MINUTE } from '../../src/time.js';
import { usageChart } from '../../src/usage/usage-chart.js';
import { type UsageReport, usage } from '../../src/usage/usage-report.js';
import { usageRows, usageTable } from '../../src/usage/usage-table.js';
import { json, ScriptedServer, status } from '../http/scripted-server.js';
import { impatient } from '../http/virtual-time.js';
import { NOW, teaPosts } from '../service/local-service.js';
import { MemoryArchive } from '../service/memory-archive.js';
import { unchecked } from '../unchecked.js';

const span = (activities: number, fromDate: string, toDate: string) => ({
  activities,
  fromDate,
  toDate,
});
const APRIL = ['202404010000', '202405010000'] as const;
const MAY = ['202405010000', '202405151234'] as const;
const WHOLE_MAY = ['202405010000', '202406010000'] as const;

/** In the form of the service. */
const REPORT = {
  account: { name: 'acme', status: 'active' },
  bucket: 'month',
  fromDate: '202404010000',
  toDate: '202405151234',
  publishers: [
    {
      name: 'posts',
      type: 'posts',
      used: [span(1200, ...APRIL), span(500, ...MAY)],
      projected: span(1000, ...WHOLE_MAY),
      products: [
        {
          name: '30day',
          type: 'search',
          used: [
            { ...span(700, ...APRIL), requests: 70 },
            { ...span(100, ...MAY), requests: 10 },
          ],
          projected: { ...span(200, ...WHOLE_MAY), requests: 20 },
          thresholds: [{ requests: 15, type: 'cap' }],
        },
        { name: 'power', type: 'rulestream', used: [span(600, ...APRIL), span(400, ...MAY)] },
      ],
      thresholds: [
        { activities: 1500, type: 'alert' },
        { activities: 2000, type: 'cap' },
      ],
    },
  ],
};

const server = new ScriptedServer();
beforeEach(() => server.start());
afterEach(() => server.stop());

const acme = (options: AccountOptions = {}) =>
  account(
    {
      accountApiUrl: `${server.url}/api/`,
      account: 'Acme Inc',
      email: 'a@b.c',
      password: 'canary',
      ...options,
    },
    {},
  );

async function reportOf(body: object = REPORT): Promise<UsageReport> {
  server.script.push(json(body));
  return usage(acme({ timing: impatient() }));
}

describe('a usage report', () => {
  it('is requested by whole days, with Basic credentials', async () => {
    server.otherwise = json(REPORT);
    const mine = acme({ timing: impatient() });
    await usage(mine);
    await usage(mine, {
      bucket: 'day',
      fromDate: '202404012359',
      toDate: new Date(Date.UTC(2024, 4, 3, 23, 59)),
    });
    expect(server.received.map(({ method, url }) => [method, url])).toEqual([
      ['GET', '/api/accounts/Acme%20Inc/usage.json'],
      [
        'GET',
        '/api/accounts/Acme%20Inc/usage.json?bucket=day&fromDate=202404010000&toDate=202405030000',
      ],
    ]);
    expect(server.received[0]?.headers.authorization).toBe(
      `Basic ${Buffer.from('a@b.c:canary').toString('base64')}`,
    );
  });

  it('is typed, and optional members may be missing', async () => {
    const report = await reportOf();
    expect(report.account).toEqual({ name: 'acme', status: 'active' });
    const [publisher] = report.publishers;
    expect(publisher?.projected?.activities).toBe(1000);
    expect(publisher?.products.map(({ projected, thresholds }) => [projected, thresholds])).toEqual(
      [
        [
          { ...span(200, ...WHOLE_MAY), requests: 20 },
          [{ type: 'cap', requests: 15, activities: undefined }],
        ],
        [undefined, []],
      ],
    );
  });

  it('may be empty, as for dates more than twelve months ago', async () => {
    const report = await reportOf({ ...REPORT, publishers: [] });
    expect(report.publishers).toEqual([]);
    expect(usageTable(report)).toEqual([]);
    expect(usageChart(report)).toContain('Nothing was used.');
  });

  it.each([
    [{ ...REPORT, account: undefined }, 'account'],
    [{ ...REPORT, bucket: undefined }, 'bucket'],
    [{ ...REPORT, publishers: 7 }, 'publishers'],
    [{ ...REPORT, publishers: [{ name: 'posts' }] }, 'type'],
    [
      { ...REPORT, publishers: [{ name: 'p', type: 'p', used: [{ activities: 'many' }] }] },
      'fromDate',
    ],
    [
      { ...REPORT, publishers: [{ name: 'p', type: 'p', used: [span(1, '2024', '2025')] }] },
      '2024',
    ],
  ])('is an error if it has another shape: %#', async (body, named) => {
    const error = await reportOf(body).catch(failure => failure);
    expect(error).toBeInstanceOf(DataError);
    expect(error.message).toContain(named);
  });

  it.each([
    [{ bucket: 'hour' }, 'bucket'],
    [{ fromDate: '20240401' }, 'fromDate'],
    [{ toDate: new Date(Number.NaN) }, 'toDate'],
    [{ fromDate: '202404010000', toDate: '202404012359' }, 'fromDate'],
    [{ from: '202404010000' }, 'from'],
  ])('is refused with %j before anything is sent', async (options, option) => {
    const error = await usage(acme(), unchecked(options)).catch(failure => failure);
    expect(error).toBeInstanceOf(OptionError);
    expect(error.option).toBe(option);
    expect(() => usageRows(acme(), unchecked(options))).toThrow(OptionError);
    expect(server.received).toEqual([]);
  });

  it('needs an account', async () => {
    const without = (name: keyof AccountOptions) => usage(acme({ [name]: undefined }));
    for (const name of ['accountApiUrl', 'account', 'email', 'password'] as const)
      await expect(without(name)).rejects.toThrow(`\`${name}\` is needed for usage reports`);
  });

  it('is requested at most twice a minute, over all callers', async () => {
    const timing = impatient();
    server.otherwise = json(REPORT);
    const mine = acme({ timing });
    await Promise.all([usage(mine), usage(mine)]);
    expect(timing.slept).toEqual([]);
    await pipeline(usageRows(mine), collect());
    expect(timing.slept.length).toBeGreaterThan(0);
    expect(timing.slept.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThan(MINUTE - 1_000);
  });

  it('is requested again after a 429', async () => {
    const timing = impatient();
    server.script.push(status(429, '', { 'retry-after': '30' }), json(REPORT));
    await usage(acme({ timing }));
    expect(timing.slept.some(ms => ms >= 30_000)).toBe(true);
    server.script.push(status(401, '{"error":{"message":"no"}}'));
    const error = await usage(acme({ timing })).catch(failure => failure);
    expect(error).toBeInstanceOf(HttpError);
    expect(error.message).toContain('email and password');
  });
});

describe('rows of a report', () => {
  it('are flat, for spreadsheets', async () => {
    server.script.push(json(REPORT));
    const rows = await pipeline(usageRows(acme({ timing: impatient() })), collect());
    expect(
      rows.map(({ product, period, activities, requests }) => [
        product,
        period,
        activities,
        requests,
      ]),
    ).toEqual([
      [null, '2024-04', 1200, null],
      [null, '2024-05', 500, null],
      ['30day', '2024-04', 700, 70],
      ['30day', '2024-05', 100, 10],
      ['power', '2024-04', 600, null],
      ['power', '2024-05', 400, null],
    ]);
    expect(rows[1]).toEqual({
      publisher: 'posts',
      product: null,
      period: '2024-05',
      fromDate: '202405010000',
      toDate: '202405151234',
      activities: 500,
      requests: null,
      projected: 1000,
      threshold: 2000,
      thresholdOf: 'activities',
      alert: 1500,
    });
    expect(rows.map(({ projected }) => projected)).toEqual([null, 1000, null, 200, null, null]);
    expect(rows[2]).toMatchObject({ threshold: 15, thresholdOf: 'requests', alert: null });
    expect(rows[5]).toMatchObject({ threshold: null, thresholdOf: null });
  });

  it('are by day if the report is', async () => {
    const days = [span(1, '202404300000', '202405010000'), span(2, '202405010000', '202405020000')];
    const [publisher] = REPORT.publishers;
    const report = await reportOf({
      ...REPORT,
      bucket: 'day',
      publishers: [{ ...publisher, used: days, products: [] }],
    });
    expect(usageTable(report).map(({ period, projected }) => [period, projected])).toEqual([
      ['2024-04-30', null],
      ['2024-05-01', 1000],
    ]);
  });
});

describe('a chart of usage', () => {
  it('shows usage, projection and cap', async () => {
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

  it('keeps to its width and lines, for any numbers', async () => {
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
    // The end of a bar that reaches into another month is shown in full.
    expect(bars[0]).toMatch(/^ {2}2024-01-01 to 2024-02-06 /);
    // A number above zero is visible.
    for (const line of bars) expect(line).toMatch(/[▏█]/);
  });

  it('shows empty bars, and refuses a width that is too small', async () => {
    const publisher = { name: 'p', type: 'p', used: [span(0, ...APRIL)] };
    const report = await reportOf({ ...REPORT, publishers: [publisher] });
    expect(usageChart(report, { width: 40 })).toMatch(/^ {2}2024-04 +0$/m);
    for (const options of [{ width: 39 }, { width: 50.5 }, { lines: 0 }, { height: 5 }])
      expect(() => usageChart(report, unchecked(options))).toThrow(OptionError);
  });
});

describe('usage at the local service', () => {
  it('is the number of delivered posts', async () => {
    const archive = new MemoryArchive(teaPosts(30));
    const service = createService({ archive, usageCap: 1000, requestCap: 10, limits: 'relaxed' });
    try {
      service.clock.freeze();
      service.clock.set(NOW);
      const local = account({ ...(await service.start()), timing: impatient() }, {});
      const posts = search(local, { product: '30day', query: 'tea', maxResults: 10 });
      expect((await pipeline(posts, collect())).length).toBe(30);
      await pipeline(search(local, { product: '30day', query: 'tea', maxResults: 10 }), collect());
      const rows = await pipeline(usageRows(local, { bucket: 'day' }), collect());
      expect(rows.at(-1)).toMatchObject({
        product: '30day',
        period: '2024-05-15',
        activities: 30,
        requests: 6,
        threshold: 10,
        thresholdOf: 'requests',
      });
      const month = await usage(local);
      expect(usageTable(month).filter(({ activities }) => activities > 0).length).toBe(2);
      expect(usageChart(month)).toContain('cap of 1,000 activities');
    } finally {
      await service.stop();
    }
  });
});
