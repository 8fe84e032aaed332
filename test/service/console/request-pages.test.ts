import { describe, expect, it } from 'vitest';
import { local, SEARCH_PATH, teaPosts } from '../local-service.js';
import { browse, readable, signedIn } from './browse.js';

describe('the console page of requests', () => {
  it('shows each request, its response, and the remaining quota', async () => {
    const { browser, search, ask, service } = await signedIn(teaPosts(3), { limits: 'strict' });
    await search({ query: 'tea' });
    service.faults.plant({ kind: 'status', status: 503 });
    await ask(`${SEARCH_PATH}?query=${encodeURIComponent('<script>alert(1)</script>')}`);
    await ask('/oauth/authenticate?oauth_token=SECRET&x=1').catch(() => {});
    await ask('/nothing');
    const page = await browser.get('/console/requests');
    const seen = readable(page.text);
    expect(seen).toContain('search and counts 19 of 20 a second');
    expect(seen).toMatch(
      /POST \/search\/30day\/accounts\/local\/dev\.json tea 200 OK 3 [\d.]+ (kB|bytes) 12:34:56 UTC 2024-05-15 [\d.]+ (ms|seconds?) Details/,
    );
    expect(seen).toContain('Left after it: 19 of 20 a second.');
    expect(seen).toContain('503 Service Unavailable fault: status');
    expect(seen).toContain('GET /nothing 404 Not Found');
    expect(seen).toContain('/oauth/authenticate?oauth_token=…&x=1');
    expect(page.text).not.toMatch(/SECRET|<script|console\/<wbr>requests<\/code>/);
    const jobs = readable((await browser.get('/console/requests?family=search')).text);
    expect(jobs).toContain('2 requests');
    expect(jobs).not.toContain('/nothing');
  });

  it('shows the sent body, the error and a curl command in an expanded row', async () => {
    const { browser, search, ask, service } = await signedIn(teaPosts(3));
    await search({ query: `"it's" has:vidoes` });
    await ask(`${SEARCH_PATH}?query=tea&maxResults=10`);
    await ask('/_control/clock', { method: 'DELETE', headers: { authorization: '' } });
    const { text } = await browser.get('/console/requests');
    const seen = readable(text);
    const { baseUrl } = service.addresses();
    expect(text).toContain('<details><summary>Details</summary>');
    expect(seen).toContain(`Body { "query": "\\"it's\\" has:vidoes" }`);
    expect(seen).toMatch(
      /Error \{ "error": \{ "message": "There were errors processing your request: /,
    );
    const login = 'curl -u "$MILLRACE_EMAIL:$MILLRACE_PASSWORD"';
    expect(seen).toContain(
      `${login} -d '{"query":"\\"it'\\''s\\" has:vidoes"}' '${baseUrl}${SEARCH_PATH}'`,
    );
    expect(seen).toContain(`${login} '${baseUrl}${SEARCH_PATH}?query=tea&maxResults=10'`);
    expect(seen).toContain(`curl -X DELETE '${baseUrl}/_control/clock'`);
    expect(seen.match(/Error/g)).toHaveLength(1);
  });

  it('shows no command for a request that cannot be repeated', async () => {
    const { browser, ask } = await signedIn();
    await ask('/snapshots/x?Signature=SECRET');
    await ask('/oauth/request_token', { method: 'POST' });
    expect((await browser.get('/console/requests')).text).not.toMatch(/curl|SECRET/);
  });

  it('filters requests by endpoint family and by status together', async () => {
    const { browser, search, ask, service } = await signedIn(teaPosts(3));
    await search({ query: 'tea' });
    await search({ query: '-tea' });
    service.faults.plant({ kind: 'status', status: 503, endpoint: 'counts' });
    await ask('/search/30day/accounts/local/dev/counts.json?query=tea');
    await ask('/nothing');
    const shown = async (query: string) => {
      const { text } = await browser.get(`/console/requests?${query}`);
      return [...readable(text).matchAll(/ (\d{3}) [A-Z]\w+/g)].map(([, status]) => status);
    };
    expect(await shown('')).toEqual(['404', '503', '422', '200']);
    expect(await shown('status=4xx')).toEqual(['404', '422']);
    expect(await shown('status=4xx&family=search')).toEqual(['422']);
    expect(await shown('status=5xx&family=search')).toEqual([]);
    const { text } = await browser.get('/console/requests?family=search&page=2');
    expect(text).toContain('<a href="/console/requests?family=search&amp;status=4xx">4xx</a>');
    expect(text).not.toContain('>5xx<');
    expect(readable(text)).toMatch(/Log any family search .* any status 2xx 4xx /);
    const none = await browser.get('/console/requests?status=5xx&family=search');
    expect(none.text).toContain('status=5xx&amp;family=search" aria-current="true">5xx</a>');
    expect((await browser.get('/console/requests?status=bogus')).text).not.toContain('>bogus<');
  });

  it('lists sign-ins and sign-outs of the console without passwords or tokens', async () => {
    const { baseUrl } = await local();
    const browser = browse(baseUrl);
    await browser.get('/console/sign-in?csrf_token=SECRET&next=/console');
    expect((await browser.signIn('WRONG-PASSWORD')).status).toBe(401);
    await browser.signIn();
    await browser.get('/console/jobs');
    await browser.post('/console/sign-out');
    await browser.signIn();
    expect(readable((await browser.get('/console/requests')).text)).toContain('No such requests');
    const { text } = await browser.get('/console/requests?family=pages');
    const seen = readable(text);
    expect(seen).toContain('8 requests');
    expect(seen).toMatch(/POST \/console\/sign-in 401 /);
    expect(seen).toMatch(/POST \/console\/sign-in 303 /);
    expect(seen).toMatch(/POST \/console\/sign-out 303 /);
    expect(seen).toContain('GET /console/sign-in?csrf_token=…&next=/console 200');
    expect(text).not.toMatch(
      /Error|name=&quot;csrf|SECRET|WRONG-PASSWORD|local-service|(GET|POST)<\/span> <code>\/<wbr>console\/<wbr>jobs/,
    );
  });
});
