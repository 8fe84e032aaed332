import { once } from 'node:events';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import path from 'node:path';
import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Account } from '../../src/http/account.js';
import type { HttpResponse } from '../../src/http/http-message.js';
import { request, sendRequest } from '../../src/http/request.js';
import { AT_ONCE_MS } from '../at-once.js';
import { outputOf, spawn } from '../child-processes.js';
import { compiled } from '../compiled.js';
import { cut, json, reset, ScriptedServer, stall, status } from './scripted-server.js';
import {
  accountFor,
  CANARY,
  errorOf,
  get,
  SPELLINGS,
  serveEachTest,
  server,
  textOf,
} from './served-requests.js';
import { impatient } from './virtual-time.js';

serveEachTest();

describe('sendRequest', () => {
  const posted = async () => {
    server.script.push(json({ answer: 'é🎉' }));
    const answer = await sendRequest(accountFor(), {
      method: 'POST',
      url: new URL(`${server.url}/a/b?c=d`),
      body: '{"x":"é"}',
      headers: { 'content-type': 'application/json' },
    });
    return { answer, text: await textOf(answer), received: server.received[0] };
  };

  it('sends the method, URL and body of the call', async () => {
    const { received } = await posted();
    expect(received).toMatchObject({ method: 'POST', url: '/a/b?c=d', body: '{"x":"é"}' });
  });

  it('sends the credentials of the account', async () => {
    const { received } = await posted();
    expect(received?.headers.authorization).toBe(
      `Basic ${Buffer.from(`a@b.c:${CANARY}`).toString('base64')}`,
    );
  });

  it('requests gzip', async () => {
    const { received } = await posted();
    expect(received?.headers['accept-encoding']).toBe('gzip');
  });

  it('returns the status and the text of the response', async () => {
    const { answer, text } = await posted();
    expect(answer.status).toBe(200);
    expect(JSON.parse(text)).toEqual({ answer: 'é🎉' });
  });

  it('returns the URL without its query', async () => {
    expect((await posted()).answer.url).toBe(`${server.url}/a/b?...`);
  });

  it('decodes a gzip body and counts the compressed bytes', async () => {
    const body = gzipSync('x'.repeat(300_000));
    server.script.push(response => {
      response.setHeader('content-encoding', 'gzip');
      response.end(body);
    });
    const answer = await get(accountFor());
    expect(await textOf(answer)).toBe('x'.repeat(300_000));
    expect(answer.receivedBytes).toBe(body.length);
  });

  it.each(['', ' ', 'identity'])(
    'does not decode a body with the content encoding %j',
    async encoding => {
      server.script.push(status(200, 'as it is', { 'content-encoding': encoding }));
      expect(await textOf(await get(accountFor()))).toBe('as it is');
    },
  );

  it('reuses the connection after a success and after an error response', async () => {
    server.script.push(json(1), status(500, 'x'.repeat(10_000)), status(404), json(2));
    const acme = accountFor();
    await textOf(await get(acme));
    await errorOf(get(acme));
    await errorOf(get(acme));
    await textOf(await get(acme));
    expect(server.sockets.size).toBe(1);
  });

  it('keeps the idle connection for the next request if it is aborted as soon as it is called', async () => {
    server.otherwise = json({});
    const acme = accountFor();
    await textOf(await get(acme));
    const stop = new AbortController();
    const aborted = get(acme, { signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    await textOf(await get(acme));
    expect(server.received.length).toBe(2);
    expect(server.sockets.size).toBe(1);
  });

  it('leaves no connection open after `await using` of the account', async () => {
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
    // A different host name is a different origin, even if the port is the same.
    const named = new URL(server.url);
    named.hostname = 'localhost';
    server.script.push(json({}));
    await textOf(await sendRequest(acme, { method: 'GET', url: named })).catch(() => {});
    expect(other.received[0]?.headers.authorization).toBeUndefined();
    for (const { headers } of server.received) expect(headers.authorization).toBeUndefined();
    await other.stop();
  });
});

describe('a connection that is kept alive', () => {
  it('never delivers a late response to a later request', async () => {
    const answer = (text: string) =>
      `HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
    let requests = 0;
    const raw = createTcpServer(socket => {
      socket.on('error', () => {});
      socket.on('data', () => {
        requests++;
        // Sends an additional response that no request has asked for.
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

describe('a request to the service', () => {
  const search = (acme: Account, read: (answer: HttpResponse) => Promise<unknown> = textOf) =>
    request(acme, { method: 'GET', url: new URL(server.url), family: 'search' }, read);

  it('leaves no listener on its abort signal', async () => {
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

  it('is repeated from the beginning if the body is cut off', async () => {
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

  it('does not keep the process running', async () => {
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
