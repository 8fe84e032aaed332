import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Wait } from '../../src/base/wait.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { Progress } from '../../src/flow/progress.js';
import { collect } from '../../src/sinks/collect.js';
import { usageRows, usageTable } from '../../src/usage/usage-table.js';
import { AT_ONCE_MS } from '../at-once.js';
import { json, status } from '../http/scripted-server.js';
import { impatient } from '../http/virtual-time.js';
import { acme, REPORT, reportOf, server, span } from './scripted-report.js';

beforeEach(() => server.start());
afterEach(() => server.stop());

describe('the table rows of a usage report', () => {
  it('contain one product and one period in each row', async () => {
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

  it('are not awaited any more after an abort of the run', async () => {
    server.script.push(() => {});
    const stop = new AbortController();
    const run = pipeline(usageRows(acme()), collect(), { signal: stop.signal });
    await expect.poll(() => server.received.length).toBe(1);
    stop.abort(new Error('enough'));
    await expect(run).rejects.toThrow('enough');
    expect(await server.closed()).toBeLessThan(AT_ONCE_MS);
  });

  it('let progress show the wait before a request is repeated', async () => {
    server.script.push(status(503), json(REPORT));
    const progress = new Progress();
    const waits: string[] = [];
    Object.assign(progress, { onWait: ({ reason }: Wait) => void waits.push(reason) });
    const flow = usageRows(acme({ timing: impatient() }));
    for await (const _ of flow.batches({ progress }));
    expect(waits).toContain('retry');
    expect(progress.received).toBe(6);
  });

  it('contain the lowest of several limits', async () => {
    const [publisher] = REPORT.publishers;
    const thresholds = [2000, 900, 1500].flatMap(activities => [
      { activities, type: 'cap' },
      { activities: activities - 100, type: 'alert' },
    ]);
    const report = await reportOf({
      ...REPORT,
      publishers: [{ ...publisher, products: [], thresholds }],
    });
    expect(usageTable(report)[0]).toMatchObject({ threshold: 900, alert: 800 });
  });

  it('contain one row per day if the report is daily', async () => {
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
