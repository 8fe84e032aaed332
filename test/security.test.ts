import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { Activity } from '../src/activity/activity.js';
import { Secret } from '../src/http/secret.js';
import { fromJetStream } from '../src/jetstream/index.js';
import { parseJobCsv, parseJobListing } from '../src/jobs/parse-job.js';
import { parseExact } from '../src/json/exact-json.js';
import { createService } from '../src/service/index.js';
import { StateFile } from '../src/service/state-file.js';
import { authorization } from '../src/users/signature.js';
import { pageNamed, root } from './pages.js';

describe('the page of security', () => {
  const rows = pageNamed('src/SECURITY.md')
    .text.split('\n')
    .filter(line => line.startsWith('|') && !/^\|(---| Attack )/.test(line))
    .map(line =>
      line
        .split('|')
        .slice(1, -1)
        .map(cell => cell.trim()),
    );

  it('names tests that exist, by file and title', () => {
    expect(rows.length).toBeGreaterThan(50);
    for (const [attack = '', holds, tests = ''] of rows) {
      expect([attack, holds], attack).not.toContain('');
      for (const test of tests.split('<br>')) {
        const [, file = '', title = ''] = /^`([^`]+)`: (.+)$/.exec(test) ?? [];
        expect(title, `${attack}: ${test}`).not.toBe('');
        const text = readFileSync(path.join(root, file), 'utf8');
        const quoted = ["'", '"', '`'].map(quote => `${quote}${title}${quote}`);
        const found = quoted.some(name => text.includes(name));
        expect(found, `${file} has no test with the title ${title}`).toBe(true);
      }
    }
  });
});

const sources = readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.ts'))
  .map(name => ({ name, text: readFileSync(path.join(root, 'src', name), 'utf8') }));

describe('credentials', () => {
  const CANARY = 'kanarienvogel';
  afterEach(() => vi.restoreAllMocks());

  it('a nonce does not depend on Math.random', () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.5);
    const headers = Array.from({ length: 200 }, () =>
      authorization(
        { method: 'POST', url: new URL('https://data.test/') },
        { consumerKey: 'k', consumerSecret: new Secret('s') },
        { now: () => 0 },
      ),
    );
    const nonces = headers.map(header => /oauth_nonce="([^"]+)"/.exec(header)?.[1]);
    expect(new Set(nonces).size).toBe(200);
    expect(nonces).not.toContain(undefined);
  });

  it('secrets are not compared by operators', () => {
    const secret = '(?:\\w+\\??\\.)*\\w*(?:password|secret|signature|verifier|csrf)';
    const other = '(?!undefined|null|\'\'|"")[\\w\'"(]';
    const compared = new RegExp(
      `\\b${secret}\\s*[!=]==?\\s*${other}|[\\w)]\\s*[!=]==?\\s*${secret}\\b(?!\\s*[.(])`,
      'i',
    );
    expect(compared.test('if (password === given)')).toBe(true);
    expect(compared.test('if (given !== this.csrf)')).toBe(true);
    expect(compared.test('if (isSameSecret(verifier, given))')).toBe(false);
    const found = sources
      .filter(({ name }) => name.startsWith('service'))
      .flatMap(({ name, text }) =>
        text
          .split('\n')
          .filter(line => compared.test(line) && !/undefined|typeof/.test(line))
          .map(line => `${name}: ${line.trim()}`),
      );
    expect(found).toEqual([]);
  });

  it('a signed address in a response about files is never shown whole', () => {
    const bad = `http://files.test/a.json.gz?Signature=${CANARY}`;
    const acts = [
      () => parseJobListing({ urlCount: 1, urlList: [bad] }, 'https://jobs.test/'),
      () => parseJobListing({ urlCount: [bad] }, 'https://jobs.test/'),
      () => parseJobCsv(`a.json.gz\t${bad}`, 'https://jobs.test/'),
      () => parseJobCsv(`https://files.test/a.json.gz?Signature=${CANARY}`, 'https://jobs.test/'),
    ];
    for (const act of acts) {
      let error: unknown;
      try {
        act();
      } catch (thrown) {
        error = thrown;
      }
      expect(error).toBeInstanceOf(Error);
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(CANARY);
    }
  });

  it.each([`nats://user:${CANARY}@host:99999`, `http://user:${CANARY}@host`, `nats://${CANARY}@`])(
    'an address of a JetStream server that is wrong is refused without its password',
    address => {
      let error: unknown;
      try {
        fromJetStream({ servers: address, stream: 'posts' } as never);
      } catch (thrown) {
        error = thrown;
      }
      expect(error).toMatchObject({ code: 'ERR_OPTION', option: 'servers' });
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(CANARY);
    },
  );

  it('secret state of the service is readable by its owner only', async () => {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'millrace-state-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = path.join(folder, 'oauth', 'grants.json');
    await new StateFile(file, 'the grants', { secret: true }).write({ secret: CANARY });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(path.dirname(file))).mode & 0o777).toBe(0o700);
    const grants = sources.find(({ name }) => name === path.join('service', 'users', 'grants.ts'));
    expect(grants?.text).toContain('{ secret: true }');
  });

  it('undici is a version that bounds memory, and sends each request itself', () => {
    const [major = 0, minor = 0, patch = 0] = manifest.dependencies.undici.split('.').map(Number);
    expect(major).toBe(7);
    expect(minor * 1_000 + patch).toBeGreaterThanOrEqual(30_002);
    const using = sources.filter(({ text }) =>
      /interceptors|\.compose\(|RetryAgent|maxRedirections|CacheStore/.test(text),
    );
    expect(using.map(({ name }) => name)).toEqual([]);
  });
});

it('keys such as __proto__ change no other object', async () => {
  const hostile =
    '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"id_str":"1","created_at":"Sat Jan 06 20:00:00 +0000 2018","user":{"__proto__":{"polluted":1},"id_str":"2"}}';
  expect(JSON.stringify(parseExact(hostile))).toContain('"__proto__"');
  const { post } = new Activity(Buffer.from(hostile));
  expect(Object.getPrototypeOf(post)).toBe(Object.prototype);
  const { baseUrl } = await started();
  const paths = ['_control/faults', '_control/clock', '_control/compliance'];
  const search = 'search/30day/accounts/local/dev.json';
  const login = `Basic ${Buffer.from('dev@example.com:local-service').toString('base64')}`;
  for (const name of [...paths, search])
    await fetch(`${baseUrl}/${name}`, {
      ...{ method: 'POST', body: hostile, headers: { authorization: login } },
    });
  expect('polluted' in {}).toBe(false);
  expect('polluted' in Object).toBe(false);
});

describe('the local service', () => {
  it('no page and no control path answers under another host name', async () => {
    const { baseUrl } = await started();
    const pages = ['/', '/console', '/console/jobs', '/console/sign-in', '/status'];
    const users = ['/oauth/authenticate?oauth_token=x', '/oauth/authorize', '/oauth/grants'];
    for (const host of ['evil.example', '127.0.0.1.evil.example', 'localhost.', '2130706433'])
      for (const [expected, ...addresses] of [
        [421, ...pages, ...users],
        [403, '/_control/clock', '/_control/faults', '/_control/grants'],
      ] as const)
        for (const address of addresses)
          expect(await statusOf(`${baseUrl}${address}`, { host }), `${address} at ${host}`).toBe(
            expected,
          );
  });

  it('headers that are too large are refused, and the next request is answered', async () => {
    const { baseUrl } = await started();
    expect(await statusOf(`${baseUrl}/status`, { 'x-large': 'x'.repeat(70_000) })).toBe(431);
    expect(await statusOf(`${baseUrl}/status`, {})).toBe(200);
  });

  it('hundreds of slow requests keep no other from its answer, on either origin', async () => {
    const { baseUrl, service } = await started();
    const { port } = new URL(baseUrl);
    const sockets = await Promise.all(
      Array.from(
        { length: 500 },
        () =>
          new Promise<net.Socket>(resolve => {
            const socket = net.connect(Number(port), '127.0.0.1', () => resolve(socket));
            socket.on('error', () => {});
            socket.write('GET /status HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ');
          }),
      ),
    );
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
    });
    expect(await statusOf(`${baseUrl}/status`, {})).toBe(200);
    // They are ended after this time; the origin of data files has the same limits.
    expect([service.headersTimeout, service.requestTimeout]).toEqual([10_000, 30_000]);
    const servers = sources.filter(
      ({ name, text }) => name.startsWith('service') && /createServer\(|extends Server/.test(text),
    );
    expect(servers.length).toBe(2);
    for (const { name, text } of servers) expect(text, name).toContain('SLOW_CLIENTS');
  });
});

async function started() {
  const service = createService();
  const { baseUrl } = await service.start();
  onTestFinished(() => service.stop());
  return { service, baseUrl };
}

function statusOf(url: string, headers: Readonly<Record<string, string>>) {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { headers }, response => {
      resolve(response.resume().statusCode);
    });
    request.on('error', reject);
  });
}
