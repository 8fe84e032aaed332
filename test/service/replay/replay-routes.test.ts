import { describe, expect, it } from 'vitest';
import { DAY, MINUTE, SECOND } from '../../../src/base/time.js';
import { AUTHORIZATION, NOW } from '../local-service.js';
import { localStreams } from './local-streams.js';

describe('a replay request that the local service rejects', () => {
  const errorOf = (text: string) => JSON.parse(text).error;

  it('gets a 401 without credentials, before anything else is checked', async () => {
    const { see, addresses } = await localStreams();
    const path = '/replay/none/accounts/nobody/publishers/none/none.json';
    for (const authorization of ['', 'Basic bm86bm8=', 'Bearer x']) {
      const seen = await see(path, { authorization });
      expect(seen.status).toBe(401);
      expect(seen.headers['www-authenticate']).toContain('Basic');
      expect(errorOf(seen.text)).toMatchObject({ sent: '2024-05-15T12:34:56+00:00' });
    }
    expect(addresses.replayStreamUrl).toBe(addresses.baseUrl);
  });

  it.each([
    ['account', '/accounts/local/', '/accounts/Local/'],
    ['publisher', '/publishers/twitter/', '/publishers/other/'],
    ['label', '/replay.json', '/Replay.json'],
  ])(
    'gets a 404 for another %s, even if only upper and lower case differ',
    async (_, here, elsewhere) => {
      const { see, replayPath } = await localStreams();
      expect((await see(replayPath().replace(here, elsewhere))).status).toBe(404);
    },
  );

  it.each([{}, { 'accept-encoding': 'identity' }, { 'accept-encoding': 'gzip;q=0, deflate' }])(
    'gets a 406 if it does not accept gzip: %j',
    async headers => {
      const { addresses, replayPath } = await localStreams();
      const { request } = await import('undici');
      const { statusCode, body } = await request(addresses.baseUrl + replayPath(), {
        headers: { authorization: AUTHORIZATION, ...headers },
      });
      expect(statusCode).toBe(406);
      expect(errorOf(await body.text())).toEqual({
        message:
          "This connection requires compression. To enable compression, send an 'Accept-Encoding: gzip' header in your request and be ready to uncompress the stream as it is read on the client end.",
        sent: '2024-05-15T12:34:56+00:00',
      });
    },
  );

  const format = (name: string) =>
    `Invalid date format for query parameter '${name}'. Expected format is 'yyyyMMddHHmm'. For example, '201701012315' for January 1st, 11:15 pm 2017 UTC.\n\n`;

  it.each([
    // The service's clock shows 12:34:56.
    ['202405151203', '202405151204', undefined],
    [
      '202405151204',
      '202405151204',
      "Invalid date for query parameter 'fromDate'. Can't ask for tweets from within the past 31 minutes.",
    ],
    [
      '202405151200',
      '202405151205',
      "Invalid date for query parameter 'toDate'. Can't ask for tweets from within the past 30 minutes.",
    ],
    ['202405101234', '202405101235', undefined],
    [
      '202405101233',
      '202405101235',
      "Invalid date for query parameter 'fromDate'. Can't ask for tweets from more than 5 days ago.",
    ],
    [
      '202405151100',
      '202405151100',
      "Invalid date for query parameter 'fromDate'. It must be before 'toDate'.",
    ],
    ['20240515', '202405151100', format('fromDate')],
    ['202405151000', '202402301100', format('toDate')],
    ['', '2024-05-15', `${format('fromDate')}\n${format('toDate')}`],
  ])('gets a 406 for impossible dates: %s to %s', async (fromDate, toDate, message) => {
    const { see } = await localStreams();
    const path = `/replay/firehose/accounts/local/publishers/twitter/replay.json?fromDate=${fromDate}&toDate=${toDate}`;
    const { status, text } = await see(path);
    expect(status).toBe(message === undefined ? 200 : 406);
    if (message !== undefined) expect(errorOf(text).message).toBe(message);
  });

  it('is checked against the clock of the service, which a test may have moved', async () => {
    const { see, replayPath, service } = await localStreams();
    const path = replayPath('firehose', NOW - DAY, NOW - DAY + MINUTE);
    expect((await see(path)).status).toBe(200);
    service.clock.advance(4 * DAY + MINUTE);
    expect((await see(path)).status).toBe(406);
  });

  it('gets a 406 for rulestream if there are no rules', async () => {
    const { see, replayPath } = await localStreams();
    const { status, text } = await see(replayPath('rulestream'));
    expect([status, errorOf(text).message]).toEqual([
      406,
      'There are no rules for this stream. Add rules before connecting.',
    ]);
  });

  it('gets a 429 after 5 requests in 5 minutes to all streams, rejected requests included', async () => {
    const { see, replayPath, service } = await localStreams([], { limits: 'strict' });
    const types = ['firehose', 'sample10', 'rulestream', 'mentions', 'compliance'];
    for (const type of types) {
      await see(replayPath(type));
      service.clock.advance(10 * SECOND);
    }
    const { status, headers, text } = await see(replayPath());
    expect([status, headers['retry-after']]).toEqual([429, '250']);
    expect(errorOf(text).message).toBe('Your app has exceeded the limit on connection requests.');
    service.clock.advance(250 * SECOND);
    expect((await see(replayPath())).status).toBe(200);
    expect((await see(replayPath())).status).toBe(429);
  });

  it('gets a 405 for a method other than GET', async () => {
    const { addresses, replayPath } = await localStreams();
    const headers = { authorization: AUTHORIZATION };
    const response = await fetch(addresses.baseUrl + replayPath(), { method: 'POST', headers });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET']);
  });
});
