import { describe, expect, it } from 'vitest';
import { DAY } from '../../../src/base/time.js';
import { local, NOW } from '../local-service.js';
import { originalPost } from '../memory-archive.js';
import { browse, HOSTILE, readable, signedIn } from './browse.js';

describe('the status page of the local service', () => {
  it('needs no sign-in, and shows each endpoint family, its planted faults and the clock', async () => {
    const { baseUrl, service } = await local([originalPost(NOW - DAY, '1', 'tea')]);
    const browser = browse(baseUrl);
    const see = async () => readable((await browser.get('/status')).text);
    expect(await see()).toContain('Everything answers as it should.');
    expect(await see()).toContain('2024-05-15 12:34:56 UTC frozen');
    service.faults.plant({ kind: 'status', status: 503, times: 'always', endpoint: 'search' });
    service.faults.plant({ kind: 'delay', ms: 5, endpoint: 'jobs', path: HOSTILE });
    service.faults.plant({ kind: 'flood' });
    service.faults.plant({ kind: 'job-failure', during: 'running', title: HOSTILE });
    const { text } = await browser.get('/status');
    const seen = readable(text);
    expect(seen).toContain('4 planted faults');
    expect(seen).toContain('Search down status status 503');
    expect(seen).toContain('Counts up ');
    expect(seen).toMatch(/Historical jobs faulty delay ms 5 ms/);
    expect(seen).toContain('Replay streams faulty flood');
    expect(text).not.toMatch(/<script|<img/);
  });

  it('shows the menu of the console, but no button to sign out, to visitors', async () => {
    const { baseUrl } = await local();
    const { text } = await browse(baseUrl).get('/status');
    expect(text).toContain('<li><a href="/status" aria-current="page">Status</a></li>');
    expect(text).toContain('<li><a href="/console/jobs">Jobs</a></li>');
    expect(text).not.toMatch(/<form|Signed in/);
  });

  it('shows a button to sign out to visitors who are signed in', async () => {
    const { browser } = await signedIn();
    expect(readable((await browser.get('/status')).text)).toContain(
      'Signed in as dev@example.com Sign out',
    );
    expect((await browser.post('/console/sign-out')).status).toBe(303);
    expect((await browser.get('/status')).text).not.toMatch(/<form|Signed in/);
  });

  it('does not report a family as up if a fault for all endpoints is planted', async () => {
    const { baseUrl, service } = await local();
    const browser = browse(baseUrl);
    const see = async () => readable((await browser.get('/status')).text);
    expect(await see()).not.toContain('Any endpoint');
    service.faults.plant({ kind: 'delay', ms: 5, path: 'query=tea' });
    service.faults.plant({ kind: 'counts-timeout', buckets: 1 });
    expect(await see()).toContain('Any endpoint faulty delay ms 5 ms (addresses with “query=tea”)');
    expect(await see()).toMatch(
      /Search faulty as any endpoint Counts faulty counts-timeout buckets 1/,
    );
    expect((await see()).match(/ up /g)).toHaveLength(1);
    expect(await see()).toContain('Console and status page up ');
    service.faults.plant({ kind: 'status', status: 503, times: 'always' });
    expect(await see()).toContain('Any endpoint down');
    expect(await see()).toContain('Search down as any endpoint');
    expect(await see()).toContain('Console and status page up ');
  });
});
