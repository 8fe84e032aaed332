import { describe, expect, it } from 'vitest';
import { NOW, teaPosts } from '../local-service.js';
import { HOSTILE, signedIn } from './browse.js';
import { PAGES } from './console-pages.js';

describe('the forms of the clock', () => {
  const address = '/console/faults';

  it.each(['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z'])(
    'do not break any page at the ends of time: %s',
    async set => {
      const { browser } = await signedIn(teaPosts(1));
      await browser.get(address);
      expect((await browser.post(address, { action: 'set', set })).status).toBe(303);
      for (const page of [...PAGES, '/status'])
        expect([page, (await browser.get(page)).status]).toEqual([page, 200]);
    },
  );

  it('explain a wrong time, and change nothing', async () => {
    const { browser, service } = await signedIn();
    await browser.get(address);
    for (const fields of [
      { action: 'set', set: HOSTILE },
      { action: 'advance', advance: '5 years' },
      { span: 'x' },
    ]) {
      const page = await browser.post(address, fields);
      expect(page.status).toBe(422);
      expect(page.text).toContain('role="alert" id="clock-problem"');
      expect(page.text).not.toMatch(/<script|<img/);
    }
    expect(service.clock.now()).toBe(NOW);
  });
});
