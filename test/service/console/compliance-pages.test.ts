import { describe, expect, it } from 'vitest';
import { MINUTE } from '../../../src/time.js';
import { NOW } from '../local-service.js';
import { HOSTILE, readable, signedIn } from './browse.js';

describe('the page of compliance events', () => {
  it('shows recent events of any content, in pages', async () => {
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
});
