import http from 'node:http';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { acceptsGzip } from '../../../src/service/http/send-response.js';
import { AUTHORIZATION, local, SEARCH_PATH, teaPosts } from '../local-service.js';

describe('a response of the service', () => {
  const raw = (baseUrl: string, path: string, encoding?: string) =>
    new Promise<{ headers: http.IncomingHttpHeaders; body: Buffer }>((resolve, reject) => {
      const headers: http.OutgoingHttpHeaders = { authorization: AUTHORIZATION };
      if (encoding !== undefined) headers['accept-encoding'] = encoding;
      http
        .get(baseUrl + path, { headers }, response => {
          const chunks: Buffer[] = [];
          response.on('data', chunk => chunks.push(chunk));
          response.on('end', () =>
            resolve({ headers: response.headers, body: Buffer.concat(chunks) }),
          );
        })
        .on('error', reject);
    });

  it('is compressed if the client accepts gzip, and has the same content', async () => {
    const { baseUrl } = await local(teaPosts(500));
    const path = `${SEARCH_PATH}?query=tea&maxResults=500`;
    const plain = await raw(baseUrl, path);
    const gzip = await raw(baseUrl, path, 'deflate, gzip;q=0.5');
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(Number(plain.headers['content-length'])).toBe(plain.body.length);
    expect(gzip.headers['content-encoding']).toBe('gzip');
    expect(gzip.body.length).toBeLessThan(plain.body.length / 4);
    expect(gunzipSync(gzip.body).equals(plain.body)).toBe(true);
    const error = await raw(baseUrl, '/nowhere', 'gzip');
    expect(JSON.parse(gunzipSync(error.body).toString())).toHaveProperty('error');
  });

  it.each([
    ['gzip', true],
    ['*', true],
    ['br, GZIP ; q=0.1', true],
    ['x-gzip', true],
    ['gzip;q=0, *', false],
    ['*;q=0', false],
    ['identity', false],
    ['', false],
    [undefined, false],
  ])('is compressed for Accept-Encoding %j: %j', (header, expected) => {
    expect(acceptsGzip(header)).toBe(expected);
  });
});
