import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer as createTcpServer, type Server } from 'node:net';
import path from 'node:path';
import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConnectionError, DataError, HttpError, MillraceError } from '../../src/errors.js';
import { type Account, type AccountOptions, account } from '../../src/http/account.js';
import { brokenConnection } from '../../src/http/connection-errors.js';
import type { HttpRequest, HttpResponse } from '../../src/http/http-message.js';
import { readText } from '../../src/http/read-json.js';
import { request, sendRequest } from '../../src/http/request.js';
import { AT_ONCE_MS } from '../at-once.js';
import { outputOf, spawn } from '../child-processes.js';
import { compiled } from '../compiled.js';
import { cut, json, reset, ScriptedServer, silence, stall, status } from './scripted-server.js';
import { impatient } from './virtual-time.js';

const CANARY = 'canary pa55/word"';
const SPELLINGS = [
  CANARY,
  encodeURIComponent(CANARY),
  JSON.stringify(CANARY).slice(1, -1),
  Buffer.from(CANARY).toString('base64'),
  Buffer.from(`a@b.c:${CANARY}`).toString('base64'),
];

let server: ScriptedServer;

beforeEach(async () => {
  server = await new ScriptedServer().start();
});
afterEach(() => server.stop());

function accountFor(options: AccountOptions = {}): Account {
  return account(
    { baseUrl: server.url, account: 'acme', email: 'a@b.c', password: CANARY, ...options },
    {},
  );
}

function get(acme: Account, more: Partial<HttpRequest> = {}): Promise<HttpResponse> {
  return sendRequest(acme, { method: 'GET', url: new URL(`${server.url}/path`), ...more });
}

async function textOf(answer: HttpResponse): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer.body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function errorOf(promise: Promise<unknown>): Promise<MillraceError> {
  try {
    await promise;
  } catch (error) {
    expect(error).toBeInstanceOf(MillraceError);
    const shown = inspect(error, { depth: 9, showHidden: true }) + JSON.stringify(error);
    for (const spelling of SPELLINGS) expect(shown).not.toContain(spelling);
    return error as MillraceError;
  }
  throw new Error('It did not fail');
}

describe('a request and its response', () => {
  it('sends method, body and credentials, and reads the response', async () => {
    server.script.push(json({ answer: 'é🎉' }));
    const answer = await sendRequest(accountFor(), {
      method: 'POST',
      url: new URL(`${server.url}/a/b?c=d`),
      body: '{"x":"é"}',
      headers: { 'content-type': 'application/json' },
    });
    expect(JSON.parse(await textOf(answer))).toEqual({ answer: 'é🎉' });
    expect(answer.status).toBe(200);
    expect(answer.url).toBe(`${server.url}/a/b?...`);
    const [received] = server.received;
    expect(received).toMatchObject({ method: 'POST', url: '/a/b?c=d', body: '{"x":"é"}' });
    expect(received?.headers.authorization).toBe(
      `Basic ${Buffer.from(`a@b.c:${CANARY}`).toString('base64')}`,
    );
    expect(received?.headers['accept-encoding']).toBe('gzip');
  });

  it('decodes gzip and counts the compressed bytes', async () => {
    const body = gzipSync('x'.repeat(300_000));
    server.script.push(response => {
      response.setHeader('content-encoding', 'gzip');
      response.end(body);
    });
    const answer = await get(accountFor());
    expect(await textOf(answer)).toBe('x'.repeat(300_000));
    expect(answer.receivedBytes).toBe(body.length);
  });

  it.each(['', ' ', 'identity'])('treats the content encoding %j as none', async encoding => {
    server.script.push(status(200, 'as it is', { 'content-encoding': encoding }));
    expect(await textOf(await get(accountFor()))).toBe('as it is');
  });

  it('reuses its connection after success and after an error', async () => {
    server.script.push(json(1), status(500, 'x'.repeat(10_000)), status(404), json(2));
    const acme = accountFor();
    await textOf(await get(acme));
    await errorOf(get(acme));
    await errorOf(get(acme));
    await textOf(await get(acme));
    expect(server.sockets.size).toBe(1);
  });

  it('leaves no connection open after `await using`, after which the account can be used again', async () => {
    server.otherwise = json({});
    const acme = accountFor();
    {
      await using _scope = acme;
      await textOf(await get(acme));
      expect(server.sockets.size).toBe(1);
    }
    await expect.poll(() => server.sockets.size).toBe(0);
    await textOf(await get(acme));
    expect(server.sockets.size).toBe(1);
    await acme.close();
  });

  it('sends no credentials to another origin', async () => {
    const other = await new ScriptedServer().start();
    other.otherwise = json({});
    const acme = accountFor();
    await textOf(await sendRequest(acme, { method: 'GET', url: new URL(`${other.url}/file`) }));
    // The same port under another name is another origin, too.
    const named = new URL(server.url);
    named.hostname = 'localhost';
    server.script.push(json({}));
    await textOf(await sendRequest(acme, { method: 'GET', url: named })).catch(() => {});
    expect(other.received[0]?.headers.authorization).toBeUndefined();
    for (const { headers } of server.received) expect(headers.authorization).toBeUndefined();
    await other.stop();
  });
});

describe('an error response', () => {
  it.each([301, 302, 303, 307, 308])('is an error for a %i, which is not followed', async code => {
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
  });

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
  ])('has the message of its body: %j', async (body, message) => {
    server.script.push(status(422, body));
    const error = (await errorOf(get(accountFor()))) as HttpError;
    expect(error).toMatchObject({ status: 422, method: 'GET', url: `${server.url}/path` });
    expect(error.body).toBe(message);
    expect(error.message).toBe(
      `GET ${server.url}/path answered 422 Unprocessable Entity${message && `: ${message}`}`,
    );
  });

  it('has its message in gzip, too', async () => {
    server.script.push(response => {
      response.writeHead(400, { 'content-encoding': 'gzip' });
      response.end(gzipSync('{"error":{"message":"Invalid json"}}'));
    });
    expect((await errorOf(get(accountFor()))).message).toContain('400 Bad Request: Invalid json');
  });

  it('keeps its status if its body is cut, damaged or endless', async () => {
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
    // The connection of the second response, which was complete.
    await server.closed(1);
  });

  it('is typed where headers come twice (faults fuzz responses, seed 13)', async () => {
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

  it('says how long to wait and what to check', async () => {
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

  it('does not show a part of a secret where a long body is cut', async () => {
    const acme = accountFor();
    for (let before = 480; before <= 505; before++) {
      server.script.push(status(400, `${'x'.repeat(before)}${CANARY}`));
      const { body, message } = (await errorOf(get(acme))) as HttpError;
      expect(body.length).toBeLessThanOrEqual(500);
      expect(message).not.toContain('xc');
    }
  });

  it('does not show a secret in a cause either, of a 200 that is read', async () => {
    const acme = accountFor();
    server.script.push(response => response.end(CANARY));
    const call = { method: 'GET', url: new URL(server.url), family: 'usage' } as const;
    const error = await errorOf(
      request(acme, call, async response => {
        throw new DataError('Damaged', { cause: new Error(await readText(response)) });
      }),
    );
    expect((error.cause as Error).message).toBe('[redacted]');
    expect((error.cause as Error).stack).not.toContain(CANARY);
  });
});

describe('a connection that breaks', () => {
  it('before the response is an error of kind refused or reset', async () => {
    server.script.push(reset);
    const acme = accountFor();
    expect(await errorOf(get(acme))).toMatchObject({ failure: 'reset', retryable: true });
    const closed = createTcpServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    await new Promise(resolve => closed.close(resolve));
    const url = new URL(`http://127.0.0.1:${port}/x`);
    const error = await errorOf(sendRequest(acme, { method: 'GET', url }));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ failure: 'refused', retryable: true, url: url.href });
    expect(error.message).toContain('nothing listens there');
  });

  it('with https to a plain HTTP server names that cause, not a certificate', async () => {
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
  ])('with %s has a message for that cause', (code, message) => {
    const cause = Object.assign(new Error('of OpenSSL'), { code });
    const error = brokenConnection(cause, { url: 'https://host.test/' }, false);
    expect(error).toMatchObject({ failure: 'refused', retryable: false });
    expect(error.message).toContain(message);
  });

  it.each([
    ['length', 'cut'],
    ['chunked', 'cut'],
    ['reset', expect.stringMatching(/^(reset|cut)$/)],
  ] as const)('in the body (%s) is reported after the received bytes', async (how, failure) => {
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
  });

  it('in the middle of gzip is an error of kind cut, even if the HTTP response ends cleanly', async () => {
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

  it('is distinguished from a wrong byte in gzip, which is a retryable data error', async () => {
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

  it('is distinguished from an encoding that was not requested, which is a data error', async () => {
    server.script.push(status(200, 'x', { 'content-encoding': 'br' }));
    expect(await errorOf(get(accountFor()))).toBeInstanceOf(DataError);
  });

  it('by silence is an error of kind stalled, before the response and in its body', async () => {
    server.script.push(silence, stall({ text: 'x'.repeat(100) }));
    const error = await errorOf(get(accountFor({ timeouts: { responseMs: 30 } })));
    expect(error).toMatchObject({ failure: 'stalled' });
    expect(error.message).toContain('did not begin to answer');
    const answer = await get(accountFor({ timeouts: { silenceMs: 60 } }));
    expect((await errorOf(textOf(answer))).message).toContain('sent nothing for 60 ms');
    await server.closed();
  });

  it('by silence is not what arrives while the event loop is blocked (faults matrix, starved of CPU)', async () => {
    let sendRest = () => {};
    server.script.push(response => {
      response.write('begun');
      sendRest = () => response.end(', ended');
    });
    const answer = await get(accountFor({ timeouts: { silenceMs: 500 } }));
    const body = answer.body[Symbol.asyncIterator]();
    await body.next();
    sendRest();
    const until = performance.now() + 700;
    while (performance.now() < until);
    // Its timer is due before the socket is read.
    expect(String((await body.next()).value)).toBe(', ended');
    expect((await body.next()).done).toBe(true);
  });

  it('by silence is noticed even if the body is not being read', async () => {
    server.script.push(stall({ text: 'x'.repeat(100) }));
    const answer = await get(accountFor({ timeouts: { silenceMs: 300 } }));
    const body = answer.body[Symbol.asyncIterator]();
    expect((await body.next()).done).toBe(false);
    // The consumer is busy and does not read.
    await server.closed();
    expect(await errorOf(body.next() as Promise<unknown>)).toMatchObject({ failure: 'stalled' });
  });

  it('by silence after a pause of the reader is noticed when it reads again', async () => {
    const big = Buffer.alloc(8 * 1024 * 1024, 'x');
    server.script.push(response => {
      response.write(big);
    });
    const answer = await get(accountFor({ timeouts: { silenceMs: 500 } }));
    const body = answer.body[Symbol.asyncIterator]();
    let received = (await body.next()).value!.length;
    await new Promise(resolve => setTimeout(resolve, 1_000));
    // The client paused, not the service, so this silence does not count.
    expect(server.sockets.size).toBe(1);
    const error = await errorOf(
      (async () => {
        for (;;) received += (await body.next()).value!.length;
      })(),
    );
    expect(error).toMatchObject({ failure: 'stalled' });
    expect(received).toBe(big.length);
  });

  it('is read only as fast as its reader consumes it', async () => {
    let written = 0;
    server.script.push(response => {
      const more = () => {
        written += 64 * 1024;
        if (written < 64 * 1024 * 1024) response.write(Buffer.alloc(64 * 1024), more);
        else response.end();
      };
      more();
    });
    const answer = await get(accountFor());
    const body = answer.body[Symbol.asyncIterator]();
    await body.next();
    let before = -1;
    while (before !== written) {
      before = written;
      await new Promise(resolve => setTimeout(resolve, 50));
    }
    expect(answer.receivedBytes).toBeLessThan(1024 * 1024);
    answer.close();
    await server.closed();
  });
});

describe('bytes that are not HTTP', () => {
  let raw: Server;
  let hello = '';

  beforeEach(async () => {
    raw = createTcpServer(socket => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(hello));
    }).listen(0, '127.0.0.1');
    await once(raw, 'listening');
  });
  afterEach(() => new Promise(resolve => raw.close(resolve)));

  it.each([
    ['SSH-2.0-OpenSSH\r\n', 'reset'],
    ['HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\n', 'reset'],
    ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 7\r\n\r\nokevil!', 'reset'],
    ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\ncontent-length: 2\r\n\r\nok', 'reset'],
    ['HTTP/1.1 200 OK\r\nContent-Length: 2, 7\r\n\r\nokevil!', 'reset'],
    ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n', 'cut'],
    ['', 'reset'],
  ])('are a broken connection: %j', async (bytes, failure) => {
    hello = bytes;
    const url = new URL(`http://127.0.0.1:${(raw.address() as AddressInfo).port}/`);
    const acme = accountFor();
    const error = await errorOf(sendRequest(acme, { method: 'GET', url }).then(textOf));
    expect(error).toMatchObject({ code: 'ERR_CONNECTION', failure });
  });
});

describe('a connection that is kept alive', () => {
  it('never matches a response to a later request', async () => {
    const answer = (text: string) =>
      `HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
    let requests = 0;
    const raw = createTcpServer(socket => {
      socket.on('error', () => {});
      socket.on('data', () => {
        requests++;
        // One response more than requests on this connection.
        socket.write(answer(`right${requests}`) + (requests === 1 ? answer('poison') : ''));
      });
    }).listen(0, '127.0.0.1');
    await once(raw, 'listening');
    const url = new URL(`http://127.0.0.1:${(raw.address() as AddressInfo).port}/`);
    const acme = accountFor();
    expect(await textOf(await sendRequest(acme, { method: 'GET', url }))).toBe('right1');
    for (const wait of [0, 30]) {
      await new Promise(resolve => setTimeout(resolve, wait));
      const text = await sendRequest(acme, { method: 'GET', url }).then(textOf, () => 'an error');
      expect(text).not.toContain('poison');
    }
    raw.close();
  });
});

describe('an abort', () => {
  const reasons = [new Error('mine'), 'a string', undefined];

  it.each(reasons)('before the request throws its own reason: %s', async reason => {
    const signal = AbortSignal.abort(reason);
    await expect(get(accountFor(), { signal })).rejects.toBe(signal.reason);
    expect(server.received).toEqual([]);
  });

  it.each(reasons)('before the response closes the socket at once: %s', async reason => {
    server.script.push(silence);
    const controller = new AbortController();
    const pending = get(accountFor(), { signal: controller.signal });
    while (server.received.length === 0) await new Promise(resolve => setTimeout(resolve, 1));
    controller.abort(reason);
    await expect(pending).rejects.toBe(controller.signal.reason);
    expect(await server.closed()).toBeLessThan(AT_ONCE_MS);
  });

  it.each(reasons)('in the body closes the socket at once: %s', async reason => {
    server.script.push(stall({ text: 'x'.repeat(100) }));
    const controller = new AbortController();
    const answer = await get(accountFor(), { signal: controller.signal });
    const reading = textOf(answer);
    reading.catch(() => {});
    await new Promise(resolve => setTimeout(resolve, 10));
    controller.abort(reason);
    await expect(reading).rejects.toBe(controller.signal.reason);
    expect(await server.closed()).toBeLessThan(AT_ONCE_MS);
  });

  it('leaves no listener on the signal', async () => {
    const controller = new AbortController();
    let listeners = 0;
    const { signal } = controller;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners++;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners--;
      remove(...args);
    };
    server.script.push(json(1), status(500), reset, json(2));
    const acme = accountFor({ timing: impatient() });
    const url = new URL(server.url);
    await request(acme, { method: 'GET', url, family: 'search', signal }, textOf);
    await request(acme, { method: 'GET', url, family: 'search', signal }, textOf);
    expect(server.received.length).toBe(4);
    await new Promise(resolve => setTimeout(resolve, 10));
    expect(listeners).toBe(0);
  });
});

describe('a request', () => {
  const search = (acme: Account, read: (answer: HttpResponse) => Promise<unknown> = textOf) =>
    request(acme, { method: 'GET', url: new URL(server.url), family: 'search' }, read);

  it('starts again from the beginning if the body is cut', async () => {
    const page = { results: [1, 2, 3] };
    server.script.push(cut(page, 'length'), cut(page, 'chunked'), cut(page, 'reset'), json(page));
    expect(await search(accountFor({ timing: impatient() }))).toBe(JSON.stringify(page));
    expect(server.received.length).toBe(4);
  });

  it('reports each retry, without secrets', async () => {
    const told: string[] = [];
    const timing = impatient();
    server.script.push(status(503, CANARY), status(429, '', { 'retry-after': '3' }), json(1));
    const acme = accountFor({
      timing,
      onRetry: retrying => told.push(inspect(retrying, { depth: 9 })),
    });
    await search(acme);
    expect(told.length).toBe(2);
    for (const spelling of SPELLINGS) expect(told.join()).not.toContain(spelling);
    expect(timing.slept).toEqual([750, 4000]);
  });

  it('closes the connection if its reader stops early or fails', async () => {
    server.otherwise = stall({ text: 'x'.repeat(100) });
    const acme = accountFor();
    expect(await search(acme, async () => 'enough')).toBe('enough');
    expect(await server.closed()).toBeLessThan(AT_ONCE_MS);
    const bug = new TypeError('a bug of the reader');
    await expect(search(acme, () => Promise.reject(bug))).rejects.toBe(bug);
    expect(await server.closed()).toBeLessThan(AT_ONCE_MS);
  });

  it('does not keep the process alive', async () => {
    server.otherwise = json(1);
    const script = `
      const { account } = await import(${JSON.stringify(compiled(path.resolve('src/http/account.ts')))});
      const { request } = await import(${JSON.stringify(compiled(path.resolve('src/http/request.ts')))});
      const acme = account({ baseUrl: '${server.url}', email: 'a', password: 'b' }, {});
      const call = { method: 'GET', url: new URL('${server.url}'), family: 'search' };
      await request(acme, call, async answer => { for await (const chunk of answer.body); });
      const end = performance.now();
      process.on('exit', () => console.log(performance.now() - end));`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script]);
    const { code, stdout } = await outputOf(child);
    expect(code).toBe(0);
    expect(Number(stdout)).toBeLessThan(AT_ONCE_MS);
  });
});
