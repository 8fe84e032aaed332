import { describe, expect, it, vi } from 'vitest';
import { DAY, MINUTE, SECOND } from '../../../src/base/time.js';
import { NOW } from '../local-service.js';
import { originalPost } from '../memory-archive.js';
import { HOSTILE, readable, signedIn } from './browse.js';

describe('the console page of compliance events', () => {
  it('shows recent events with any content, divided into pages', async () => {
    const { browser, service } = await signedIn();
    const address = '/console/compliance';
    expect(readable((await browser.get(address)).text)).toContain('--compliance-rate');
    service.compliance.inject(
      JSON.stringify({ [HOSTILE]: { status: { id_str: '1' } } }),
      NOW - 2 * MINUTE,
    );
    for (let i = 0; i < 60; i++)
      service.compliance.inject({ delete: { status: { id_str: `9${i}` } } }, NOW - 30 * MINUTE);
    const page = await browser.get(address);
    expect(readable(page.text)).toContain('61 events');
    expect(page.text).not.toMatch(/<script|<img/);
    expect(readable(page.text)).toContain('Older 1 to 12 of 61');
    const last = await browser.get(`${address}?page=6&last=1h`);
    expect(readable(last.text)).toContain('Newer 61 to 61 of 61');
    expect(readable((await browser.get(`${address}?last=10m`)).text)).toContain('1 event');
    const newest = service.compliance;
    newest.inject(
      '{"user_withheld":{"user":{"id":9007199254740993},"withheld_in_countries":["FR"]}}',
      NOW - MINUTE,
    );
    newest.inject(
      '{"delete":{"status":{"id":1,"id_str":"1790322147456000001","user_id_str":"77"}}}',
      NOW,
    );
    newest.inject('{"status_withheld":{"id":2125579453858234420,"user_id":78}}', NOW);
    newest.inject('{"tweet_edit":{"id":"1790322147456000009"}}', NOW);
    const rows = readable((await browser.get(`${address}?last=10m`)).text);
    expect(rows).toMatch(/delete partition \d 1790322147456000001 77 /);
    expect(rows).toMatch(/status_withheld partition \d 2125579453858234420 78 /);
    expect(rows).toMatch(/tweet_edit partition \d 1790322147456000009 /);
    expect(rows).toMatch(/user_withheld partition \d 9007199254740993 /);
    expect((await browser.get(`${address}?last=constructor&page=-7`)).status).toBe(200);
  });

  it('reads, when it is viewed again, only posts that are newer than the last view', async () => {
    const posts = Array.from({ length: 200 }, (_, i) =>
      originalPost(NOW - i * 3 * MINUTE, String(1_790_000_000_000_000_000n - BigInt(i)), 'tea'),
    );
    const { browser, service, archive } = await signedIn(posts, { complianceRate: 1 });
    const scan = vi.spyOn(archive, 'scan');
    const longest = () => {
      const spans = scan.mock.calls.map(([{ from, to }]) => to - from);
      scan.mockClear();
      return Math.max(...spans);
    };
    const show = async (span: string) =>
      (await browser.get(`/console/compliance?last=${span}`)).text;
    const first = readable(await show('1d'));
    expect(first).toMatch(/[1-9]\d+ events, newest first/);
    expect(longest()).toBeGreaterThanOrEqual(DAY);
    for (let i = 0; i < 30; i++) {
      service.clock.advance(2 * SECOND);
      await show('1d');
      expect(longest()).toBeLessThan(5 * SECOND);
    }
    // The rows must be the same as in a new console, which has no events in its cache.
    const rows = (page: string) => readable(page).replace(/^.*?newest first/, '');
    const kept = [await show('1d'), await show('1h'), await show('10m')].map(rows);
    const other = await signedIn(posts, { complianceRate: 1 });
    other.service.clock.set(service.clock.now());
    const fresh = [];
    for (const span of ['1d', '1h', '10m'])
      fresh.push(rows((await other.browser.get(`/console/compliance?last=${span}`)).text));
    expect(kept.map(sent)).toEqual(fresh.map(sent));
  });

  it('shows the events of a post that was added since the last view', async () => {
    const { browser, service } = await signedIn([], { complianceRate: 1 });
    const seen = async () => readable((await browser.get('/console/compliance?last=1d')).text);
    expect(await seen()).toContain('No events');
    for (let i = 0; i < 20; i++)
      service.posts.add({ text: 'tea', postedAt: new Date(NOW - 3 * 60 * MINUTE - i * MINUTE) });
    expect(await seen()).toMatch(/\d+ events, newest first/);
  });
});

/**
 * Returns the text of the rows. Excludes the commands below them, because these contain the address
 * of the service.
 */
function sent(rows: string): string {
  return rows.replace(/Addresses and commands.*$/, '');
}
