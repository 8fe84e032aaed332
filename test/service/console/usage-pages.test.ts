import { describe, expect, it } from 'vitest';
import { teaPosts } from '../local-service.js';
import { readable, signedIn } from './browse.js';

describe('the console page of usage', () => {
  it('charts the usage, with thresholds and the projection', async () => {
    const { browser, search } = await signedIn(teaPosts(30), {
      usageAlert: 20,
      usageCap: 1000,
      requestCap: 500,
    });
    expect(readable((await browser.get('/console/usage')).text)).toContain('Nothing used');
    await search({ query: 'tea', maxResults: 100 });
    const { text } = await browser.get('/console/usage');
    expect(text).toContain('<svg role="img" aria-label="Activities in each of the last 12 months');
    expect(text).toContain('<title>2024-05: 30, projected 64</title>');
    expect(text).toContain('<title>cap: 1,000</title>');
    // The label of a bar at the edge must not extend beyond the chart.
    expect(text).toMatch(/<text x="99.\d+%" text-anchor="end" y="203">05-15<\/text>/);
    expect(readable(text)).toContain('alert passed');
    expect(readable(text)).toContain('30day 30 64 1, projected 2, cap 500');
  });

  it('does not count as a request for usage', async () => {
    const { browser, ask } = await signedIn([], { limits: 'strict' });
    for (let i = 0; i < 5; i++) await browser.get('/console/usage');
    expect((await ask('/accounts/local/usage.json')).status).toBe(200);
  });
});
