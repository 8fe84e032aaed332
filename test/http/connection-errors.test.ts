import { once } from 'node:events';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { ConnectionError, DataError } from '../../src/base/errors.js';
import { brokenConnection } from '../../src/http/connection-errors.js';
import { sendRequest } from '../../src/http/request.js';
import { cut, reset, status } from './scripted-server.js';
import { accountFor, errorOf, get, serveEachTest, server, textOf } from './served-requests.js';

serveEachTest();

describe('the ConnectionError of a broken connection', () => {
  it('has the kind reset if the connection breaks before the response', async () => {
    server.script.push(reset);
    expect(await errorOf(get(accountFor()))).toMatchObject({ failure: 'reset', retryable: true });
  });

  it('has the kind refused if no server listens', async () => {
    const closed = createTcpServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    await new Promise(resolve => closed.close(resolve));
    const url = new URL(`http://127.0.0.1:${port}/x`);
    const error = await errorOf(sendRequest(accountFor(), { method: 'GET', url }));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ failure: 'refused', retryable: true, url: url.href });
    expect(error.message).toContain('nothing listens there');
  });

  it('names plain HTTP as the cause, not a certificate, if an https request reaches an HTTP server', async () => {
    const url = new URL(server.url.replace('http:', 'https:'));
    const error = await errorOf(sendRequest(accountFor(), { method: 'GET', url }));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ failure: 'refused', retryable: false });
    expect(error.message).toContain('If it speaks plain HTTP, use http://');
    expect(error.message).not.toContain('certificate');
  });

  it.each([
    ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', 'the TLS handshake failed'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'its certificate is not trusted'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'its certificate is not trusted'],
  ])('explains the system error code %s', (code, message) => {
    const cause = Object.assign(new Error('of OpenSSL'), { code });
    const error = brokenConnection(cause, { url: 'https://host.test/' }, false);
    expect(error).toMatchObject({ failure: 'refused', retryable: false });
    expect(error.message).toContain(message);
  });

  it.each([
    ['length', 'cut'],
    ['chunked', 'cut'],
    ['reset', expect.stringMatching(/^(reset|cut)$/)],
  ] as const)(
    'is thrown after all received bytes if the body breaks off (%s)',
    async (how, failure) => {
      server.script.push(cut({ text: 'x'.repeat(1000) }, how));
      const answer = await get(accountFor());
      let received = '';
      const error = await errorOf(
        (async () => {
          for await (const chunk of answer.body) received += chunk.toString();
        })(),
      );
      expect(error).toMatchObject({ failure, retryable: true });
      expect(received.startsWith('{"text":"xxx') || received === '').toBe(true);
    },
  );

  it('has the kind cut if gzip is truncated, even if the response ends cleanly', async () => {
    const whole = gzipSync(JSON.stringify(Array.from({ length: 500 }, (_, i) => i)));
    for (const length of [0, 1, 5, 20, 500, whole.length - 9, whole.length - 1]) {
      server.script.push(response => {
        response.setHeader('content-encoding', 'gzip');
        response.end(whole.subarray(0, length));
      });
      const error = await errorOf(get(accountFor()).then(textOf));
      expect(error).toMatchObject({ failure: 'cut', retryable: true });
    }
  });

  it('is not thrown for corrupt gzip, which causes a retryable DataError', async () => {
    const whole = gzipSync(JSON.stringify(Array.from({ length: 500 }, (_, i) => i)));
    for (const at of [0, 30, whole.length - 6]) {
      const wrong = Buffer.from(whole);
      wrong[at]! ^= 0x10;
      server.script.push(response => {
        response.setHeader('content-encoding', 'gzip');
        response.end(wrong);
      });
      const error = await errorOf(get(accountFor()).then(textOf));
      expect(error).toBeInstanceOf(DataError);
      expect(error.retryable).toBe(true);
    }
  });

  it('is not thrown for an encoding that was not requested, which causes a DataError', async () => {
    server.script.push(status(200, 'x', { 'content-encoding': 'br' }));
    expect(await errorOf(get(accountFor()))).toBeInstanceOf(DataError);
  });
});
