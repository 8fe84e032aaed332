import { describe, expect, it } from 'vitest';
import { MINUTE } from '../../../src/base/time.js';
import { NOW } from '../local-service.js';
import { HOSTILE, readable, signedIn } from './browse.js';

describe('the console page of faults and the clock', () => {
  const address = '/console/faults';

  it('sets, moves and stops the clock with forms', async () => {
    const { browser, service } = await signedIn();
    await browser.get(address);
    for (const [fields, now] of [
      [{ span: '31m' }, NOW + 31 * MINUTE],
      [{ action: 'advance', advance: ' -31m ' }, NOW],
      [{ action: 'set', set: '202001010000' }, Date.UTC(2020, 0, 1)],
    ] as const) {
      expect((await browser.post(address, fields)).status).toBe(303);
      expect(service.clock.now()).toBe(now);
    }
    expect(readable((await browser.get(address)).text)).toContain('The clock has changed.');
    await browser.post(address, { action: 'resume' });
    expect(service.clock.frozen).toBe(false);
    await browser.post(address, { action: 'freeze' });
    expect(service.clock.frozen).toBe(true);
    await browser.post(address, { action: 'reset' });
    expect(service.clock.frozen).toBe(false);
    expect(Math.abs(service.clock.now() - Date.now())).toBeLessThan(MINUTE);
  });

  it('plants a common fault with one click', async () => {
    const { browser, service } = await signedIn();
    const { text } = await browser.get(address);
    const names = [...text.matchAll(/name="preset" value="([^"]+)"/g)].map(([, name]) => `${name}`);
    for (const preset of names)
      expect((await browser.post(address, { action: 'preset', preset })).status).toBe(303);
    expect(service.faults.list().map(({ kind }) => kind)).toEqual([
      ...['status', 'content-cut', 'stall', 'delay'],
    ]);
    expect(service.faults.list()).toMatchObject([
      { status: 503, times: 3 },
      { afterMessages: 100 },
      { afterBytes: 1_000 },
      { ms: 3_000, times: 'always' },
    ]);
    const unknown = await browser.post(address, { action: 'preset', preset: 'constructor' });
    expect(unknown.status).toBe(400);
  });

  it('plants each kind of fault and clears it', async () => {
    const { browser, service } = await signedIn();
    const times = { times: 'always', skip: '2' };
    const minutes = { minutes: '202405151000, 202405151001' };
    for (const [kind, fields, fault] of [
      [
        'status',
        { status: '503', retryAfter: '3', endpoint: 'jobs', ...times },
        { status: 503, retryAfter: 3, endpoint: 'jobs', times: 'always', skip: 2 },
      ],
      [
        'cut',
        { afterBytes: '9', end: 'close', inCharacter: 'yes' },
        { afterBytes: 9, end: 'close', inCharacter: true },
      ],
      ['stall', { afterBytes: '0', forMs: '5' }, { afterBytes: 0, forMs: 5 }],
      ['flip', { atByte: '1', path: HOSTILE }, { atByte: 1, path: HOSTILE }],
      ['delay', { ms: '7', times: '2' }, { ms: 7, times: 2 }],
      ['counts-timeout', { buckets: '3' }, { buckets: 3 }],
      ['job-failure', { during: 'running', title: HOSTILE }, { during: 'running', title: HOSTILE }],
      ['suspect-minutes', minutes, { minutes: ['202405151000', '202405151001'] }],
      ['wrong-totals', { urlCount: '-1' }, { urlCount: -1 }],
      [
        'content-cut',
        { afterMessages: '2', within: 'character' },
        { afterMessages: 2, within: 'character' },
      ],
      ['wrong-count', { by: '-2', endpoint: 'replay' }, { by: -2, endpoint: 'replay' }],
      ['minutes-failed', { ...minutes, deliver: 'part' }, { deliver: 'part' }],
      ['unprocessed-range', { fromDate: '202405151000' }, { fromDate: '202405151000' }],
      ['flood', { minutes: '5' }, { minutes: 5 }],
    ] as const) {
      const form = await browser.get(`${address}?kind=${kind}`);
      for (const name of Object.keys(fields)) expect(form.text).toContain(`name="${name}"`);
      const page = await browser.post(`${address}?kind=${kind}`, { action: 'plant', ...fields });
      expect([kind, page.status]).toEqual([kind, 303]);
      const [planted] = service.faults.list();
      expect(planted).toMatchObject({ kind, ...fault });
      const shown = await browser.get(address);
      expect(shown.text).not.toMatch(/<script|<img/);
      await browser.post(address, { action: 'clear', id: String(planted?.id) });
      expect(service.faults.list()).toEqual([]);
    }
    service.faults.plant({ kind: 'flip', atByte: 1 });
    service.faults.plant({ kind: 'flip', atByte: 2 });
    await browser.post(address, { action: 'clear' });
    expect(service.faults.list()).toEqual([]);
  });

  it('explains an invalid fault, and keeps the filled-in fields', async () => {
    const { browser, service } = await signedIn();
    await browser.get(`${address}?kind=status`);
    const fields = { action: 'plant', status: '200', message: HOSTILE, endpoint: 'jobs' };
    const page = await browser.post(`${address}?kind=status`, fields);
    expect(page.status).toBe(422);
    expect(page.text).toMatch(/id="fault-status"[^>]*aria-invalid="true"[^>]*value="200"/);
    expect(page.text).toContain('<option selected>jobs</option>');
    expect(readable(page.text)).toContain(' Must be a whole number from 400 to 599.');
    expect(page.text).not.toMatch(/<script|<img/);
    expect(service.faults.list()).toEqual([]);
    const unknown = await browser.post(`${address}?kind=toString`, fields);
    expect(unknown.status).toBe(400);
  });

  it('is read-only if the control API is disabled', async () => {
    const { browser, service } = await signedIn([], { control: false });
    service.faults.plant({ kind: 'flip', atByte: 1 });
    const page = await browser.get(address);
    expect(readable(page.text)).toContain('To look at only');
    expect(readable(page.text)).toContain('flip 0 of 1 hit anywhere atByte 1');
    expect(page.text).not.toContain(`action="${address}`);
    for (const fields of [{ action: 'clear' }, { action: 'reset' }, { action: 'plant' }])
      expect((await browser.post(`${address}?kind=flood`, fields)).status).toBe(403);
    expect(service.faults.list()).toHaveLength(1);
  });

  it('is unaffected by a fault that is planted for all endpoints', async () => {
    const { browser, service } = await signedIn();
    service.faults.plant({ kind: 'status', status: 503, times: 'always' });
    await browser.get(address);
    await browser.post(address, { action: 'clear' });
    expect(service.faults.list()).toEqual([]);
    service.faults.plant({ kind: 'status', status: 503, endpoint: 'pages' });
    const page = await browser.get(address);
    expect(page.status).toBe(503);
    expect(page.headers.get('content-type')).toMatch('text/html');
    service.faults.plant({ kind: 'status', status: 503, endpoint: 'pages' });
    expect((await browser.get('/status')).text).toContain('Something broke');
  });
});
