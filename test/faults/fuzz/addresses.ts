import { createHash } from 'node:crypto';
import { readdir, writeFile } from 'node:fs/promises';
import { isIPv4 } from 'node:net';
import path from 'node:path';
import type { Endpoint } from '../../../src/service/http/router.js';
import type { JobRecord } from '../../../src/service/jobs/job-record.js';
import { loadModule } from '../load-library.js';
import { answerOf, pathsOf } from './bare-requests.js';
import { check, expectSame, type ParserKind, temporaryFolder } from './parser.js';

const START = Date.UTC(2024, 0, 1);
const DAY = 86_400_000;
const UUID = 'abc1234567';
/** The content of files that must not be returned for any address. */
const SECRET = 'THIS FILE IS NO FILE OF A JOB';
const FORM = 'application/x-www-form-urlencoded';

/**
 * The address patterns of the service. `*` stands for any name, and `*.json` for any name with this
 * extension.
 */
const ADDRESSES: readonly (readonly [family: Endpoint, ...patterns: readonly string[]])[] = [
  ['search', 'search/*/accounts/*/*.json'],
  ['counts', 'search/*/accounts/*/*/counts.json'],
  [
    'jobs',
    ...['jobs.json', 'jobs/*.json', 'jobs/*/results.json', 'jobs/*/results.csv'],
    'jobs/*/suspectMinutes.json',
  ],
  ['replay', 'replay/*/accounts/*/publishers/*/*.json'],
  ['rules', '*.json', '*/validation.json', '*/rules/*.json'],
  [
    'compliance',
    'accounts/*/publishers/*/streams/compliance/*.json',
    'stream/compliance/accounts/*/publishers/*/*.json',
  ],
  ['usage', 'accounts/*/usage.json'],
  ['oauth', 'oauth/request_token', 'oauth/access_token'],
  ['oauth', 'oauth/authenticate', 'oauth/authorize', 'oauth/grants'],
  ['engagement', 'insights/engagement/totals'],
  ['pages', '', 'console', 'console/', 'console/*', 'console/jobs/*', 'status'],
  ['pages', 'favicon.ico', 'pages/style.css', 'pages/icon.svg'],
  ['control', '_control/clock', '_control/faults', '_control/compliance', '_control/grants'],
  ['control', '_control/grants/*', '_control/faults/*'],
];
const BELOW: Partial<Record<Endpoint, string>> = {
  jobs: 'historical/*/accounts/*/publishers/*/',
  rules: 'rules/*/accounts/*/publishers/*/',
};
const SHAPES = ADDRESSES.flatMap(([family, ...patterns]) =>
  patterns.map(pattern => ({ family, shape: `${BELOW[family] ?? ''}${pattern}`.split('/') })),
);
/** Files without user data. The service sends them whatever the host name of the request is. */
const ASSETS = ['favicon.ico', 'pages/style.css', 'pages/icon.svg'];
const PAGES = SHAPES.map(({ shape }) => shape.join('/')).filter(shape =>
  /^(|console.*|status|oauth\/(authenticate|authorize|grants))$/.test(shape),
);

interface Request {
  readonly target: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly site: string | undefined;
}

export const addresses: ParserKind = {
  holds:
    'a request reaches the family of its address or none; pages and the control path answer under names of this machine only, the control path to no web page, forms to no other site; only the listed files are read',
  async open(library) {
    const { createService } = await loadModule(library, 'service/index');
    const { ENDPOINT_NAMES } = await loadModule(library, 'service/http/router');
    const { createDataUrls } = await loadModule(library, 'service/jobs/data-files');
    const { folder, close } = await temporaryFolder();
    const stateFolder = path.join(folder, 'state');
    const filePath = await writeJob(library, stateFolder);
    let failure: unknown;
    const service = createService({
      limits: 'relaxed',
      stateFolder,
      seed: 'addresses',
      onError(error) {
        failure = error;
      },
    });
    const settle = () => {
      service.clock.set(START + DAY);
      service.clock.freeze();
    };
    settle();
    const { baseUrl, account, publisher, email, password, label, streamLabel } =
      await service.start();
    await writeFile(path.join(folder, 'secret.json.gz'), SECRET);
    const port = Number(new URL(baseUrl).port);
    const login = `Basic ${Buffer.from(`${email}:${password}`).toString('base64')}`;
    const jobs = `/historical/powertrack/accounts/${account}/publishers/${publisher}/jobs`;
    const listing = await fetch(`${baseUrl}${jobs}/${UUID}/results.json`, {
      headers: { Authorization: login },
    });
    const { urlList } = (await listing.json()) as { readonly urlList: readonly string[] };
    const file = new URL(urlList[0] as string);
    const files = [...urlList].map(url => new URL(url).pathname);
    expectSame(files, [filePath], 'The listed files are');
    const urls = createDataUrls('addresses', account);
    const form = await openForm(`${baseUrl}/console/sign-in`, { email, password });

    /**
     * Plants a delay of 0 ms for each family of endpoints. The service counts the hits of each
     * planted fault, and these counts tell which family a request has reached. No fault can be
     * planted for the control path, so its requests are not counted.
     */
    const families = ENDPOINT_NAMES.filter(family => family !== 'control');
    const plant = () => {
      service.faults.clear();
      for (const endpoint of families)
        service.faults.plant({ kind: 'delay', ms: 0, endpoint, times: 'always' });
    };
    plant();

    const control = ['/_control/clock', '/_control/faults', '/_control/grants/5'];
    const targets = [
      ...[`/search/30day/accounts/${account}/${label}.json?query=rain`, '/status', '/', '/console'],
      ...[`/search/fullarchive/accounts/${account}/${label}/counts.json`, `${jobs}.json`],
      ...[`${jobs}/${UUID}.json`, `${jobs}/${UUID}/results.csv`],
      `/rules/powertrack/accounts/${account}/publishers/${publisher}/${streamLabel}.json`,
      `/replay/firehose/accounts/${account}/publishers/${publisher}/${streamLabel}.json`,
      `/accounts/${account}/publishers/${publisher}/streams/compliance/${streamLabel}.json`,
      ...[`/accounts/${account}/usage.json?bucket=day`, '/insights/engagement/totals'],
      ...['/oauth/request_token', '/oauth/authenticate?oauth_token=x', '/oauth/grants'],
      ...['/console/sign-in', '/console/sign-in', '/console/jobs/x', '/pages/style.css'],
      ...[...control, ...control],
      // Other spellings of the addresses above, and similar addresses.
      ...['/x/../status', '/./console/./jobs', '/%2e%2e/_control/clock', '\\console\\jobs'],
      ...[
        '//127.0.0.1/console',
        '/status/../../console/%2E./status',
        '/%73tatus',
        '/favicon_ico',
        `/accounts/${account}/usage-json`,
        '/Status',
        '/console%2fjobs',
      ],
      filePath.replace('/2024/', '/2024/../../../../../secret.json.gz/../'),
    ];
    const hosts = [
      ...['127.0.0.1', 'localhost', '[::1]', 'LocalHost', '127.5.6.7'].flatMap(name => [
        name,
        `${name}:40000`,
        `${name}:8080`,
      ]),
      ...['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example:80', 'localhost.'],
      ...['127.1', '2130706433', '[::ffff:127.0.0.1]', '127.0.0.1@evil.example', '0.0.0.0', ''],
    ];

    return {
      tokens: [
        ...['/', '//', '/../', '/./', '..', '%2e', '%2E%2e', '%2f', '%5c', '\\', '%00', '\0', ';'],
        ...['?', '#', '%', '%ff', '%c0%af', '\t', ' ', '\r', '／', '．', '_control', 'console'],
        ...['.json', 'counts.json', 'http://', '@', ':', ':80', '.', 'localhost', '127.', '[::1]'],
        ...['evil.example', 'null', 'same-origin', 'cross-site', 'none', '\n', ',', 'ﬂ', '%6c'],
      ],
      maxBytes: 2_000,
      seed(random) {
        const host = random.chance(0.6) ? random.pick(hosts.slice(0, 15)) : random.pick(hosts);
        const origins = ['-', '-', 'null', `http://${host}`, 'http://evil.example', ''];
        const sites = ['-', 'same-origin', 'none', 'cross-site', 'same-site'];
        const target = random.chance(0.2) ? filePath : random.pick(targets);
        const lines = [target, host, random.pick(origins), random.pick(sites)];
        return Buffer.from(lines.join('\n'));
      },
      async attempt(input, random) {
        const [target = '', host, origin, site] = input
          .toString('latin1')
          .split('\n')
          // HTTP parsers skip spaces around the address.
          .map((line, index) => (index === 0 ? line.replace(/^ +| +$/g, '') : line))
          .map((line, index) => (index > 0 && line === '-' ? undefined : line));
        const method = random.pick(['GET', 'GET', 'GET', 'POST', 'POST', 'DELETE']);
        const isFile = random.chance(target.startsWith('/snapshots') ? 0.9 : 0.05);
        failure = undefined;
        settle();
        const before = service.faults.list().map(({ hits }) => hits);
        const sent = isFile ? signed(target, urls) : target;
        const request: Request = { target: sent, host, origin, site };
        const body = method === 'POST' ? form.body : '';
        const isTwice = host !== undefined && random.chance(0.03);
        const answer = await answerOf(isFile ? Number(file.port) : port, [
          `${method} ${sent} HTTP/1.1`,
          ...(host === undefined ? [] : [`Host: ${host}`]),
          ...(isTwice ? ['hOST: 127.0.0.1'] : []),
          ...(origin === undefined ? [] : [`Origin: ${origin}`]),
          ...(site === undefined ? [] : [`Sec-Fetch-Site: ${site}`]),
          ...[`Content-Type: ${FORM}`, `Cookie: ${form.cookie}`],
          ...[`Content-Length: ${body.length}`, 'Connection: close', '', body],
        ]);
        if (failure !== undefined)
          throw new Error(
            `The service failed: ${failure instanceof Error ? failure.stack : String(failure)}`,
          );
        check(!answer.body.includes(SECRET), 'A file was read');

        const planted = service.faults.list();
        // If the planted delays are gone, the request went to the control path, which can clear
        // faults.
        const isCleared = planted.length !== families.length;
        if (isCleared) plant();
        const hit = families.filter((_, n) => !isCleared && planted[n]?.hits !== before[n]);
        check(hit.length <= 1, `It reached several handlers: ${hit}`);
        const { status } = answer;
        const shown = `${method} ${sent} for ${host} answered ${status}`;
        if (isTwice || isNoRequest(request)) {
          check(status === 400 && hit.length === 0 && !isCleared, `Not refused: ${shown}`);
          return false;
        }
        // HTTP parsers may or may not refuse these targets, so both outcomes are valid.
        if (status === 400 && hit.length === 0 && /^[^/]|[\t\f\x80-\xff]/.test(sent)) return false;
        const [text, ...others] = pathsOf(target);
        if (isFile) {
          const isAny = [text, ...others].map(isFileAddress);
          check(isAny.includes(hit[0] === 'job-files'), `The family of ${shown}`);
          check(
            hit.every(reached => reached === 'job-files'),
            `The family of ${shown}: ${hit}`,
          );
          const isThere = hit.length === 1 && text === filePath && method === 'GET';
          check(isThere === (status === 200), `A file: ${shown}`);
          return isThere;
        }
        const family = hit[0] ?? (isNothing(answer) ? undefined : 'control');
        const found = [text, ...others].find(each => familyOf(each) === family);
        if (found === undefined) throw new Error(`The family of ${shown} is ${family}`);
        // The service refuses a query that it cannot parse before the handler runs.
        const isOddQuery = status === 400 && /\?.*%/.test(target);
        if (isOddQuery) return false;
        if (family === 'control') {
          const isAllowed = isLoopback(host) && origin === undefined;
          check(isAllowed ? status !== 403 : status === 403 || status === 405, shown);
        } else if (isPage(found)) {
          const isMade = status !== 405;
          check((isLoopback(host) || !isMade) === (status !== 421), shown);
          const isForm = method === 'POST' && isMade && isLoopback(host);
          // The forms of end users have their own tokens, so the console's token must not work
          // there.
          const isConsole = found.startsWith('/console');
          if (isForm && !isConsole) check(status >= 400, `Another form: ${shown}`);
          if (isForm && isConsole)
            check((status === 403) !== isFromHere(request), `Another site, or not: ${shown}`);
        }
        return family !== undefined && status !== 403 && status !== 405 && status !== 421;
      },
      async close() {
        await service.stop();
        await close();
      },
    };
  },
};

/**
 * Writes a job with one file to a state folder. A service that starts with this folder continues
 * the job. Returns the address of the file.
 */
async function writeJob(library: URL, stateFolder: string): Promise<string> {
  const { JobStore } = await loadModule(library, 'service/jobs/job-store');
  const store = new JobStore(stateFolder);
  const job: JobRecord = {
    uuid: UUID,
    number: 1,
    title: 'a job',
    format: 'original',
    status: 'delivered',
    from: START - DAY,
    to: START,
    since: START,
    requestedBy: 'me',
    requestedAt: START,
    // The job must not expire, even if the control path sets the clock to the current time.
    acceptedBy: 'me',
    acceptedAt: Date.UTC(2080, 0, 1),
    completedAt: START,
    rules: [{ value: 'rain', tag: null, id: '9007199254740993' }],
  };
  await store.save(job);
  const bytes = Buffer.from('the bytes of the file');
  const file = await store.dataFile(job, START - DAY);
  await store.writeDataFile(file, bytes);
  const md5 = createHash('md5').update(bytes).digest('hex');
  await store.addFile(job, { segment: START - DAY, posts: 1, bytes: bytes.length, md5 });
  await store.close();
  // Writes secrets next to the file, and in each parent folder up to the folder of jobs.
  for (let at = path.dirname(file); at.length >= stateFolder.length; at = path.dirname(at)) {
    check((await readdir(at)).length > 0, 'No folder of the job');
    if (path.basename(at) !== 'jobs') await writeFile(path.join(at, 'secret.json.gz'), SECRET);
  }
  return `/snapshots/twitter/track_v2/original/local/2024/01/01/20231231-20240101_${UUID}/2023/12/31/00/00_activities.json.gz`;
}

async function openForm(
  url: string,
  login: Readonly<Record<string, string>>,
): Promise<{ readonly cookie: string; readonly body: string }> {
  const page = await fetch(url);
  const [cookie = ''] = page.headers.getSetCookie().map(text => text.split(';')[0] ?? '');
  const [, csrf = ''] = /name="csrf" value="([^"]+)"/.exec(await page.text()) ?? [];
  check(cookie !== '' && csrf !== '', 'The page has no form');
  return { cookie, body: String(new URLSearchParams({ ...login, csrf })) };
}

/** Signs an address correctly, so that a request for it passes the check of the signature. */
function signed(target: string, urls: { sign(path: string, expiresAt: number): string }): string {
  if (!target.startsWith('/')) return target;
  const { pathname } = new URL(`http://localhost${target}`);
  const query = urls.sign(pathname, START + 5 * DAY).slice(pathname.length);
  return `${target.replace(/[?#].*$/s, '')}${query}`;
}

/**
 * Returns whether every HTTP parser refuses the request: it has no host, no target, or a space or
 * control character.
 */
function isNoRequest({ target, host, origin, site }: Request): boolean {
  const isControl = (text = '') => /[\0-\x08\x0a-\x1f\x7f]/.test(text);
  return (
    host === undefined ||
    target === '' ||
    /[\0-\x08\x0a\x0b\x0d-\x20\x7f]/.test(target) ||
    [host, origin, site].some(isControl)
  );
}

function familyOf(text: string): Endpoint | undefined {
  return SHAPES.find(({ shape }) => isOf(text, shape))?.family;
}

function isOf(text: string, shape: readonly string[]): boolean {
  if (!text.startsWith('/')) return false;
  const segments = text.slice(1).split('/');
  return (
    segments.length === shape.length &&
    segments.every((segment, index) => {
      const [start = '', end] = (shape[index] ?? '').split('*');
      if (end === undefined) return segment === start;
      return segment.length > end.length && segment.endsWith(end) && isDecodable(segment);
    })
  );
}

function isPage(text: string): boolean {
  return PAGES.some(shape => isOf(text, shape.split('/'))) && !ASSETS.includes(text.slice(1));
}

function isFileAddress(text: string): boolean {
  const names = Array.from({ length: 10 }, () => '*');
  const shape = ['snapshots', '*', 'track_v2', ...names, '*_activities.json.gz'];
  return isOf(text, shape);
}

function isDecodable(segment: string): boolean {
  try {
    return decodeURIComponent(segment) !== '';
  } catch {
    return false;
  }
}

function isLoopback(host = ''): boolean {
  const text = host.replace(/^[ \t]+|[ \t]+$/g, '').toLowerCase();
  const end = text.startsWith('[') ? text.indexOf(']') + 1 : `${text}:`.indexOf(':');
  const [name, port] = [text.slice(0, end), text.slice(end)];
  if (
    port !== '' &&
    (port.length < 2 || [...port.slice(1)].some(c => c < '0' || c > '9') || port[0] !== ':')
  )
    return false;
  return name === 'localhost' || name === '[::1]' || (isIPv4(name) && name.startsWith('127.'));
}

function isFromHere({ host = '', origin, site }: Request): boolean {
  const [from, kind] = [origin, site].map(text => text?.replace(/^[ \t]+|[ \t]+$/g, ''));
  const here = `http://${host.replace(/^[ \t]+|[ \t]+$/g, '')}`;
  return (
    (from === undefined || from === 'null' || from === here) &&
    (kind === undefined || kind === 'same-origin' || kind === 'none')
  );
}

function isNothing({ status, body }: { readonly status: number; readonly body: string }): boolean {
  return status === 404 && body.includes('there is nothing at this address');
}
