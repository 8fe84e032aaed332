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
    expect((await browser.get(`${address}?last=constructor&page=-7`)).status).toBe(200);
  });
});
