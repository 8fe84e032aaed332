import { describe, expect, it } from 'vitest';
import { local } from '../local-service.js';

const PATH = '/accounts/local/usage.json';

describe('a request for usage', () => {
  it.each([
    ['?bucket=week', "Invalid value for parameter 'bucket'. It must be one of month, day."],
    ['?bucket=', "Invalid value for parameter 'bucket'. It must be one of month, day."],
    [
      '?fromDate=2024',
      "Invalid value for parameter 'fromDate'. It must be a UTC time YYYYMMDDHHMM.",
    ],
    [
      '?toDate=202402300000',
      "Invalid value for parameter 'toDate'. It must be a UTC time YYYYMMDDHHMM.",
    ],
    [
      '?fromDate=202405020000&toDate=202405010000',
      "'fromDate' must be a day before 'toDate': both count by whole days.",
    ],
    [
      '?fromDate=202405010000&toDate=202405012359',
      "'fromDate' must be a day before 'toDate': both count by whole days.",
    ],
    ['?from=202405010000', "Unknown parameter 'from'. Use bucket, fromDate, toDate."],
    ['?bucket=day&bucket=day', "The parameter 'bucket' comes more than once."],
  ])('is rejected with %s', async (query, message) => {
    const { ask } = await local();
    const { status, page } = await ask(PATH + query);
    expect([status, page.error]).toEqual([400, { message, sent: expect.any(String) }]);
  });

  it('gets a 401 for wrong credentials even if the account does not exist', async () => {
    const { ask } = await local();
    const wrong = { headers: { authorization: 'Basic eDp5' } };
    expect((await ask('/accounts/nobody/usage.json', wrong)).status).toBe(401);
    expect((await ask('/accounts/nobody/usage.json')).status).toBe(404);
    expect((await ask('/accounts/LOCAL/usage.json')).status).toBe(404);
    expect((await ask(PATH, { method: 'POST' })).status).toBe(405);
  });

  it('is accepted twice a minute, failed requests included', async () => {
    const { service, ask } = await local([], { limits: 'strict' });
    expect((await ask(PATH)).status).toBe(200);
    service.clock.advance(20_000);
    expect((await ask(`${PATH}?bucket=x`)).status).toBe(400);
    const { status, headers, page } = await ask(`${PATH}?bucket=x`);
    expect([status, headers.get('retry-after'), page.error?.message]).toEqual([
      429,
      '40',
      'Exceeded rate limit: 2 requests in 60 s for usage',
    ]);
    service.clock.advance(40_000);
    expect((await ask(PATH)).status).toBe(200);
    expect((await ask(PATH)).status).toBe(429);
  });

  it('is affected by planted faults', async () => {
    const { service, ask } = await local();
    service.faults.plant({ kind: 'status', status: 503, endpoint: 'usage' });
    expect((await ask(PATH)).status).toBe(503);
  });
});
