import { describe, expect, it } from 'vitest';
import { teaPosts } from '../local-service.js';
import { readable, signedIn } from './browse.js';
import { page } from './explore-address.js';

describe('the problems of a query in the console', () => {
  it('are shown with carets and links that apply suggestions', async () => {
    const { browser } = await signedIn(teaPosts(3));
    const { text } = await browser.get(
      page({ query: 'tea has:vidoes', product: 'fullarchive', next: 'x' }),
    );
    expect(readable(text)).toContain('error[R014]: unknown value `vidoes` for `has:`');
    expect(text).toContain('  |         ^^^^^^ did you mean');
    expect(text).not.toMatch(/class="post"|class="chart"/);
    const links = [...text.matchAll(/<a href="([^"]*)">Apply/g)].map(
      ([, link]) => new URL(String(link).replaceAll('&amp;', '&'), 'http://localhost').searchParams,
    );
    expect(links.map(link => Object.fromEntries(link))).toEqual([
      { query: 'tea has:videos', product: 'fullarchive' },
    ]);
    const two = readable((await browser.get(page({ query: 'tea has:vidoes has:linsk' }))).text);
    expect(two).toContain('Apply all 2');
  });

  it('are shown with the corrected query of each suggestion, and wrap except for the line of the rule', async () => {
    const { browser } = await signedIn([]);
    const { text } = await browser.get(page({ query: 'tea or coffee (', check: '' }));
    expect(text).toMatch(
      /<p>error\[R006\]: a group is not closed<\/p>\n<pre> {2}\| tea or coffee \(\n/,
    );
    const wrong = await browser.get(page({ query: 'tea has:vidoes', check: '' }));
    expect(wrong.text).toMatch(/">Apply<\/a>: <code>tea has:videos<\/code>/);
    expect(wrong.text).toMatch(/<\/pre><p>allowed: geo, /);
  });
});
