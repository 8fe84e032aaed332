import { describe, expect, it } from 'vitest';
import { HOUR, MINUTE } from '../../../src/base/time.js';
import {
  account,
  collect,
  counts,
  IncompleteError,
  pipeline,
  replay,
  search,
} from '../../../src/index.js';
import {
  createService,
  type RequestFilter,
  type ServiceOptions,
} from '../../../src/service/index.js';
import { afterTests } from '../../after-tests.js';

const NOW = Date.UTC(2024, 4, 15, 12, 0);

const stops: (() => Promise<void>)[] = [];
afterTests(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function serve(options: ServiceOptions = {}) {
  const service = createService({ limits: 'relaxed', ...options });
  stops.push(() => service.stop());
  service.clock.freeze();
  service.clock.set(NOW);
  const addresses = await service.start();
  const acme = account(addresses, {});
  const tea = { product: '30day', query: 'tea', limit: 20 } as const;
  const found = () => pipeline(search(acme, tea), collect());
  const logged = async (query = '') => {
    const response = await fetch(`${addresses.baseUrl}/_control/requests?${query}`);
    return { status: response.status, json: (await response.json()) as { requests: unknown[] } };
  };
  return { service, addresses, acme, found, logged };
}

const posts = Array.from({ length: 25 }, (_, i) => ({ text: `tea ${i}`, postedAt: NOW - HOUR }));

describe('the request log of the local service', () => {
  it('contains every request with its response', async () => {
    const { service, addresses, found } = await serve({ posts });
    await found();
    const [entry] = await service.waitForRequests({ endpoint: 'search' });
    expect(entry).toMatchObject({
      number: 1,
      at: new Date(NOW),
      endpoint: 'search',
      method: 'POST',
      path: '/search/30day/accounts/local/dev.json',
      query: {},
      connection: 1,
      status: 200,
      posts: 20,
      cut: false,
    });
    expect(JSON.parse(String(entry?.body))).toMatchObject({ query: 'tea' });
    expect(entry?.durationMs).toBeGreaterThan(0);

    const url = `${addresses.baseUrl}/search/30day/accounts/local/dev.json?query=tea%20%C3%A4&maxResults=10`;
    const login = `Basic ${Buffer.from(`${addresses.email}:${addresses.password}`).toString('base64')}`;
    const response = await fetch(url, {
      headers: { authorization: login, 'accept-encoding': 'identity' },
    });
    const body = await response.text();
    const [second] = await service.waitForRequests({ method: 'get', after: 1 });
    expect(second?.query).toEqual({ query: 'tea ä', maxResults: '10' });
    expect(second?.body).toBeUndefined();
    // The headers add some hundred bytes.
    expect(second?.bytes).toBeGreaterThan(Buffer.byteLength(body));
    expect(second?.bytes).toBeLessThan(Buffer.byteLength(body) + 1_000);
    expect(JSON.stringify(service.requests())).not.toContain(login.slice(6));
  });

  it('contains the number of posts that each replay connection delivered', async () => {
    const { service, acme } = await serve({ posts });
    const window = { fromDate: new Date(NOW - 2 * HOUR), toDate: new Date(NOW - 31 * MINUTE) };
    const replayed = await pipeline(replay(acme, { streamType: 'firehose', ...window }), collect());
    expect(replayed).toHaveLength(25);
    const entries = () => service.requests({ endpoint: 'replay' });
    await expect.poll(() => entries().reduce((sum, { posts = 0 }) => sum + posts, 0)).toBe(25);
    expect(entries()[0]?.query).toMatchObject({ fromDate: '202405151000' });
  });

  it('returns the requests that a filter selects, in order of arrival', async () => {
    const { service, acme, found } = await serve({ posts });
    service.faults.plant({ kind: 'status', status: 503, endpoint: 'search' });
    await found();
    await pipeline(counts(acme, { product: '30day', query: 'tea', bucket: 'day' }), collect());
    const statuses = (filter: RequestFilter) =>
      service.requests(filter).map(({ status }) => status);
    expect(statuses({ endpoint: 'search' })).toEqual([503, 200]);
    expect(statuses({ status: 503 })).toEqual([503]);
    expect(service.requests({ status: 503 })[0]?.fault).toBe('status');
    expect(service.requests({ path: '/counts.json' }).map(({ number }) => number)).toEqual([3]);
    expect(statuses({ after: 1 })).toEqual([200, 200]);
    expect(() => service.requests({ endpoint: 'serch' as 'search' })).toThrow(/endpoint/);
    expect(() => service.requests({ stat: 1 } as RequestFilter)).toThrow(/stat/);
  });

  it('makes a caller wait until a number of later requests have a response', async () => {
    const { service, found } = await serve({ posts });
    let isThere = false;
    const waiting = service.waitForRequests({ endpoint: 'search', count: 2 }).then(entries => {
      isThere = true;
      return entries;
    });
    await found();
    await service.waitForRequests({ endpoint: 'search' });
    expect(isThere).toBe(false);
    await found();
    expect((await waiting).map(({ number, status }) => [number, status])).toEqual([
      [1, 200],
      [2, 200],
    ]);
  });

  it('contains a compliance stream as soon as it is connected', async () => {
    const { service, addresses } = await serve({ posts });
    const { email, password, account: name } = addresses;
    const login = `Basic ${Buffer.from(`${email}:${password}`).toString('base64')}`;
    const path = `/stream/compliance/accounts/${name}/publishers/twitter/compliance.json?partition=1`;
    const end = new AbortController();
    const response = await fetch(addresses.baseUrl + path, {
      headers: { authorization: login },
      signal: end.signal,
    });
    const [entry] = await service.waitForRequests({ endpoint: 'compliance', timeoutMs: 5_000 });
    end.abort();
    expect(response.status).toBe(200);
    expect(entry).toMatchObject({ status: 200, query: { partition: '1' } });
    expect(entry?.durationMs).toBeUndefined();
  });

  it('reports which requests arrived instead if a wait times out', async () => {
    const { service, found } = await serve({ posts });
    const none = service.waitForRequests({ endpoint: 'counts', timeoutMs: 1 });
    await expect(none).rejects.toBeInstanceOf(IncompleteError);
    await expect(none).rejects.toThrow(
      'of 1 requests, 0 had come and were answered within 1 ms. No request came',
    );
    await found();
    await service.waitForRequests();
    await expect(
      service.waitForRequests({ endpoint: 'counts', count: 2, timeoutMs: 1 }),
    ).rejects.toThrow('The last requests were POST /search/30day/accounts/local/dev.json (200)');
  });

  it('is available as JSON from the control API, which can also wait for later requests', async () => {
    const { found, logged, service } = await serve({ posts });
    const waiting = logged('endpoint=search&count=1');
    await found();
    expect(await waiting).toMatchObject({
      status: 200,
      json: {
        requests: [{ number: expect.any(Number), at: '2024-05-15T12:00:00.000Z', posts: 20 }],
      },
    });
    expect((await logged('status=200&endpoint=search')).json.requests).toHaveLength(1);
    expect((await logged('status=404')).json.requests).toEqual([]);
    expect((await logged('status=x')).status).toBe(422);
    expect((await logged('endpoint=counts&timeoutMs=1')).status).toBe(408);
    expect((await logged('endpoint=control')).json.requests.length).toBeGreaterThan(4);
    expect(service.requests().every(({ endpoint }) => endpoint === 'search')).toBe(true);
  });

  it('shows no secrets', async () => {
    const { addresses, service } = await serve({ posts });
    const form = 'email=dev%40example.com&password=local-service';
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    await fetch(`${addresses.baseUrl}/oauth/authorize?oauth_token=abc`, {
      method: 'POST',
      body: form,
      headers,
    });
    await fetch(`${addresses.baseUrl}/oauth/access_token?oauth_token=abc`, {
      method: 'POST',
      body: form,
      headers,
    });
    await service.waitForRequests();
    const shown = JSON.stringify(service.requests());
    expect(shown).toContain('oauth');
    expect(shown).not.toMatch(/abc|local-service/);
  });
});
