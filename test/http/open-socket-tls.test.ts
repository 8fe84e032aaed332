import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import path from 'node:path';
import { pipeline as pipe } from 'node:stream';
import { createServer, type Server } from 'node:tls';
import { collect, pipeline, search } from 'millrace';
import { type Addresses, createService } from 'millrace/service';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { account } from '../../src/http/account.js';
import { outputOf, spawn } from '../child-processes.js';
import { compiled } from '../compiled.js';
import { type Certificate, makeCertificate } from './certificate.js';
import { ProxyServer } from './proxy-server.js';

const HOST = 'search.example';
const PASSWORD = 'canary:p@ss';
const service = createService({ postsPerMinute: 20, limits: 'relaxed' });
let addresses: Addresses;
let certificate: Certificate;
let front: Server;
let frontPort: number;

beforeAll(async () => {
  certificate = makeCertificate([`DNS:${HOST}`, 'IP:127.0.0.1']);
  addresses = await service.start();
  const port = Number(new URL(addresses.baseUrl).port);
  front = createServer(certificate, socket => {
    const upstream = connect(port, '127.0.0.1');
    for (const one of [socket, upstream]) one.on('error', () => {});
    pipe(socket, upstream, () => {});
    pipe(upstream, socket, () => {});
  });
  front.on('tlsClientError', () => {});
  front.listen(0, '127.0.0.1');
  await once(front, 'listening');
  frontPort = (front.address() as AddressInfo).port;
});
afterAll(async () => {
  await service.stop();
  front.close();
  certificate.remove();
});

interface Answer {
  readonly code: number | null;
  readonly stderr: string;
  readonly result: Readonly<Record<string, unknown>>;
}

async function runChild(environment: Readonly<Record<string, string>>): Promise<Answer> {
  const settings = {
    MILLRACE_URL: `https://${HOST}`,
    MILLRACE_ACCOUNT: addresses.account,
    MILLRACE_LABEL: addresses.label,
    MILLRACE_STREAM_LABEL: addresses.streamLabel,
    MILLRACE_PUBLISHER: addresses.publisher,
    MILLRACE_EMAIL: addresses.email,
    MILLRACE_PASSWORD: addresses.password,
  };
  const { PATH = '' } = process.env;
  const script = compiled(path.join(import.meta.dirname, 'proxied-child.ts'));
  const child = spawn(process.execPath, [script], {
    env: { PATH, ...settings, ...environment },
  });
  const { code, stdout, stderr } = await outputOf(child);
  for (const shown of [stdout, stderr])
    for (const secret of ['canary', Buffer.from(`user:${PASSWORD}`).toString('base64')])
      expect(shown).not.toContain(secret);
  return { code, stderr, result: JSON.parse(stdout || '{}') };
}

const withLogin = (url: string) => url.replace('//', `//user:${encodeURIComponent(PASSWORD)}@`);

it.each(['http', 'https'] as const)(
  'search, counts and replay receive data through an %s proxy with a login',
  async scheme => {
    const proxy = await new ProxyServer(
      frontPort,
      scheme === 'https' ? certificate : undefined,
    ).start();
    proxy.login = `user:${PASSWORD}`;
    const { code, stderr, result } = await runChild({
      HTTPS_PROXY: withLogin(proxy.url),
      NODE_EXTRA_CA_CERTS: certificate.file,
    });
    expect(stderr).toBe('');
    expect(code).toBe(0);
    // Newer posts may have arrived between the two searches.
    const direct = await pipeline(
      search(account(addresses, {}), { product: '30day', query: 'rain', limit: 200 }),
      collect(),
    );
    expect(result.ids).toHaveLength(50);
    expect((result.ids as string[]).filter(id => direct.some(post => post.id === id)).length).toBe(
      50,
    );
    expect(result.counted).toBeGreaterThan(50);
    expect(result.replayed).toBeGreaterThan(500);
    expect(result.some).toBe(1);
    // The service closes an idle connection after 5 s. The process must end before that.
    expect(result.endMs).toBeLessThan(4_000);
    expect(new Set(proxy.asked.map(({ target }) => target))).toEqual(new Set([`${HOST}:443`]));
    await proxy.closed();
    await proxy.stop();
  },
);

it('the error for an untrusted certificate of the target names the target and the proxy', async () => {
  const proxy = await new ProxyServer(frontPort).start();
  const { result } = await runChild({ https_proxy: proxy.url });
  expect(result).toMatchObject({
    name: 'ConnectionError',
    failure: 'refused',
    retryable: false,
    proxy: proxy.url,
  });
  expect(result.message).toContain(`https://${HOST}/`);
  expect(result.message).toContain(`(through the proxy ${proxy.url}): its certificate is not`);
  expect(result.message).toContain('NODE_EXTRA_CA_CERTS');
  await proxy.stop();
});

it('the error for an untrusted certificate of the proxy names the proxy variable', async () => {
  const proxy = await new ProxyServer(frontPort, certificate).start();
  const { result } = await runChild({ HTTPS_PROXY: withLogin(proxy.url) });
  expect(result).toMatchObject({ name: 'ConnectionError', retryable: false });
  expect(result.message).toContain('of HTTPS_PROXY cannot be used: its certificate is not trusted');
  expect(proxy.asked).toEqual([]);
  await proxy.stop();
});

it('a certificate for another host name is rejected through a proxy', async () => {
  const proxy = await new ProxyServer(frontPort).start();
  const { result } = await runChild({
    HTTPS_PROXY: proxy.url,
    MILLRACE_URL: 'https://other.example',
    NODE_EXTRA_CA_CERTS: certificate.file,
  });
  expect(result).toMatchObject({ name: 'ConnectionError', retryable: false });
  expect(result.message).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
  await proxy.stop();
});
