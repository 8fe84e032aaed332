import { describe, expect, it } from 'vitest';
import { NOW, teaPosts } from '../local-service.js';
import { HOSTILE, readable, signedIn } from './browse.js';
import { PAGES } from './console-pages.js';

describe('the clock forms of the console', () => {
  const address = '/console/faults';

  it.each(['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z'])(
    'keep every page working at the earliest and latest times: %s',
    async set => {
      const { browser } = await signedIn(teaPosts(1));
      await browser.get(address);
      expect((await browser.post(address, { action: 'set', set })).status).toBe(303);
      for (const page of [...PAGES, '/status'])
        expect([page, (await browser.get(page)).status]).toEqual([page, 200]);
    },
  );

  it('explain an invalid time without changing the clock', async () => {
    const { browser, service } = await signedIn();
    await browser.get(address);
    for (const fields of [
      { action: 'set', set: HOSTILE },
      { action: 'advance', advance: '5 years' },
      { span: 'x' },
      { action: 'set' },
      { action: 'advance' },
    ]) {
      const page = await browser.post(address, fields);
      expect(page.status).toBe(422);
      expect(page.text).toContain('role="alert" id="clock-problem"');
      expect(page.text).not.toMatch(/<script|<img/);
    }
    expect(service.clock.now()).toBe(NOW);
  });

  it('ask for confirmation before a move that expires jobs permanently', async () => {
    const { browser, ask, service } = await signedIn(teaPosts(3), { jobDwellMs: 0 });
    const job = {
      publisher: 'twitter',
      dataFormat: 'original',
      fromDate: '202405140000',
      toDate: '202405140100',
      title: HOSTILE,
      rules: [{ value: 'tea' }],
    };
    await ask('/historical/rulestream/accounts/local/publishers/twitter/jobs.json', {
      method: 'POST',
      body: JSON.stringify(job),
    });
    await service.settled();
    await browser.get(address);
    for (const fields of [
      { action: 'set', set: '202501010000' },
      { action: 'advance', advance: '400d' },
    ]) {
      const asked = await browser.post(address, fields);
      expect(asked.status).toBe(200);
      expect(readable(asked.text)).toContain('1 job will expire for good, with rules and files:');
      expect(asked.text).not.toMatch(/<script|<img/);
      expect(service.clock.now()).toBe(NOW);
    }
    expect((await browser.post(address, { span: '1d' })).status).toBe(303);
    const set = { action: 'set', set: '202501010000' };
    expect((await browser.post(address, { ...set, confirmed: 'yes' })).status).toBe(303);
    expect(service.clock.now()).toBe(Date.UTC(2025, 0, 1));
    expect((await browser.post(address, { action: 'advance', advance: '400d' })).status).toBe(303);
  });
});
