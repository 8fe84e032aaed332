import { readdirSync, readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { inspect } from 'node:util';
import ts from 'typescript';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { Secret } from '../src/base/secret.js';
import { parseJobCsv, parseJobListing } from '../src/jobs/parse-job.js';
import { createService } from '../src/service/index.js';
import { Grants } from '../src/service/users/grants.js';
import { authorization } from '../src/users/signed-call.js';
import { pageNamed, root } from './pages.js';
import { temporaryFolder } from './temporary-folder.js';

describe('the page src/SECURITY.md', () => {
  const rows = pageNamed('src/SECURITY.md')
    .text.split('\n')
    .filter(line => line.startsWith('|') && !/^\|(---| Attack )/.test(line))
    .map(line =>
      line
        .split('|')
        .slice(1, -1)
        .map(cell => cell.trim()),
    );

  it('names only tests that exist and run', () => {
    expect(rows.length).toBeGreaterThan(50);
    const read = new Map<string, ReadonlyMap<string, string>>();
    for (const [attack = '', holds, tests = ''] of rows) {
      expect([attack, holds], attack).not.toContain('');
      for (const test of tests.split('<br>')) {
        const [, file = '', title = ''] = /^`([^`]+)`: (.+)$/.exec(test) ?? [];
        expect(title, `${attack}: ${test}`).not.toBe('');
        const states = read.get(file) ?? statesIn(readFileSync(path.join(root, file), 'utf8'));
        read.set(file, states);
        expect(states.get(title), `${file}: ${title}`).toBe('runs');
      }
    }
  });

  it.each([
    ["it('one', () => {})", 'runs'],
    ["it.each([1])('one', () => {})", 'runs'],
    ["describe.each([1])('all', () => { it('one', () => {}) })", 'runs'],
    ["test('one', () => {})", 'runs'],
    ["it.skipIf(isMissing)('one', () => {})", 'runs'],
    ["// it('one', () => {})", undefined],
    ["const text = ['one']", undefined],
    ["it.skip('one', () => {})", 'skip'],
    ["it.todo('one')", 'todo'],
    ["it.fails('one', () => {})", 'fails'],
    ["it.skip.each([1])('one', () => {})", 'skip'],
    ["describe.skip('all', () => { it('one', () => {}) })", 'skip'],
    ["it.runIf(isNightly)('one', () => {})", 'runIf'],
    ["it.skipIf(isMissing || !isNightly)('one', () => {})", 'isNightly'],
    ["if (isNightly) it('one', () => {})", 'isNightly'],
    ["it.skip('one', () => {}); describe('all', () => { it('one', () => {}) })", 'twice'],
  ])('is checked by code that recognizes which tests run: %s', (text, state) => {
    expect(statesIn(text).get('one')).toBe(state);
  });
});

/**
 * Matches the markers that keep `npm run test:all` from running a test. A marker can be in the call
 * of the test itself or in a condition around it.
 */
const STOPS = /isNightly|(?<=\.)(skip|todo|fails|runIf)\b/;

/**
 * Maps the title of each test and group in a file to `runs` if `npm run test:all` runs it.
 * Otherwise, the value is the marker that prevents this. `skipIf` alone is not a marker, because it
 * skips tests that need a missing program. If two titles are equal, the value is `twice`.
 */
function statesIn(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const visit = (node: ts.Node, above: string) => {
    let state = above;
    const isTest =
      ts.isCallExpression(node) && /^(it|test|describe)\b/.test(node.expression.getText(file));
    if ((isTest || ts.isIfStatement(node)) && above === 'runs')
      state = STOPS.exec(node.expression.getText(file))?.[0] ?? 'runs';
    const [title] = isTest ? node.arguments : [];
    if (title !== undefined && ts.isStringLiteralLike(title))
      found.set(title.text, found.has(title.text) ? 'twice' : state);
    ts.forEachChild(node, child => visit(child, state));
  };
  const file = ts.createSourceFile('x.ts', text, ts.ScriptTarget.Latest);
  visit(file, 'runs');
  return found;
}

const sources = readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.ts'))
  .map(name => ({ name, text: readFileSync(path.join(root, 'src', name), 'utf8') }));

describe('the source code', () => {
  const CANARY = 'kanarienvogel';
  afterEach(() => vi.restoreAllMocks());

  it('does not create a nonce with Math.random', () => {
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

  it('does not compare secrets with === or similar operators', () => {
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

  it('never shows the whole signed URL of a job file', () => {
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

  it('makes files with secrets of the local service readable only by their owner', async () => {
    const folder = await temporaryFolder();
    const file = path.join(folder, 'oauth', 'grants.json');
    await new Grants(folder).grant({ id: '1', handle: 'ada', name: 'Ada' }, 'app', 0);
    expect(await readFile(file, 'utf8')).toContain('"secret"');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(path.dirname(file))).mode & 0o777).toBe(0o700);
  });

  it('uses an undici version with bounded memory, and no undici feature that redirects, caches or retries', () => {
    const [major = 0, minor = 0, patch = 0] = manifest.dependencies.undici.split('.').map(Number);
    expect(major).toBe(7);
    expect(minor * 1_000 + patch).toBeGreaterThanOrEqual(30_002);
    const using = sources.filter(({ text }) =>
      /interceptors|\.compose\(|RetryAgent|maxRedirections|CacheStore/.test(text),
    );
    expect(using.map(({ name }) => name)).toEqual([]);
  });
});

describe('the local service', () => {
  it('does not serve its pages and control API under another host name', async () => {
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

  it('refuses headers that are too large, and responds to the next request', async () => {
    const { baseUrl } = await started();
    expect(await statusOf(`${baseUrl}/status`, { 'x-large': 'x'.repeat(70_000) })).toBe(431);
    expect(await statusOf(`${baseUrl}/status`, {})).toBe(200);
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
