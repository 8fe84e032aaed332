import { expect, it } from 'vitest';
import { learnServiceTime } from '../../src/http/request.js';
import { accountFor, serveEachTest, server } from './served-requests.js';

serveEachTest();

const START = Date.UTC(2024, 4, 10, 9, 41, 12);

it.each([200, 403])(
  'learnServiceTime sends only one request, even if the response has the status %i',
  async status => {
    server.now = () => START;
    server.otherwise = response => {
      response.statusCode = status;
      response.end();
    };
    const account = accountFor({ baseUrl: server.url });
    const run = { responses: account.clock.responses, signal: new AbortController().signal };
    await learnServiceTime(account, 'baseUrl', run);
    await learnServiceTime(account, 'baseUrl', run);
    expect(server.received.map(({ method, headers }) => [method, headers.authorization])).toEqual([
      ['HEAD', undefined],
    ]);
    expect(Math.abs(account.clock.now() - START)).toBeLessThan(60_000);
  },
);
