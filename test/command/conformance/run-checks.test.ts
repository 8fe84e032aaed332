import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { DAY, MINUTE } from '../../../src/base/time.js';
import { CHECK_FAMILIES, CHECKS } from '../../../src/command/conformance/check-table.js';
import {
  type CheckResult,
  chooseChecks,
  runChecks,
} from '../../../src/command/conformance/run-checks.js';
import { type Account, account } from '../../../src/http/account.js';
import { limitsOf } from '../../../src/service/http/service-limits.js';
import { createService, type ServiceOptions } from '../../../src/service/index.js';
import { afterTests } from '../../after-tests.js';

const closing: (() => unknown)[] = [];
afterTests(async () => {
  for (const close of closing.splice(0)) await close();
});

const lifted = (limits: object) => ({ ...limitsOf('relaxed'), ...limits });

async function started(options: ServiceOptions = {}) {
  const service = createService({ limits: 'relaxed', postsPerMinute: 0.05, ...options });
  closing.push(() => service.stop());
  return { service, addresses: await service.start() };
}

const ALL = CHECKS.filter(({ burst }) => burst === undefined);

async function resultsOf(acme: Account, query = 'coffee'): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  const { checks } = chooseChecks(acme, CHECK_FAMILIES);
  for await (const result of runChecks(acme, checks, { query })) results.push(result);
  return results;
}

function differing(results: readonly CheckResult[]): Record<string, string[]> {
  const wrong = results.filter(({ result }) => result === 'differs');
  return Object.fromEntries(
    wrong.map(({ name, differences }) => [name, differences.map(({ what }) => what)]),
  );
}

interface Answer {
  status: number;
  headers: Record<string, string>;
  /** The decompressed body. */
  text: string;
  /** Whether the body never ends. */
  isEndless?: boolean;
}

type Alter = (answer: Answer, request: IncomingMessage, body: string) => void;

/** The open responses whose bodies never end. */
const endless = new Set<ServerResponse>();

async function altered(alter: Alter, options: ServiceOptions = {}): Promise<Account> {
  const { addresses } = await started(options);
  const server = http.createServer(async (request, response) => {
    const body = await buffer(request);
    const { method, url, headers } = request;
    const inner = http.request(`${addresses.baseUrl}${url}`, { method, headers });
    inner.end(body);
    const [got] = (await once(inner, 'response')) as [IncomingMessage];
    const bytes = await buffer(got);
    const { 'content-encoding': encoding, 'content-length': _, ...rest } = got.headers;
    const text = (encoding === 'gzip' ? gunzipSync(bytes) : bytes).toString();
    const answer: Answer = {
      status: got.statusCode ?? 0,
      headers: Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, `${value}`])),
      text,
    };
    delete answer.headers['transfer-encoding'];
    delete answer.headers.connection;
    // An altered response is sent uncompressed. All others keep their gzip body, which the check of
    // the compression needs.
    alter(answer, request, body.toString());
    const same = answer.text === text && encoding !== undefined;
    response.writeHead(answer.status, {
      ...answer.headers,
      ...(same && { 'content-encoding': encoding }),
    });
    if (answer.isEndless) {
      endless.add(response);
      response.on('close', () => endless.delete(response));
      response.write(answer.text);
    } else response.end(same ? bytes : answer.text);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { account: name, label, streamLabel, complianceLabel, publisher } = addresses;
  const { email, password, serviceTime, limits } = addresses;
  return account(
    {
      url,
      account: name,
      label,
      streamLabel,
      complianceLabel,
      publisher,
      email,
      password,
      serviceTime,
      limits,
    },
    {},
  );
}

describe('the conformance checks', () => {
  it.each([
    ['with strict limits', { limits: 'strict' }],
    ['with posts in the format activity_streams', { format: 'activity_streams' }],
    [
      'with other names of its account and streams',
      { account: 'a b', label: 'x', streamLabel: 'y', complianceLabel: 'z' },
    ],
    ['with duplicates at the edges of pages', { duplicatesAtPageEdges: true }],
  ] as const)('pass for the local service %s', async (_, options) => {
    const { addresses } = await started(options);
    const results = await resultsOf(account(addresses, {}));
    expect(differing(results)).toEqual({});
    expect(results.map(({ result }) => result)).toEqual(ALL.map(() => 'ok'));
  });

  it('pass even if the clock of the service is off, as they read its time from responses', async () => {
    const { service, addresses } = await started();
    service.clock.set('2019-03-31T00:02:00Z');
    const { serviceTime: _, ...rest } = addresses;
    expect(differing(await resultsOf(account(rest, {})))).toEqual({});
  });

  it('send exactly the announced number of requests, and leave the service unchanged', async () => {
    const { service, addresses } = await started();
    const before = await service.snapshot();
    const acme = account(addresses, {});
    const chosen = chooseChecks(acme, CHECK_FAMILIES);
    await resultsOf(acme);
    const sent = service.requests();
    expect(sent).toHaveLength(chosen.requests);
    const searches = sent.filter(
      ({ endpoint, status }) => ['search', 'counts'].includes(`${endpoint}`) && status === 200,
    );
    expect(searches).toHaveLength(chosen.searches);
    const posts = sent.reduce((sum, { posts = 0 }) => sum + posts, 0);
    expect(posts).toBeGreaterThan(0);
    expect(posts).toBeLessThanOrEqual(chosen.posts);
    expect(chosen).toMatchObject({ requests: 43, searches: 8, posts: 20, skipped: [] });
    expect(await service.snapshot()).toEqual(before);
    const jobs = sent.filter(({ endpoint, method }) => endpoint === 'jobs' && method !== 'GET');
    expect(jobs).toEqual([]);
  });

  it('skip endpoint families that have no settings or are not selected', async () => {
    const { addresses } = await started();
    const { account: name, label, email, password, baseUrl } = addresses;
    const acme = account({ baseUrl, account: name, label, email, password }, {});
    const chosen = chooseChecks(acme, ['search', 'jobs', 'engagement']);
    expect(chosen.skipped).toEqual([
      { family: 'jobs', settings: ['historicalUrl', 'publisher'] },
      { family: 'engagement', settings: ['dataUrl'] },
    ]);
    expect(new Set(chosen.checks.map(({ endpoint }) => endpoint))).toEqual(
      new Set(['posts', 'counts']),
    );
  });

  it('exceed the rate limit of search only if the caller asks for it', async () => {
    const { service, addresses } = await started({ limits: 'strict' });
    // With a frozen clock, all requests fall within one second even on a busy machine.
    service.clock.freeze();
    const acme = account(addresses, {});
    const chosen = chooseChecks(acme, ['search'], { withRates: true });
    expect(chosen.requests - chooseChecks(acme, ['search']).requests).toBe(25);
    const results: CheckResult[] = [];
    for await (const result of runChecks(acme, chosen.checks.slice(-1), { query: 'coffee' }))
      results.push(result);
    expect(results).toMatchObject([{ name: 'more requests than a second allows', result: 'ok' }]);
    expect(service.requests({ status: 429 }).length).toBeGreaterThan(0);
    const { addresses: relaxed } = await started();
    for await (const { differences } of runChecks(account(relaxed, {}), chosen.checks.slice(-1), {
      query: 'coffee',
    }))
      expect(differences).toMatchObject([{ what: 'status', expected: '429' }]);
  });

  it('skip the check of the second search page if the first page has no posts', async () => {
    const { addresses } = await started();
    const results = await resultsOf(account(addresses, {}), 'zqxjvkwnothing');
    expect(differing(results)).toEqual({});
    const left = results.filter(({ result }) => result === 'skipped').map(({ name }) => name);
    expect(left).toEqual(['the next page of posts']);
  });
});

describe('the conformance checks report exactly the broken rules of a service', () => {
  it.each<readonly [string, ServiceOptions, Record<string, string[]>]>([
    [
      'with counts in descending order',
      { countsOrder: 'descending' },
      { 'counts by minute': ['body results[1]'], 'counts of 62 days': ['body results[1]'] },
    ],
    [
      'with other bounds of maxResults',
      { limits: { maxResultsMin: 5, maxResultsMax: 600 } },
      {
        'maxResults of 9': ['status'],
        'maxResults of 501': ['status'],
      },
    ],
    [
      'with another default of maxResults',
      { limits: { maxResultsDefault: 50 } },
      {
        'a search by POST that finds nothing': ['body requestParameters.maxResults'],
      },
    ],
    [
      'that searches less than 31 days back',
      { limits: { thirtyDaySpanMs: 30.5 * DAY } },
      {
        'the oldest minutes of 30day': ['status'],
      },
    ],
    [
      'that searches more than 31 days back',
      { limits: { thirtyDaySpanMs: 32 * DAY } },
      {
        'before the oldest minutes of 30day': ['status'],
      },
    ],
    [
      'with longer pages of counts',
      { limits: { responseSpanMs: 60 * DAY } },
      {
        'counts of 62 days': ['body results'],
      },
    ],
    [
      'with all counts on one page',
      { limits: { responseSpanMs: 90 * DAY } },
      {
        'counts of 62 days': ['body results', 'body next'],
      },
    ],
    [
      'that offers replays of minutes that are too recent',
      { limits: { replayToAgeMs: 10 * MINUTE } },
      {
        'a replay of the last minutes': ['body error.message'],
      },
    ],
  ])('%s', async (_, options, expected) => {
    const { limits, ...rest } = options;
    const all = typeof limits === 'object' ? { ...rest, limits: lifted(limits) } : options;
    const { addresses } = await started(all);
    expect(differing(await resultsOf(account(addresses, {})))).toEqual(expected);
  });

  const json = (answer: Answer, change: (value: Record<string, unknown>) => unknown) => {
    answer.text = JSON.stringify(change(JSON.parse(answer.text)));
  };
  const isPage = ({ url = '' }: IncomingMessage) =>
    url.includes('query=coffee') && url.includes('tag=');

  it.each<readonly [string, Alter, Record<string, string[]>]>([
    [
      'that does not ask for Basic authentication',
      ({ status, headers }, { url = '' }) => {
        if (status === 401 && url.includes('jobs')) delete headers['www-authenticate'];
      },
      { 'the list of jobs without login': ['header www-authenticate'] },
    ],
    [
      'that checks parameters before the login',
      (answer, { url = '' }) => {
        if (/maxResults=1$/.test(url)) answer.status = 422;
      },
      { 'search with bad parameters and without login': ['status'] },
    ],
    [
      'that checks the body before the login',
      (answer, { method, headers }, body) => {
        if (method === 'POST' && body === '{' && headers.authorization === undefined)
          answer.status = 400;
      },
      { 'search with a bad body and without login': ['status'] },
    ],
    [
      'that sends errors as HTML pages',
      (answer, { url = '' }) => {
        if (answer.status !== 422 || !url.includes('bucket=week')) return;
        answer.text = '<h1>Unprocessable</h1>';
        answer.headers['content-type'] = 'text/html';
      },
      {
        'a bucket of a week': ['header content-type', 'body error.message', 'body error.sent'],
      },
    ],
    [
      'with posts in another order',
      (answer, request) => {
        if (isPage(request) && !request.url?.includes('next='))
          json(answer, page => ({ ...page, results: (page.results as unknown[]).toReversed() }));
      },
      { 'a page of posts': ['body results[1]'] },
    ],
    [
      'that repeats the first page',
      (answer, request) => {
        if (isPage(request) && request.url?.includes('next=')) answer.text = first;
        else if (isPage(request)) first = answer.text;
      },
      { 'the next page of posts': ['body results[0]'] },
    ],
    [
      'that omits the tag of the query',
      (answer, request) => {
        if (isPage(request))
          answer.text = answer.text.replaceAll('"tag":"conformance"', '"tag":null');
      },
      { 'a page of posts': ['body results[0] matching_rules'] },
    ],
    [
      'with a window of 29 days',
      (answer, request) => {
        if (isPage(request))
          answer.text = answer.text.replace(/"fromDate":"\d+"/, '"fromDate":"200001010000"');
      },
      { 'a page of posts': ['body requestParameters.fromDate'] },
    ],
    [
      'with posts of another year',
      (answer, request) => {
        if (isPage(request) && !request.url?.includes('next='))
          answer.text = answer.text
            .replace(/"fromDate":"\d+"/, '"fromDate":"200001010000"')
            .replace(/"toDate":"\d+"/, '"toDate":"200001310000"');
      },
      { 'a page of posts': ['body requestParameters.toDate'] },
    ],
    [
      'with hours that begin at half past',
      (answer, { url = '' }) => {
        if (url.includes('counts') && !url.includes('bucket'))
          answer.text = answer.text.replace(/("timePeriod":"\d{10})00"/, '$130"');
      },
      { 'counts by hour': ['body results[0]'] },
    ],
    [
      'that returns more posts than requested',
      (answer, request) => {
        if (isPage(request) && !request.url?.includes('next='))
          json(answer, page => ({
            ...page,
            results: (page.results as unknown[]).flatMap(p => [p, p]),
          }));
      },
      { 'a page of posts': ['body results'] },
    ],
    [
      'with wrong totals, and gaps in counts',
      (answer, { url = '' }) => {
        if (url.includes('bucket=minute'))
          json(answer, page => ({
            ...page,
            results: (page.results as unknown[]).toSpliced(5, 1),
            totalCount: -1,
          }));
      },
      { 'counts by minute': ['body results[5]', 'body totalCount'] },
    ],
    [
      'without compression',
      (answer, { url = '' }) => {
        if (url.startsWith('/rules/')) answer.text += ' ';
      },
      { 'the list of rules': ['header content-encoding'] },
    ],
    [
      'that opens streams without gzip, which never end',
      (answer, { url = '' }) => {
        if (url.includes('/compliance/') && answer.status === 406) {
          answer.status = 200;
          answer.text = '\r\n'.repeat(3);
        }
      },
      { 'the compliance stream without gzip': ['status'] },
    ],
    [
      'with another usage and list of jobs',
      (answer, { url = '' }) => {
        if (answer.status !== 200) return;
        if (url.includes('usage'))
          json(answer, report => ({ ...report, bucket: 'day', fromDate: '202001010000' }));
        if (url.endsWith('/jobs.json'))
          json(answer, () => ({
            jobs: [{ title: 'x', status: 'new' }],
            delivered: { jobCount: '1' },
          }));
      },
      {
        'the list of jobs': [
          'body jobs',
          'body delivered.jobCount',
          'body delivered.jobDaysRun',
          'body delivered.activityCount',
        ],
        usage: ['body bucket', 'body fromDate'],
      },
    ],
    [
      'with rules without a tag',
      (answer, { url = '', method }) => {
        if (url.startsWith('/rules/') && method === 'GET' && answer.status === 200)
          json(answer, list => ({ ...list, rules: [{ value: 'snow', id: 5 }] }));
      },
      {
        'the list of rules': ['body rules', 'header content-encoding'],
      },
    ],
  ])('%s', async (_, alter, expected) => {
    const found = differing(await resultsOf(await altered(alter)));
    expect(found).toEqual(expected);
  });

  let first = '';
});

describe('a difference that the conformance checks find', () => {
  it('states the rule, the expected and the received value', async () => {
    const { addresses } = await started({ limits: lifted({ maxResultsMax: 600 }) });
    const [wrong] = (await resultsOf(account(addresses, {}))).filter(r => r.result === 'differs');
    expect(wrong).toEqual({
      name: 'maxResults of 501',
      family: 'search',
      result: 'differs',
      differences: [
        {
          what: 'status',
          expected: '422',
          got: '200',
          rule: 'maxResults is 10 to 500.',
        },
      ],
    });
  });

  it('can be a response that breaks off, after which the checks continue', async () => {
    const { service, addresses } = await started();
    service.faults.plant({ kind: 'cut', afterBytes: 20, path: 'bucket=week' });
    const results = await resultsOf(account(addresses, {}));
    expect(differing(results)).toEqual({ 'a bucket of a week': ['response'] });
    expect(results).toHaveLength(ALL.length);
  });

  it('can be a stream that never ends, which is closed before the next check', async () => {
    const open: number[] = [];
    const alter: Alter = (answer, { url = '' }) => {
      open.push(endless.size);
      if (url.includes('/compliance/') && answer.status === 406)
        Object.assign(answer, { status: 200, text: '\r\n', isEndless: true });
    };
    const results = await resultsOf(await altered(alter));
    expect(differing(results)).toEqual({ 'the compliance stream without gzip': ['status'] });
    expect(open.at(-1)).toBe(0);
    await expect.poll(() => endless.size).toBe(0);
  });

  it('is reported for each check that receives an unexpected status', async () => {
    const { service, addresses } = await started();
    service.faults.plant({ kind: 'status', status: 503, times: 2, endpoint: 'usage' });
    const results = await resultsOf(account(addresses, {}));
    expect(differing(results)).toEqual({ 'usage without login': ['status'], usage: ['status'] });
    const [, usage] = results.filter(({ result }) => result === 'differs');
    expect(usage?.differences[0]?.got).toMatch(/^503 /);
  });

  it('can be a 401 from one endpoint family if others accept the login', async () => {
    const { service, addresses } = await started();
    service.faults.plant({ kind: 'status', status: 401, skip: 1, endpoint: 'usage' });
    expect(differing(await resultsOf(account(addresses, {})))).toEqual({ usage: ['status'] });
  });

  it('does not show the password, even if the service repeats it', async () => {
    const password = 'correct horse battery';
    const alter: Alter = (answer, { url = '' }) => {
      if (url.includes('bucket=week'))
        Object.assign(answer, { status: 500, text: `"${password}"` });
    };
    const results = await resultsOf(await altered(alter, { password }));
    expect(differing(results)).toEqual({ 'a bucket of a week': ['status'] });
    expect(JSON.stringify(results)).not.toContain(password);
  });
});

describe('the conformance checks end early', () => {
  it('with the names of the variables to check if the service rejects the login', async () => {
    const { service, addresses } = await started();
    const acme = account({ ...addresses, password: 'mistyped' }, {});
    await expect(resultsOf(acme)).rejects.toMatchObject({
      code: 'ERR_OPTION',
      option: 'password',
      message: expect.stringMatching(
        /refuses the email and password.*Invalid credentials.*MILLRACE_PASSWORD/s,
      ),
    });
    expect(service.requests().length).toBeLessThan(6);
  });

  it('if no server answers', async () => {
    const { service, addresses } = await started();
    const acme = account(addresses, {});
    await service.stop();
    await expect(resultsOf(acme)).rejects.toMatchObject({ code: 'ERR_CONNECTION' });
  });

  it('if the server does not speak HTTP', async () => {
    const server = net.createServer(socket => socket.on('error', () => {}).end('SSH-2.0\r\n'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closing.push(() => server.close());
    const { addresses } = await started();
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await expect(resultsOf(account({ ...addresses, baseUrl }, {}))).rejects.toMatchObject({
      code: 'ERR_CONNECTION',
    });
  });

  it('if the service stops during the checks', async () => {
    const { service, addresses } = await started();
    const acme = account(addresses, {});
    const { checks } = chooseChecks(acme, CHECK_FAMILIES);
    const run = runChecks(acme, checks, { query: 'coffee' });
    await run.next();
    await service.stop();
    await expect(run.next().then(() => run.next())).rejects.toMatchObject({
      code: 'ERR_CONNECTION',
    });
  });
});
