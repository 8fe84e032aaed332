import { describe, expect, it, vi } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../../src/base/time.js';
import { NOW, teaPosts } from '../local-service.js';
import { originalPost } from '../memory-archive.js';
import { HOSTILE, readable, signedIn } from './browse.js';
import { page } from './explore-address.js';

describe('the explore page of the console', () => {
  it('shows counts as a chart, posts with their matching terms, and the request as commands', async () => {
    const { browser, baseUrl } = await signedIn(teaPosts(30));
    const { text, status } = await browser.get(
      page({ query: 'tea lang:en', product: '30day', from: '2024-05-14T00:00', to: '' }),
    );
    expect(status).toBe(200);
    const seen = readable(text);
    expect(seen).toContain('30 posts 2024-05-14 00:00 to 2024-05-15 12:34 UTC');
    expect(text).toMatch(/<title>2024-05-14 12:00:00 UTC: 30<\/title>/);
    expect(seen).toMatch(/Ann @ann 2024-05-14 12:34:56 UTC tea number 0 .*Matched: tea , lang:en/);
    expect(text).toContain('<mark>tea</mark> number 9<');
    expect(text).not.toContain('number 10<');
    expect(seen).toContain(
      `curl -u "$MILLRACE_EMAIL:$MILLRACE_PASSWORD" '${baseUrl}/search/30day/accounts/local/dev.json?query=tea+lang%3Aen&fromDate=202405140000&maxResults=10'`,
    );
    expect(seen).toContain(
      'search(account(), {"product":"30day","query":"tea lang:en","fromDate":"202405140000","limit":10})',
    );
    const next = /rel="next" href="([^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
    const second = (await browser.get(String(next))).text;
    expect(second).toContain('<mark>tea</mark> number 10<');
    expect(second).not.toMatch(/number 9<|class="chart"/);
  });

  it('sends searches that are not logged, not counted as usage and not rate-limited', async () => {
    const { browser, service } = await signedIn(teaPosts(3), { limits: 'strict' });
    for (let i = 0; i < 30; i++) await browser.get(page({ query: 'tea' }));
    expect((await browser.get(page({ query: 'tea' }))).text).toContain('number 2<');
    expect(service.requests({ endpoint: 'search' })).toEqual([]);
    expect(readable((await browser.get('/console/usage')).text)).toContain('Nothing used');
  });

  it('searches in spite of a warning about the rule, but explains invalid dates instead of searching', async () => {
    const { browser } = await signedIn(teaPosts(3));
    const warned = readable((await browser.get(page({ query: 'tea or coffee' }))).text);
    expect(warned).toContain('warning[R101]');
    expect(warned).toContain('0 posts');
    const dated = await browser.get(page({ query: 'tea', from: '2024-01-01T00:00' }));
    expect(readable(dated.text)).toContain('The product 30day begins at');
    const reversed = page({ query: 'tea', from: '2024-05-15T00:00', to: '2024-05-14T00:00' });
    expect(readable((await browser.get(reversed)).text)).toContain('must be before “To”');
    expect(readable((await browser.get(page({ query: 'tea', next: 'x' }))).text)).toContain(
      'This page belongs to another search.',
    );
    for (const from of ['yesterday', '2024-13-01', '12'])
      expect(readable((await browser.get(page({ query: 'tea', from }))).text)).toMatch(
        / From: It must/,
      );
    expect(warned + dated.text + reversed).not.toMatch(/parameter '|YYYYMM|, got /);
  });

  it('stops a search that takes too long, and suggests what to change', async () => {
    const { browser, archive } = await signedIn(teaPosts(3));
    vi.spyOn(archive, 'search').mockImplementation(async (_rule, window, { deadlineMs }) => {
      expect(deadlineMs).toBeLessThanOrEqual(10_000);
      return { posts: [], more: false, reached: { at: window.to - 5000, id: '0' } };
    });
    const { text, status } = await browser.get(page({ query: 'tea' }));
    expect(status).toBe(200);
    expect(readable(text)).toContain('Not found within 10 s. Choose a shorter window');
    expect(readable(text)).toContain('This request');
    expect(text).toContain('rel="next"');
  });

  it('says that the count includes deleted posts if there are any', async () => {
    const { browser, service } = await signedIn([]);
    const [post] = service.posts.add([{ text: 'tea' }, { text: 'more tea' }]);
    const seen = async () => readable((await browser.get(page({ query: 'tea' }))).text);
    expect(await seen()).not.toContain('deleted');
    service.posts.delete(String(post?.id));
    expect(await seen()).toMatch(
      /2 posts .* UTC, with deleted posts, which searches no longer find/,
    );
  });

  it('does not count a post that is too new to be found', async () => {
    const { browser } = await signedIn([originalPost(NOW - 5_000, '1790000000000000001', 'tea')]);
    const seen = readable((await browser.get(page({ query: 'tea' }))).text);
    expect(seen).toContain('0 posts');
    expect(seen).toContain('None in this window.');
  });

  it('draws no chart if there are no posts', async () => {
    const { browser } = await signedIn(teaPosts(3));
    const { text } = await browser.get(page({ query: 'coffee' }));
    expect(readable(text)).toContain('0 posts');
    expect(text).not.toContain('class="chart"');
  });

  it('does not search while the user types', async () => {
    const { browser } = await signedIn(teaPosts(3));
    const { text } = await browser.get(page({ query: 'tea or coffee', check: '' }));
    expect(text).not.toMatch(/class="post"|class="chart"/);
    expect(readable(text)).toContain('warning[R101]');
    expect(text).not.toMatch(/[?;]check=/);
  });

  it('suggests at first a search that finds posts, even if every post is old', async () => {
    const old = [originalPost(NOW - 400 * DAY, '1000000000000000001', 'old tea')];
    const { browser } = await signedIn(old);
    const { text } = await browser.get('/console/explore');
    expect(text).toContain('>from:ann</textarea>');
    expect(text).toContain('<option selected>fullarchive</option>');
    expect(text).not.toContain('class="post"');
    const [, from] =
      /name="from" type="text" autocomplete="off" placeholder="2024-01-31 23:59" value="([^"]*)"/.exec(
        text,
      ) ?? [];
    const [, to] =
      /name="to" type="text" autocomplete="off" placeholder="2024-01-31 23:59" value="([^"]*)"/.exec(
        text,
      ) ?? [];
    const found = await browser.get(
      page({ query: 'from:ann', product: 'fullarchive', from: String(from), to: String(to) }),
    );
    expect(found.text).toContain('old tea');
  });

  it('shows a form for an empty archive', async () => {
    const { browser } = await signedIn([]);
    expect((await browser.get('/console/explore')).text).toContain('required></textarea>');
    const { text } = await browser.get(page({ query: 'tea' }));
    expect(readable(text)).toContain('None in this window.');
  });

  it('draws no more bars than fit the width of the chart, for any window', async () => {
    const { browser } = await signedIn(teaPosts(3, { newest: HOUR / 2 }));
    const bars = async (from: number, product = 'fullarchive') => {
      const text = new Date(from).toISOString().slice(0, 16);
      const shown = await browser.get(page({ query: 'tea', product, from: text }));
      expect(readable(shown.text)).toContain('3 posts');
      return shown.text.match(/<rect class="bar"/g)?.length ?? 0;
    };
    expect(await bars(NOW - 61 * MINUTE)).toBe(62);
    expect(await bars(NOW - 20 * DAY)).toBeLessThanOrEqual(63);
    expect(await bars(Date.UTC(2006, 3, 1))).toBe(19);
  });

  it('shows which part of the window is counted if counting takes too long', async () => {
    const { browser, archive } = await signedIn(teaPosts(30));
    archive.bucketsUntilTimeout = 30;
    const shown = await browser.get(page({ query: 'tea', from: '2024-05-14T00:00' }));
    expect(readable(shown.text)).toContain(
      'At least 30 posts back to 2024-05-14 07:00:00 UTC 2024-05-14 07:00 to 2024-05-15 12:34 UTC. Counting the rest, back to 2024-05-14 00:00:00 UTC, takes longer than 2 s',
    );
    expect(shown.text).toContain('number 9<');
  });

  it('escapes HTML in queries and posts', async () => {
    const hostile = [originalPost(NOW - HOUR, '1', `tea ${HOSTILE}`)];
    const { browser } = await signedIn(hostile);
    for (const query of [`"${HOSTILE}"`, 'tea', HOSTILE])
      expect((await browser.get(page({ query, from: HOSTILE, to: HOSTILE }))).text).not.toMatch(
        /<script>|<img/,
      );
    expect((await browser.get(page({ query: 'tea' }))).text).not.toMatch(/<script>|<img/);
  });

  it('links to the next, previous and first page', async () => {
    const { browser } = await signedIn(teaPosts(35));
    const first = await browser.get(page({ query: 'tea', from: '2024-05-14 00:00', to: '' }));
    const link = (text: string, rel: string) =>
      new RegExp(`rel="${rel}" href="([^"]*)"`).exec(text)?.[1]?.replaceAll('&amp;', '&');
    const shown = [first.text];
    for (let i = 0; i < 3; i++)
      shown.push((await browser.get(String(link(shown.at(-1) ?? '', 'next')))).text);
    const numbers = (text: string) =>
      [...text.matchAll(/<mark>tea<\/mark> number (\d+)</g)].map(([, n]) => n);
    expect(shown.map(text => numbers(text).length)).toEqual([10, 10, 10, 5]);
    expect(shown.map(text => /page (\d+)</.exec(text)?.[1])).toEqual(['1', '2', '3', '4']);
    expect(link(shown[3] ?? '', 'next')).toBe(undefined);
    const back = await browser.get(String(link(shown[3] ?? '', 'prev')));
    expect(numbers(back.text)).toEqual(numbers(shown[2] ?? ''));
    expect(numbers((await browser.get(String(link(shown[1] ?? '', 'prev')))).text)).toEqual(
      numbers(shown[0] ?? ''),
    );
    expect(numbers((await browser.get(String(link(shown[3] ?? '', 'first')))).text)).toEqual(
      numbers(shown[0] ?? ''),
    );
  });

  it('searches the last hour, day, 7 or 30 days with one click', async () => {
    const { browser } = await signedIn(teaPosts(35));
    const { text } = await browser.get(page({ query: 'tea', last: '1h', from: 'x', to: 'y' }));
    expect(readable(text)).toContain('2024-05-15 11:34 to 12:34 UTC');
    expect(text).toMatch(/name="from" [^>]* value="2024-05-15 11:34"/);
    expect((await browser.get(page({ query: 'tea', last: 'constructor' }))).status).toBe(200);
    expect(text).toContain('<button class="plain" name="last" value="30d">Last 30 days</button>');
  });

  it('links each bar of the chart to its part of the window', async () => {
    const { browser } = await signedIn(teaPosts(30));
    const asked = page({ query: 'tea', from: '2024-05-14T00:00', to: '' });
    const { text } = await browser.get(asked);
    const bars = [
      ...text.matchAll(/<a href="([^"]*)" aria-label="2024-05-1[45] (\d\d:\d\d:00) UTC: (\d+)"/g),
    ];
    expect(bars.length).toBeGreaterThan(3);
    const [, address = '', , count = ''] = bars.find(([, , , count]) => count !== '0') ?? [];
    const narrow = readable((await browser.get(address.replaceAll('&amp;', '&'))).text);
    expect(narrow).toContain(` ${count} posts`);
  });
});
