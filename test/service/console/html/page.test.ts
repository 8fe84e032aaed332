import { describe, expect, it } from 'vitest';
import { signedIn } from '../browse.js';
import { PAGES } from '../console-pages.js';

describe('a console page', () => {
  it.each([
    ...[...PAGES, '/status'].map(address => [address, true] as const),
    ...['/console/nothing', '/oauth/grants'].map(address => [address, false] as const),
  ])(
    'at %s is sent with security headers, and may run a script: %s',
    async (address, hasScript) => {
      const { browser } = await signedIn();
      const { headers, text, script } = await browser.get(address);
      const policy = String(headers.get('content-security-policy'));
      const scripts = hasScript ? "script-src 'self'; connect-src 'self'; " : '';
      expect(policy).toMatch(
        `default-src 'none'; ${scripts}style-src 'self'; img-src 'self'; form`,
      );
      expect(script !== undefined).toBe(hasScript);
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain('unsafe');
      expect(Object.fromEntries(headers)).toMatchObject({
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
      });
      expect(text).not.toMatch(/<script|\son\w+=|\sstyle=|javascript:/i);
    },
  );

  it.each([
    ...['/console', '/console/jobs', '/console/streams', '/console/compliance'],
    ...['/console/requests', '/console/explore', '/status'],
  ])('at %s has parts that refresh themselves, each with a unique id', async address => {
    const { browser } = await signedIn();
    const { text } = await browser.get(address);
    const ids = [...text.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
    expect(ids).toEqual([...new Set(ids)]);
    const parts = text.match(/ data-live/g)?.length ?? 0;
    expect(parts).toBeGreaterThan(0);
    expect(text.match(/ id="[^"]+" data-live[ >]/g)).toHaveLength(parts);
  });
});
