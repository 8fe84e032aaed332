import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { DAY, MINUTE } from '../../src/base/time.js';
import { DWELL, localJobs, POSTS } from './jobs/local-jobs.js';
import { local, NOW, teaPosts } from './local-service.js';
import { MemoryArchive } from './memory-archive.js';

const send = (method: string, body?: unknown): RequestInit =>
  body === undefined ? { method } : { method, body: JSON.stringify(body) };

describe('the control API of the local service', () => {
  describe('for its clock', () => {
    const withClock = async () => {
      const { ask, service } = await local();
      const clock = async (method: string, body?: unknown) => {
        const { status, text } = await ask('/_control/clock', send(method, body));
        expect(status).toBe(200);
        return JSON.parse(text) as { now: string; frozen: boolean };
      };
      return { clock, service };
    };

    it('returns the time', async () => {
      const { clock } = await withClock();
      expect(await clock('GET')).toEqual({ now: new Date(NOW).toISOString(), frozen: true });
    });

    it('sets and advances the time', async () => {
      const { clock } = await withClock();
      for (const [change, now] of [
        [{ set: '202001010000' }, '2020-01-01T00:00:00.000Z'],
        [{ advance: '15d' }, '2020-01-16T00:00:00.000Z'],
        [{ advance: '-1.5h' }, '2020-01-15T22:30:00.000Z'],
        [{ advance: 1 }, '2020-01-15T22:30:00.001Z'],
        [{ set: '2021-02-03T04:05:06Z' }, '2021-02-03T04:05:06.000Z'],
        [{ set: NOW, advance: '31m' }, new Date(NOW + 31 * MINUTE).toISOString()],
        [{ set: 0, frozen: true }, '1970-01-01T00:00:00.000Z'],
      ] as const)
        expect((await clock('POST', change)).now).toBe(now);
    });

    it('resumes the clock', async () => {
      const { clock, service } = await withClock();
      await clock('POST', { set: 0, frozen: true });
      expect((await clock('POST', { set: NOW, frozen: false })).frozen).toBe(false);
      expect(Math.abs(service.clock.now() - NOW)).toBeLessThan(DAY);
    });

    it('moves the clock and responds once jobs have done the work that is then due', async () => {
      let delayMs = 0;
      const archive = new MemoryArchive(POSTS);
      const scan = archive.scan.bind(archive);
      archive.scan = async function* (...call) {
        await sleep(delayMs);
        yield* scan(...call);
      };
      const jobs = await localJobs({ archive });
      const uuid = await jobs.bring('accepted');
      // This is longer than a request for the job waits.
      delayMs = 300;
      const { baseUrl } = jobs.service.addresses();
      await fetch(`${baseUrl}/_control/clock`, send('POST', { advance: 2 * DWELL }));
      expect((await jobs.job(uuid)).status).toBe('completed');
    });

    it('resets the clock', async () => {
      const { clock, service } = await withClock();
      await clock('DELETE');
      expect(Math.abs(service.clock.now() - Date.now())).toBeLessThan(DAY);
    });
  });

  it('moves the clock that searches use', async () => {
    const { ask, search } = await local(teaPosts(3));
    await ask('/_control/clock', send('POST', { advance: '31d' }));
    expect((await search({ query: 'tea' })).page.results).toEqual([]);
  });

  it.each([
    [{ set: 'soon' }, 422],
    [{ set: null }, 422],
    [{ set: 1e300 }, 422],
    [{ set: 8.64e15 }, 422],
    [{ set: Date.UTC(9999, 11, 31), advance: '1d' }, 422],
    [{ set: '0000-01-01T00:00:00Z' }, 422],
    [{ advance: '5 years' }, 422],
    [{ advance: {} }, 422],
    [{ frozen: 'yes' }, 422],
    [{ jump: 1 }, 422],
    [[], 400],
  ])('rejects a move of the clock by %j', async (change, status) => {
    const { ask, service } = await local();
    const reply = await ask('/_control/clock', send('POST', change));
    expect(reply.status).toBe(status);
    expect(reply.page.error?.message).not.toBe('');
    expect(service.clock.now()).toBe(NOW);
  });

  it('plants, lists and clears faults', async () => {
    const { ask, search } = await local();
    const plant = (fault: object) => ask('/_control/faults', send('POST', fault));
    const list = async () => JSON.parse((await ask('/_control/faults')).text).faults;
    const planted = await plant({ kind: 'status', status: 503, times: 2 });
    expect(planted.status).toBe(201);
    const { id } = JSON.parse(planted.text);
    await plant({ kind: 'delay', ms: 1, endpoint: 'counts' });
    expect((await search({ query: 'tea' })).status).toBe(503);
    expect(await list()).toMatchObject([
      { id, hits: 1, kind: 'status' },
      { hits: 0, kind: 'delay' },
    ]);
    const cleared = await ask(`/_control/faults/${id}`, send('DELETE'));
    expect([cleared.status, cleared.text]).toEqual([200, '{"cleared":1}']);
    expect((await ask(`/_control/faults/${id}`, send('DELETE'))).status).toBe(404);
    expect((await search({ query: 'tea' })).status).toBe(200);
    expect((await ask('/_control/faults', send('DELETE'))).text).toBe('{"cleared":1}');
    expect(await list()).toEqual([]);
  });

  it('rejects an impossible fault with 422, and a body that is not JSON with 400', async () => {
    const { ask } = await local();
    const reply = await ask('/_control/faults', send('POST', { kind: 'cut' }));
    expect([reply.status, reply.page.error?.message]).toEqual([
      422,
      expect.stringContaining('afterBytes'),
    ]);
    expect((await ask('/_control/faults', { method: 'POST', body: '{' })).status).toBe(400);
    expect((await ask('/_control/faults', send('PUT', {}))).status).toBe(405);
  });

  it('is never affected by a planted fault', async () => {
    const { ask, service } = await local();
    service.faults.plant({ kind: 'status', status: 500, times: 'always' });
    expect((await ask('/_control/faults')).status).toBe(200);
  });

  it.each([
    { origin: 'http://example.com' },
    { host: 'example.com' },
    { host: '127.0.0.1.nip.io' },
  ])('rejects requests from web pages: %j', async headers => {
    const { baseUrl } = await local();
    const status = await new Promise((resolve, reject) => {
      http
        .get(`${baseUrl}/_control/clock`, { headers }, response => {
          resolve(response.resume().statusCode);
        })
        .on('error', reject);
    });
    expect(status).toBe(403);
  });

  it('can be disabled', async () => {
    const { ask } = await local([], { control: false });
    expect((await ask('/_control/clock')).status).toBe(404);
    expect((await ask('/_control/faults')).status).toBe(404);
  });
});

describe('the control API of a service with a token', () => {
  const TOKEN = 'the-token-of-a-test';
  const PATHS = ['clock', 'faults', 'requests', 'posts', 'grants', 'snapshot'];
  const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

  it.each(PATHS)('requires the token for %s', async name => {
    const { ask } = await local([], { token: TOKEN });
    const path = `/_control/${name}`;
    expect((await ask(path, bearer(TOKEN))).status).toBe(200);
    for (const init of [{}, bearer(`${TOKEN}x`), bearer(TOKEN.slice(1)), bearer('')]) {
      const { status, headers, page } = await ask(path, init);
      expect(status).toBe(401);
      expect(headers.get('www-authenticate')).toBe('Bearer realm="millrace"');
      expect(page.error?.message).toContain('Authorization: Bearer');
      expect(page.error?.message).not.toContain(TOKEN);
    }
  });

  it('changes nothing if the token is missing', async () => {
    const { ask, service } = await local([], { token: TOKEN });
    const fault = { kind: 'status', status: 503 };
    expect((await ask('/_control/faults', send('POST', fault))).status).toBe(401);
    expect((await ask('/_control/reset', send('POST'))).status).toBe(401);
    expect(service.faults.list()).toEqual([]);
  });

  it('responds to any host name, but not to a web page', async () => {
    const { baseUrl, ask } = await local([], { token: TOKEN });
    const statusAs = (host: string) =>
      new Promise(resolve => {
        const headers = { host, authorization: `Bearer ${TOKEN}` };
        http.get(`${baseUrl}/_control/clock`, { headers }, answer => {
          answer.resume();
          resolve(answer.statusCode);
        });
      });
    expect(await statusAs('millrace:8080')).toBe(200);
    const headers = { ...bearer(TOKEN).headers, origin: 'https://evil.example' };
    expect((await ask('/_control/clock', { headers })).status).toBe(403);
  });

  it('returns addresses with the host name that the client used', async () => {
    const { baseUrl } = await local([], { token: TOKEN });
    const headers = { host: 'millrace:8080', authorization: `Bearer ${TOKEN}` };
    const text = await new Promise<string>(resolve => {
      http.get(`${baseUrl}/_control/addresses`, { headers }, async answer => {
        let all = '';
        for await (const part of answer) all += part;
        resolve(all);
      });
    });
    expect(JSON.parse(text)).toMatchObject({
      baseUrl: 'http://millrace:8080',
      consoleUrl: 'http://millrace:8080/console',
    });
  });

  it('reports readiness to anyone, and the reason only with the token', async () => {
    const { ask, archive, page } = await ready();
    expect([page.status, page.text]).toEqual([200, '{"ready":true}']);
    archive.search = () => Promise.reject(new Error('The disk is gone'));
    const open = await ask('/_control/health', { headers: { authorization: '' } });
    expect([open.status, open.text]).toEqual([503, '{"ready":false}']);
    const trusted = await ask('/_control/health', bearer(TOKEN));
    expect(JSON.parse(trusted.text)).toMatchObject({ ready: false, reason: 'The disk is gone' });
  });

  async function ready() {
    const there = await local([], { token: TOKEN });
    return {
      ...there,
      page: await there.ask('/_control/health', { headers: { authorization: '' } }),
    };
  }
});
