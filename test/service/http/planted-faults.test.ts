import http from 'node:http';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Fault } from '../../../src/service/http/fault-types.js';
import { Faults } from '../../../src/service/http/planted-faults.js';
import { AUTHORIZATION, local, NOW, SEARCH_PATH, teaPosts } from '../local-service.js';
import { originalPost } from '../memory-archive.js';

interface Seen {
  readonly status: number | undefined;
  readonly body: Buffer;
  /** Whether the HTTP message was complete. */
  readonly complete: boolean;
  readonly error: string | undefined;
}

function see(baseUrl: string, headers: http.OutgoingHttpHeaders = {}): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const url = `${baseUrl}${SEARCH_PATH}?query=tea&maxResults=500`;
    const request = http.get(url, { headers: { authorization: AUTHORIZATION, ...headers } });
    request.on('error', reject);
    request.on('response', response => {
      const chunks: Buffer[] = [];
      request.off('error', reject).on('error', () => {}); // the response emits the same error
      let error: string | undefined;
      response.on('data', chunk => chunks.push(chunk));
      response.on('error', (reason: NodeJS.ErrnoException) => {
        error = reason.code;
      });
      response.on('close', () =>
        resolve({
          status: response.statusCode,
          body: Buffer.concat(chunks),
          complete: response.complete,
          error,
        }),
      );
    });
  });
}

describe('a fault planted in the local service', () => {
  it('responds with a status the given number of times, after which the service responds normally', async () => {
    const { search, service } = await local(teaPosts(1));
    service.faults.plant({ kind: 'status', status: 503, times: 2 });
    expect((await search({ query: 'tea' })).status).toBe(503);
    const second = await search({ query: 'tea' });
    expect(second.page.error?.message).toBe('Service Unavailable');
    expect((await search({ query: 'tea' })).status).toBe(200);
    expect(service.faults.list()).toEqual([]);
  });

  it('responds with 429 and a Retry-After header', async () => {
    const { search, service } = await local();
    service.faults.plant({ kind: 'status', status: 429, retryAfter: 7, message: 'slow down' });
    const reply = await search({ query: 'tea' });
    expect([reply.status, reply.headers.get('retry-after'), reply.page.error?.message]).toEqual([
      429,
      '7',
      'slow down',
    ]);
  });

  it('affects only requests to its endpoint, and not the first ones that it is told to skip', async () => {
    const { search, counts, service } = await local();
    service.faults.plant({ kind: 'status', status: 500, endpoint: 'counts', skip: 1 });
    expect((await search({ query: 'tea' })).status).toBe(200);
    expect((await counts({ query: 'tea' })).status).toBe(200);
    expect((await counts({ query: 'tea' })).status).toBe(500);
    expect((await counts({ query: 'tea' })).status).toBe(200);
  });

  it('affects the requests that an earlier fault skips', () => {
    const faults = new Faults();
    faults.plant({ kind: 'status', status: 503, skip: 1 });
    faults.plant({ kind: 'status', status: 500 });
    const statuses = [1, 2, 3].map(() => faults.match('usage', '/').other);
    expect(statuses).toMatchObject([{ status: 500 }, { status: 503 }, undefined]);
  });

  it('skips only the remaining requests if its snapshot was taken between them', () => {
    const faults = new Faults();
    faults.plant({ kind: 'status', status: 503, skip: 2 });
    expect(faults.match('usage', '/').other).toBeUndefined();
    const restored = new Faults();
    restored.replace(faults.kept());
    expect(restored.match('usage', '/').other).toBeUndefined();
    expect(restored.match('usage', '/').other).toMatchObject({ kind: 'status', status: 503 });
    expect(restored.list()).toEqual([]);
  });

  it('affects only requests whose URL contains its path', async () => {
    const { search, service } = await local();
    service.faults.plant({ kind: 'status', status: 502, path: '/fullarchive/' });
    expect((await search({ query: 'tea' })).status).toBe(200);
    expect((await search({ query: 'tea' }, 'fullarchive')).status).toBe(502);
  });

  it("stays until it is cleared if it is planted with times: 'always'", async () => {
    const { search, service } = await local();
    const { id } = service.faults.plant({ kind: 'status', status: 500, times: 'always' });
    for (let i = 0; i < 3; i++) expect((await search({ query: 'tea' })).status).toBe(500);
    expect(service.faults.list()).toMatchObject([{ id, hits: 3 }]);
    expect(service.faults.clear(id)).toBe(1);
    expect(service.faults.clear(id)).toBe(0);
    expect((await search({ query: 'tea' })).status).toBe(200);
  });

  it('cuts a body after n bytes by resetting the connection', async () => {
    const { baseUrl, service } = await local(teaPosts(50));
    service.faults.plant({ kind: 'cut', afterBytes: 1000 });
    const seen = await see(baseUrl);
    expect(seen).toMatchObject({ status: 200, complete: false, error: 'ECONNRESET' });
    expect(seen.body).toHaveLength(1000);
  });

  it('cuts a body after n bytes by closing the connection', async () => {
    const { baseUrl, service } = await local(teaPosts(50));
    service.faults.plant({ kind: 'cut', afterBytes: 1000, end: 'close' });
    const seen = await see(baseUrl);
    expect(seen).toMatchObject({ status: 200, complete: false });
    expect(seen.body).toHaveLength(1000);
  });

  it('cuts a body after n bytes, but ends the HTTP message normally', async () => {
    const { baseUrl, service } = await local(teaPosts(50));
    service.faults.plant({ kind: 'cut', afterBytes: 100, end: 'finish' });
    const seen = await see(baseUrl, { 'accept-encoding': 'gzip' });
    expect(seen).toMatchObject({ status: 200, complete: true, error: undefined });
    expect(() => gunzipSync(seen.body)).toThrow('unexpected end of file');
  });

  it('prevents a normal end of a body that is shorter than the number of bytes to cut after', async () => {
    const { baseUrl, service } = await local();
    service.faults.plant({ kind: 'cut', afterBytes: 1_000_000 });
    const seen = await see(baseUrl);
    expect(seen.complete).toBe(false);
    expect(JSON.parse(seen.body.toString())).toMatchObject({ results: [] });
  });

  it('cuts a body even within a character', async () => {
    const { baseUrl, service } = await local([originalPost(NOW - 60_000, '1', 'tea 🍵 ok')]);
    service.faults.plant({ kind: 'cut', afterBytes: 20, inCharacter: true, end: 'close' });
    const seen = await see(baseUrl, { 'accept-encoding': 'gzip' });
    expect(seen.body.toString('latin1')).toMatch(/tea \xf0$/);
  });

  it('stalls a body after n bytes until the client disconnects', async () => {
    const { baseUrl, service } = await local(teaPosts(50));
    service.faults.plant({ kind: 'stall', afterBytes: 1000 });
    const aborter = new AbortController();
    const url = `${baseUrl}${SEARCH_PATH}?query=tea`;
    const headers = { authorization: AUTHORIZATION, 'accept-encoding': 'identity' };
    const response = await fetch(url, { headers, signal: aborter.signal });
    let bytes = 0;
    const reading = (async () => {
      for await (const chunk of response.body ?? []) {
        bytes += chunk.length;
        if (bytes === 1000) setTimeout(() => aborter.abort(), 30);
      }
    })();
    await expect(reading).rejects.toMatchObject({ name: 'AbortError' });
    expect(bytes).toBe(1000);
  });

  it('stalls a body for a time, and then continues', async () => {
    const { baseUrl, service } = await local(teaPosts(50));
    service.faults.plant({ kind: 'stall', afterBytes: 10, forMs: 60 });
    const start = performance.now();
    const seen = await see(baseUrl);
    expect(performance.now() - start).toBeGreaterThan(50);
    expect(JSON.parse(seen.body.toString()).results).toHaveLength(50);
  });

  it('flips a single bit of the response', async () => {
    const { baseUrl, service } = await local(teaPosts(50));
    const whole = await see(baseUrl);
    service.faults.plant({ kind: 'flip', atByte: 777 });
    const { body } = await see(baseUrl);
    const differing = [...body.keys()].filter(i => body[i] !== whole.body[i]);
    expect(differing).toEqual([777]);
    service.faults.plant({ kind: 'flip', atByte: 100 });
    const gzip = await see(baseUrl, { 'accept-encoding': 'gzip' });
    expect(() => gunzipSync(gzip.body)).toThrow();
  });

  it('is counted as an effect only if it changes what is sent', async () => {
    const { baseUrl, search, service } = await local(teaPosts(50));
    const bytes = (await see(baseUrl)).body.length;
    const effectsOf = async (fault: Fault) => {
      const { id } = service.faults.plant(fault);
      await see(baseUrl);
      expect(service.faults.list()).toEqual([]);
      return service.faults.effects(id);
    };
    expect(await effectsOf({ kind: 'flip', atByte: bytes - 1 })).toBe(1);
    expect(await effectsOf({ kind: 'flip', atByte: bytes })).toBe(0);
    expect(await effectsOf({ kind: 'cut', afterBytes: bytes - 1, end: 'finish' })).toBe(1);
    expect(await effectsOf({ kind: 'cut', afterBytes: bytes, end: 'finish' })).toBe(0);
    // The last chunk is missing, so the client sees an incomplete message.
    expect(await effectsOf({ kind: 'cut', afterBytes: bytes, end: 'close' })).toBe(1);
    expect(await effectsOf({ kind: 'status', status: 503 })).toBe(1);
    const { id } = service.faults.plant({ kind: 'status', status: 503, times: 2 });
    for (let i = 0; i < 3; i++) await search({ query: 'tea' });
    expect(service.faults.effects(id)).toBe(2);
  });

  it('delays a response that another fault affects as well', async () => {
    const { search, service } = await local();
    service.faults.plant({ kind: 'delay', ms: 50, times: 'always' });
    service.faults.plant({ kind: 'status', status: 503 });
    const start = performance.now();
    expect((await search({ query: 'tea' })).status).toBe(503);
    expect(performance.now() - start).toBeGreaterThan(45);
    expect((await search({ query: 'tea' })).status).toBe(200);
  });
});
