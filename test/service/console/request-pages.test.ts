import { describe, expect, it } from 'vitest';
import { local, SEARCH_PATH, teaPosts } from '../local-service.js';
import { browse, readable, signedIn } from './browse.js';

describe('the page of requests', () => {
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
      /POST \/search\/30day\/accounts\/local\/dev\.json 200 12:34:56 UTC 2024-05-15 [\d.]+ (ms|seconds?) 19 of 20 a second/,
    );
    expect(seen).toContain('503 fault: status');
    expect(seen).toContain('GET /nothing 404');
    expect(seen).toContain('/oauth/authenticate?oauth_token=…&x=1');
    expect(page.text).not.toMatch(/SECRET|<script|console\/<wbr>requests<\/code>/);
    const jobs = readable((await browser.get('/console/requests?family=search')).text);
    expect(jobs).toContain('2 requests');
    expect(jobs).not.toContain('/nothing');
  });

  it('shows sign-ins and sign-outs of the console, without passwords and tokens, and no page views', async () => {
    const { baseUrl } = await local();
    const browser = browse(baseUrl);
    await browser.get('/console/sign-in?csrf_token=SECRET&next=/console');
    expect((await browser.signIn('WRONG-PASSWORD')).status).toBe(401);
    await browser.signIn();
    await browser.get('/console/jobs');
    await browser.post('/console/sign-out');
    await browser.signIn();
    const { text } = await browser.get('/console/requests');
    const seen = readable(text);
    expect(seen).toContain('8 requests');
    expect(seen).toMatch(/POST \/console\/sign-in 401 /);
    expect(seen).toMatch(/POST \/console\/sign-in 303 /);
    expect(seen).toMatch(/POST \/console\/sign-out 303 /);
    expect(seen).toContain('GET /console/sign-in?csrf_token=…&next=/console 200');
    expect(text).not.toMatch(
      /SECRET|WRONG-PASSWORD|local-service|(GET|POST)<\/span> <code>\/<wbr>console\/<wbr>jobs/,
    );
  });
});
