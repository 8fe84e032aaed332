import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { HttpError } from '../../src/base/errors.js';
import type { HttpResponse } from '../../src/http/http-message.js';
import { readErrorBody } from '../../src/http/response-error.js';
import { unchecked } from '../unchecked.js';
import { ScriptedServer, status } from './scripted-server.js';
import {
  accountFor,
  CANARY,
  errorOf,
  get,
  SPELLINGS,
  serveEachTest,
  server,
} from './served-requests.js';

serveEachTest();

describe('the error for an HTTP error response', () => {
  it.each([301, 302, 303, 307, 308])(
    'is thrown for a %i redirect, which is not followed',
    async code => {
      const other = await new ScriptedServer().start();
      server.script.push(status(code, '', { location: `${other.url}/steal` }));
      const error = (await errorOf(
        get(accountFor(), { method: 'POST', body: 'secret' }),
      )) as HttpError;
      expect(error).toBeInstanceOf(HttpError);
      expect(error.status).toBe(code);
      expect(error.retryable).toBe(false);
      expect(error.message).toContain('not followed');
      expect(other.received).toEqual([]);
      expect(other.sockets.size).toBe(0);
      await other.stop();
    },
  );

  it.each([
    ['{"error":{"message":"Bad rule.\\n","sent":"2024-01-01T00:00:00+00:00"}}', 'Bad rule.'],
    ['{"error":"Just text"}', 'Just text'],
    ['{"errors":["One","Two"]}', 'One; Two'],
    ['{"errors":[{"message":"One"}]}', 'One'],
    ['{"message":"Plain"}', 'Plain'],
    ['<html><body>  Bad\n\tGateway</body></html>', '<html><body> Bad Gateway</body></html>'],
    ['\u001b[31mred\u0007', '[31mred'],
    ['{"error":', '{"error":'],
    ['null', 'null'],
    ['', ''],
  ])('contains the message in the response body: %j', async (body, message) => {
    server.script.push(status(422, body));
    const error = (await errorOf(get(accountFor()))) as HttpError;
    expect(error).toMatchObject({ status: 422, method: 'GET', url: `${server.url}/path` });
    expect(error.body).toBe(message);
    expect(error.message).toBe(
      `GET ${server.url}/path answered 422 Unprocessable Entity${message && `: ${message}`}`,
    );
  });

  it('leaves no timer after its body was read, so that the process can end', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const body = async function* () {
      expect(vi.getTimerCount()).toBe(1);
      yield Buffer.from('Bad rule');
    };
    const response = unchecked<HttpResponse>({ body: body(), close() {} });
    expect(await readErrorBody(response, undefined)).toBe('Bad rule');
    expect(vi.getTimerCount()).toBe(0);
  });

  it('contains the message in a gzip response body', async () => {
    server.script.push(response => {
      response.writeHead(400, { 'content-encoding': 'gzip' });
      response.end(gzipSync('{"error":{"message":"Invalid json"}}'));
    });
    expect((await errorOf(get(accountFor()))).message).toContain('400 Bad Request: Invalid json');
  });

  it('has the HTTP status even if the body is cut, damaged or endless', async () => {
    server.script.push(
      response => {
        response.writeHead(503, { 'content-length': '1000' });
        response.write('half a mess', () => response.socket?.end());
      },
      response => {
        response.writeHead(502, { 'content-encoding': 'gzip' });
        response.end('this is not gzip');
      },
      response => {
        response.writeHead(500);
        const more = () => response.write('x'.repeat(50_000), () => setImmediate(more));
        more();
      },
    );
    const acme = accountFor();
    const first = (await errorOf(get(acme))) as HttpError;
    expect([first.status, first.body]).toEqual([503, 'half a mess']);
    expect(((await errorOf(get(acme))) as HttpError).status).toBe(502);
    const last = (await errorOf(get(acme))) as HttpError;
    expect(last.status).toBe(500);
    expect(last.body.length).toBeLessThanOrEqual(500);
    // The second response was complete. Only its connection stays open.
    await server.closed(1);
  });

  // Found by `npm run faults -- fuzz`, responses, seed 13.
  it('is a typed error even if response headers are repeated', async () => {
    server.script.push(
      response => {
        const twice = ['retry-after', '5', 'retry-after', '10', 'date', 'x', 'date', 'y'];
        response.writeHead(429, twice).end();
      },
      response => {
        response.writeHead(200, ['content-encoding', 'gzip', 'content-encoding', 'gzip']).end();
      },
    );
    const acme = accountFor();
    expect(await errorOf(get(acme))).toMatchObject({ status: 429, retryAfterMs: undefined });
    expect((await errorOf(get(acme))).message).toContain('encoded as gzip, gzip');
  });

  it('says how long to wait after a 429, and which settings to check after a 401 or 404', async () => {
    server.script.push(
      status(429, '{"error":{"message":"Exceeded rate limit"}}', { 'retry-after': '30' }),
      status(401),
      status(404),
    );
    const acme = accountFor();
    const limited = (await errorOf(get(acme))) as HttpError;
    expect(limited).toMatchObject({ status: 429, retryAfterMs: 30_000, retryable: true });
    expect(limited.message).toContain('wait 30 s');
    expect((await errorOf(get(acme))).message).toContain('MILLRACE_PASSWORD');
    expect((await errorOf(get(acme))).message).toContain('label');
  });

  it('does not show a secret, even if the service echoes it', async () => {
    const acme = accountFor();
    for (const echo of SPELLINGS) {
      server.script.push(
        status(400, `you sent ${echo}`),
        status(400, JSON.stringify({ error: { message: `you sent ${echo}` } })),
        status(500, JSON.stringify({ error: { message: CANARY } })),
      );
      for (let i = 0; i < 2; i++) expect((await errorOf(get(acme))).message).toContain('you sent');
      await errorOf(get(acme));
    }
  });

  it('shows no part of a secret at the end of a truncated body', async () => {
    const acme = accountFor();
    for (let before = 480; before <= 505; before++) {
      server.script.push(status(400, `${'x'.repeat(before)}${CANARY}`));
      const { body, message } = (await errorOf(get(acme))) as HttpError;
      expect(body.length).toBeLessThanOrEqual(500);
      expect(message).not.toContain('xc');
    }
  });
});
