import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { signedIn } from '../browse.js';

describe('the script of the console', () => {
  it('is served at a URL that changes with its content', async () => {
    const { browser } = await signedIn();
    const { script } = await browser.get('/console');
    const { text, headers, status } = await browser.get(String(script));
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    const digest = createHash('sha256').update(text).digest('hex').slice(0, 12);
    expect(script).toBe(`/pages/script.js?v=${digest}`);
    expect(text).not.toMatch(/https?:|eval|innerHTML =/);
  });
});
