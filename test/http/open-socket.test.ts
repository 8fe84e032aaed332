import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { inspect } from 'node:util';
import { collect, pipeline, search } from 'millrace';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { ConnectionError, type MillraceError, OptionError } from '../../src/base/errors.js';
import { type Account, type AccountOptions, account } from '../../src/http/account.js';
import type { HttpResponse } from '../../src/http/http-message.js';
import { request, sendRequest } from '../../src/http/request.js';
import { AT_ONCE_MS } from '../at-once.js';
import { PROXIED_HOST, proxiedServer } from './proxied-server.js';
import {
  babblingProxy,
  closingProxy,
  closingTunnel,
  deafTunnel,
  type ProxyServer,
  refuse,
  stalledProxy,
  type Tunnel,
} from './proxy-server.js';
import { cut, json, type ScriptedServer, silence, stall } from './scripted-server.js';
import { impatient } from './virtual-time.js';

const PASSWORD = 'canary:p@ss/w"rd';
const LOGIN = `user:${PASSWORD}`;
const SPELLINGS = [
  PASSWORD,
  encodeURIComponent(PASSWORD),
  JSON.stringify(PASSWORD).slice(1, -1),
  Buffer.from(PASSWORD).toString('base64'),
  Buffer.from(LOGIN).toString('base64'),
];
const TARGET = new URL(`http://${PROXIED_HOST}/path?signed=yes`);

let server: ScriptedServer;
let proxy: ProxyServer;

beforeEach(async () => {
  const proxied = await proxiedServer();
  ({ server, proxy } = proxied);
  return proxied.stop;
});

const withLogin = (url: string, login = LOGIN) => {
  const [user = '', ...rest] = login.split(':');
  return url.replace('//', `//${user}:${encodeURIComponent(rest.join(':'))}@`);
};

function accountFor(options: AccountOptions = {}, variable = withLogin(proxy.url)): Account {
  return account({ account: 'acme', ...options }, { HTTP_PROXY: variable });
}

function get(acme = accountFor(), signal?: AbortSignal, url = TARGET): Promise<HttpResponse> {
  return sendRequest(acme, { method: 'GET', url, isSignedUrl: true, signal });
}

async function textOf(answer: HttpResponse): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer.body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function errorOf(promise: Promise<unknown>): Promise<MillraceError> {
  const error = await promise.then(
    () => expect.fail('It did not fail'),
    error => error,
  );
  const shown = inspect(error, { depth: 9, showHidden: true }) + JSON.stringify(error);
  for (const spelling of SPELLINGS) expect(shown).not.toContain(spelling);
  return error;
}

describe('a request through a proxy', () => {
  it('opens a tunnel with the login in the proxy variable, and the next request reuses the tunnel', async () => {
    proxy.login = LOGIN;
    server.otherwise = json({ answer: 'é🎉' });
    const acme = accountFor();
    expect(JSON.parse(await textOf(await get(acme)))).toEqual({ answer: 'é🎉' });
    expect(JSON.parse(await textOf(await get(acme)))).toEqual({ answer: 'é🎉' });
    expect(proxy.asked).toEqual([
      {
        target: 'search.example:80',
        authorization: `Basic ${Buffer.from(LOGIN).toString('base64')}`,
      },
    ]);
    expect(server.received).toHaveLength(2);
    expect(server.received[0]).toMatchObject({ method: 'GET', url: '/path?signed=yes' });
    expect(server.received[0]?.headers).not.toHaveProperty('proxy-authorization');
    expect(server.received[0]?.headers.host).toBe('search.example');
    await acme.close();
    await proxy.closed();
  });

  it('sends no login to the proxy if the variable has none', async () => {
    server.otherwise = json({});
    await textOf(await get(accountFor({}, proxy.url)));
    expect(proxy.asked).toEqual([{ target: 'search.example:80', authorization: undefined }]);
  });

  it('is not sent to the proxy if its host is a loopback address or in NO_PROXY', async () => {
    server.otherwise = json({});
    await textOf(await get(accountFor(), undefined, new URL(`${server.url}/direct`)));
    expect(proxy.asked).toEqual([]);
    expect(server.received[0]?.url).toBe('/direct');
    const environment = { HTTP_PROXY: proxy.url, NO_PROXY: 'example' };
    const acme = account({ timeouts: { connectMs: 2_000 } }, environment);
    const error = await errorOf(get(acme));
    expect(error).toMatchObject({ failure: 'refused', proxy: undefined });
    expect(proxy.asked).toEqual([]);
  });

  it.each([
    ['200', undefined, '[1]'],
    ['403', refuse(403), '403 Forbidden'],
  ])(
    'skips a `100 Continue` of the proxy and then receives the response %s',
    async (_, answer, expected) => {
      proxy.script.push((socket, request) => {
        // Sends two informational responses in pieces. The pieces end in the middle of a response
        // head.
        socket.write('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Proc');
        setTimeout(() => {
          socket.write('essing\r\nX-A: b\r\n\r\n');
          (answer ?? proxy.otherwise)(socket, request);
        }, 20);
      });
      server.otherwise = json([1]);
      const got = await get().then(textOf, (error: Error) => error.message);
      expect(got).toContain(expected);
    },
  );

  it('is retried after the proxy responds with 502, closes the connection or is slow', async () => {
    proxy.script.push(refuse(502), closingProxy, stalledProxy);
    server.otherwise = json([1]);
    const failures: string[] = [];
    const acme = accountFor({
      timing: impatient(),
      timeouts: { connectMs: 2_000 },
      onRetry: ({ error }) => failures.push(error.message),
    });
    const call = { method: 'GET', url: TARGET, isSignedUrl: true, family: 'usage' } as const;
    expect(await request(acme, call, textOf)).toBe('[1]');
    expect(failures).toEqual([
      expect.stringContaining('502 Bad Gateway'),
      expect.stringContaining('closed the connection'),
      expect.stringContaining('did not answer in time'),
    ]);
  });
});

describe('a proxy that refuses a tunnel', () => {
  const cases: readonly (readonly [string, Tunnel, string, boolean])[] = [
    ['403', refuse(403), '403 Forbidden. Its rules do not allow this host', false],
    ['405', refuse(405), '405 Method Not Allowed', false],
    ['502', refuse(502), '502 Bad Gateway', true],
    ['503', refuse(503), '503 Service Unavailable', true],
    ['429', refuse(429), '429 Too Many Requests', true],
    [
      'a closed connection',
      closingProxy,
      'closed the connection without an answer to CONNECT',
      true,
    ],
    ['a response that is not HTTP', babblingProxy, 'does not answer as an HTTP proxy', true],
    ['silence', stalledProxy, 'did not answer in time (ETIMEDOUT)', true],
    [
      '407 for NTLM',
      refuse(407, 'Proxy-Authenticate: Negotiate', 'Proxy-Authenticate: NTLM'),
      'It takes Negotiate or NTLM logins, and only Basic is supported',
      false,
    ],
  ];
  it.each(cases)(
    'causes an error that names the target and the proxy: %s',
    async (_, tunnel, message, retryable) => {
      proxy.script.push(tunnel);
      const connectMs = tunnel === stalledProxy ? 500 : AT_ONCE_MS;
      const error = await errorOf(get(accountFor({ timeouts: { connectMs } })));
      expect(error).toBeInstanceOf(ConnectionError);
      expect(error).toMatchObject({
        failure: 'refused',
        retryable,
        url: 'http://search.example/path?...',
        proxy: proxy.url,
      });
      expect(error.message).toContain(
        `No connection for http://search.example/path?...: the proxy ${proxy.url} of HTTP_PROXY `,
      );
      expect(error.message).toContain(message);
      await proxy.closed();
      expect(server.received).toEqual([]);
    },
  );

  it('with a 407 causes an error with advice, whether the login is missing or wrong', async () => {
    proxy.login = LOGIN;
    const none = await errorOf(get(accountFor({}, proxy.url)));
    expect(none).toMatchObject({ failure: 'refused', retryable: false });
    expect(none.message).toContain(
      `set HTTP_PROXY to http://USER:PASSWORD@127.0.0.1:${proxy.port}`,
    );
    const wrong = await errorOf(get(accountFor({}, withLogin(proxy.url, 'user:wrong-canary'))));
    expect(wrong.message).toContain('Check the user and password in HTTP_PROXY');
    expect(wrong.message).not.toContain('wrong-canary');
  });

  it('causes an error that says whether no server listens or the proxy does not speak TLS', async () => {
    const { url } = proxy;
    await proxy.stop();
    const gone = await errorOf(get(accountFor({}, withLogin(url))));
    expect(gone).toMatchObject({ failure: 'refused', retryable: true, proxy: url });
    expect(gone.message).toContain('cannot be used: nothing listens there (ECONNREFUSED)');
    const other = await proxiedServer();
    onTestFinished(other.stop);
    const tls = other.proxy.url.replace('http:', 'https:');
    const plain = await errorOf(get(accountFor({}, withLogin(tls))));
    expect(plain).toMatchObject({ failure: 'refused', retryable: false, proxy: tls });
    expect(plain.message).toContain('If it speaks plain HTTP, write http:// in HTTP_PROXY');
  });
});

describe('a connection that breaks behind a proxy', () => {
  it.each([
    ['closed before the response', closingTunnel, silence, 'reset'],
    ['silent before the response', deafTunnel, silence, 'stalled'],
    ['closed during the response', undefined, cut({ text: 'x'.repeat(1000) }, 'length'), 'cut'],
    ['silent during the response', undefined, stall({ text: 'x'.repeat(1000) }), 'stalled'],
  ] as const)(
    'fails with the same kind of error as without a proxy, and names the proxy: %s',
    async (_, tunnel, reply, failure) => {
      if (tunnel !== undefined) proxy.script.push(tunnel);
      server.script.push(reply);
      const timeouts = { connectMs: 5_000, responseMs: 300, silenceMs: 300 };
      const error = await errorOf(get(accountFor({ timeouts })).then(textOf));
      expect(error).toMatchObject({ failure, retryable: true, proxy: proxy.url });
      expect(error.message).toContain(`search.example/path?... (through the proxy ${proxy.url})`);
      await proxy.closed();
    },
  );
});

describe('the abort of a request', () => {
  it.each([
    ['while the proxy opens the tunnel', stalledProxy, undefined],
    ['before the response', undefined, silence],
    ['during the response', undefined, stall({ text: 'x'.repeat(1000) })],
  ] as const)('closes both connections of the proxy immediately: %s', async (_, tunnel, reply) => {
    if (tunnel !== undefined) proxy.script.push(tunnel);
    if (reply !== undefined) server.script.push(reply);
    const controller = new AbortController();
    const pending = get(accountFor(), controller.signal).then(textOf);
    const outcome = pending.catch(error => error);
    while (tunnel === undefined ? server.received.length === 0 : proxy.asked.length === 0)
      await new Promise(resolve => setTimeout(resolve, 1));
    await new Promise(resolve => setTimeout(resolve, 10));
    const reason = new Error('mine');
    controller.abort(reason);
    expect(await outcome).toBe(reason);
    expect(await proxy.closed()).toBeLessThan(AT_ONCE_MS);
  });

  describe('while a TLS connection opens', () => {
    let deaf: Server;
    const sockets = new Set<Socket>();

    beforeEach(async () => {
      deaf = createServer(socket => {
        sockets.add(socket);
        socket.on('error', () => {}).resume();
        socket.on('close', () => sockets.delete(socket));
      }).listen(0, '127.0.0.1');
      await once(deaf, 'listening');
    });
    afterEach(() => new Promise(resolve => deaf.close(resolve)));

    it.each([
      ['a connection to the service', () => ({})],
      ['a connection to a proxy', (url: string) => ({ HTTPS_PROXY: url })],
    ])('closes its socket without waiting for the timeout: %s', async (_, environment) => {
      const url = `https://127.0.0.1:${(deaf.address() as AddressInfo).port}`;
      const target = 'HTTPS_PROXY' in environment(url) ? 'https://search.example' : url;
      const controller = new AbortController();
      const acme = account({ timeouts: { connectMs: 300_000 } }, environment(url));
      const pending = errorOf(get(acme, controller.signal, new URL(target)));
      while (sockets.size === 0) await new Promise(resolve => setTimeout(resolve, 1));
      const reason = new Error('mine');
      controller.abort(reason);
      expect(await pending).toBe(reason);
      const start = performance.now();
      while (sockets.size > 0) await new Promise(resolve => setTimeout(resolve, 1));
      expect(performance.now() - start).toBeLessThan(AT_ONCE_MS);
    });
  });
});

describe('a proxy variable without a valid address', () => {
  it('causes an OptionError when a request is made, before anything is sent', async () => {
    const environment = { https_proxy: `socks5://${LOGIN}@host:1080` };
    const settings = { account: 'acme', label: 'prod', email: 'a@b.c', password: 'x' };
    const acme = account({ ...settings, url: 'https://search.example' }, environment);
    const query = { product: '30day', query: 'rain' } as const;
    const error = await errorOf((async () => pipeline(search(acme, query), collect()))());
    expect(error).toBeInstanceOf(OptionError);
    expect(error).toMatchObject({ option: 'https_proxy' });
    expect(error.message).toContain('socks5:// proxies are not supported');
  });

  it('is ignored for requests to loopback', async () => {
    server.otherwise = json({});
    const acme = account({}, { http_proxy: 'socks5://host', HTTPS_PROXY: 'http://%' });
    expect(await textOf(await get(acme, undefined, new URL(server.url)))).toBe('{}');
  });

  it('is shown without its login when an account is printed', () => {
    const acme = accountFor();
    const shown = inspect(acme, { depth: 9, showHidden: true }) + JSON.stringify(acme);
    for (const spelling of SPELLINGS) expect(shown).not.toContain(spelling);
  });
});
