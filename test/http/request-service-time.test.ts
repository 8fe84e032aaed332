import { expect, it } from 'vitest';
import { learnServiceTime } from '../../src/http/request.js';
import { json } from './scripted-server.js';
import { accountFor, get, serveEachTest, server, textOf } from './served-requests.js';

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

it('a response to a signed URL does not change the time of the service, because its host is another', async () => {
  server.now = () => START;
  server.otherwise = json({});
  const account = accountFor();
  const { responses } = account.clock;
  await textOf(await get(account, { isSignedUrl: true }));
  expect(account.clock.isKnownSince(responses)).toBe(false);
  expect(Math.abs(account.clock.now() - Date.now())).toBeLessThan(60_000);
  await textOf(await get(account));
  expect(Math.abs(account.clock.now() - START)).toBeLessThan(60_000);
});
