import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DataError, HttpError, OptionError } from '../../src/base/errors.js';
import { MINUTE } from '../../src/base/time.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { type AccountOptions, account } from '../../src/http/account.js';
import { search } from '../../src/search/search.js';
import { createService } from '../../src/service/index.js';
import { collect } from '../../src/sinks/collect.js';
import { usageChart } from '../../src/usage/usage-chart.js';
import { usage } from '../../src/usage/usage-report.js';
import { usageRows, usageTable } from '../../src/usage/usage-table.js';
import { json, status } from '../http/scripted-server.js';
import { impatient } from '../http/virtual-time.js';
import { NOW, teaPosts } from '../service/local-service.js';
import { MemoryArchive } from '../service/memory-archive.js';
import { unchecked } from '../unchecked.js';

import { acme, REPORT, reportOf, server, span, WHOLE_MAY } from './scripted-report.js';

beforeEach(() => server.start());
afterEach(() => server.stop());

describe('usage()', () => {
  it('requests whole days with Basic credentials', async () => {
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

  it('returns a typed report, without optional members that the response lacks', async () => {
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

  it('accepts an empty report, which the service sends for dates more than twelve months ago', async () => {
    const report = await reportOf({ ...REPORT, publishers: [] });
    expect(report.publishers).toEqual([]);
    expect(usageTable(report)).toEqual([]);
    expect(usageChart(report)).toContain('Nothing was used.');
  });

  it.each([
    ['account', { ...REPORT, account: undefined }],
    ['bucket', { ...REPORT, bucket: undefined }],
    ['publishers', { ...REPORT, publishers: 7 }],
    ['type', { ...REPORT, publishers: [{ name: 'posts' }] }],
    [
      'fromDate',
      { ...REPORT, publishers: [{ name: 'p', type: 'p', used: [{ activities: 'many' }] }] },
    ],
    [
      '2024',
      { ...REPORT, publishers: [{ name: 'p', type: 'p', used: [span(1, '2024', '2025')] }] },
    ],
  ])('rejects a response that is not a report, and names %s', async (named, body) => {
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
  ])('throws an OptionError for %j before a request is sent', async (options, option) => {
    const error = await usage(acme(), unchecked(options)).catch(failure => failure);
    expect(error).toBeInstanceOf(OptionError);
    expect(error.option).toBe(option);
    expect(() => usageRows(acme(), unchecked(options))).toThrow(OptionError);
    expect(server.received).toEqual([]);
  });

  it('throws if it is called without an account', async () => {
    const without = (name: keyof AccountOptions) => usage(acme({ [name]: undefined }));
    for (const name of ['accountApiUrl', 'account', 'email', 'password'] as const)
      await expect(without(name)).rejects.toThrow(`\`${name}\` is needed for usage reports`);
  });

  it('sends at most 2 requests per minute for all callers together', async () => {
    const timing = impatient();
    server.otherwise = json(REPORT);
    const mine = acme({ timing });
    await Promise.all([usage(mine), usage(mine)]);
    expect(timing.slept).toEqual([]);
    await pipeline(usageRows(mine), collect());
    expect(timing.slept.length).toBeGreaterThan(0);
    expect(timing.slept.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThan(MINUTE - 1_000);
  });

  it('retries after a 429', async () => {
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

describe('the usage of the local service', () => {
  it('equals the number of delivered posts', async () => {
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
