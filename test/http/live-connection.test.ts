import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DataError, HttpError, OptionError } from '../../src/base/errors.js';
import { account } from '../../src/http/account.js';
import { checkSilence, connectLive, isFinalStatus } from '../../src/http/live-connection.js';
import { AT_ONCE_MS } from '../at-once.js';
import { LOGIN } from '../login.js';
import { ScriptedServer, status } from './scripted-server.js';

let server: ScriptedServer;
beforeEach(async () => {
  server = await new ScriptedServer().start();
});
afterEach(() => server.stop());

function connect() {
  const url = new URL(`${server.url}/stream?partition=1`);
  const acme = account({ replayStreamUrl: server.url, ...LOGIN }, {});
  const permit = { sent() {}, responded() {} };
  return connectLive(acme, url, permit, new AbortController().signal);
}

describe('a live stream connection', () => {
  it('requests gzip, and delivers compressed bytes as they arrive', async () => {
    const bytes = gzipSync('{"id":1}\r\n');
    server.script.push(response => {
      response.setHeader('content-encoding', 'gzip');
      response.end(bytes);
    });
    const { url, rawBlocks } = await connect();
    expect(url).toBe(`${server.url}/stream?...`);
    const received: Buffer[] = [];
    for await (const blocks of rawBlocks) received.push(...blocks);
    expect(Buffer.concat(received)).toEqual(bytes);
    expect(server.received[0]?.headers).toMatchObject({
      connection: 'keep-alive',
      'accept-encoding': 'gzip',
      authorization: expect.stringMatching(/^Basic /),
    });
  });

  it('fails with a retryable error if the response is not gzip', async () => {
    server.script.push(response => {
      response.write('{"id":1}');
    });
    const failed = connect();
    await expect(failed).rejects.toBeInstanceOf(DataError);
    await expect(failed).rejects.toMatchObject({ retryable: true });
    // The connection is closed now, and not when the silence of the service has lasted too long.
    expect(await server.closed()).toBeLessThan(AT_ONCE_MS);
  });

  it('fails with the HTTP status of the response if the service rejects the request', async () => {
    server.script.push(status(406, 'no rules'));
    await expect(connect()).rejects.toMatchObject({ code: 'ERR_HTTP', status: 406 });
  });
});

describe('isFinalStatus', () => {
  const errorOf = (status: number) =>
    new HttpError('x', { status, method: 'GET', url: 'https://a.test', body: '' });

  it.each([301, 401, 403, 404, 405, 410])('is true for %i', status => {
    expect(isFinalStatus(errorOf(status))).toBe(true);
  });

  it.each([400, 406, 429, 500, 503])('is false for %i', status => {
    expect(isFinalStatus(errorOf(status))).toBe(false);
  });
});

describe('checkSilence', () => {
  const acme = (silenceMs: number) => account({ timeouts: { silenceMs } }, {});

  it('throws an OptionError if `silenceMs` is not longer than the heartbeat interval requires', () => {
    expect(() => checkSilence(acme(30_000), 'replay streams')).toThrow(OptionError);
    expect(() => checkSilence(acme(30_000), 'replay streams')).toThrow(
      /`timeouts.silenceMs` is 30000 ms, and must be more than 30000 ms for replay streams/,
    );
    expect(() => checkSilence(acme(30_001), 'replay streams')).not.toThrow();
  });
});
