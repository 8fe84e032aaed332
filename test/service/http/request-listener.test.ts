import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { describe, expect, it } from 'vitest';
import { MINUTE, SECOND } from '../../../src/base/time.js';
import { AUTHORIZATION, COUNTS_PATH, local, SEARCH_PATH, teaPosts } from '../local-service.js';
import { MemoryArchive } from '../memory-archive.js';

async function statusOfRaw(baseUrl: string, request: string): Promise<number> {
  const socket = net.connect(Number(new URL(baseUrl).port), '127.0.0.1');
  socket.write(request);
  const [head] = await once(socket, 'data');
  socket.destroy();
  return Number(/^HTTP\/1\.1 (\d+)/.exec(String(head))?.[1]);
}

const post = (body: RequestInit['body'], headers: Record<string, string> = {}) => ({
  method: 'POST',
  body: body ?? null,
  headers,
});

describe('an error response of the local service', () => {
  it('contains the reason and the time of the error', async () => {
    const { ask } = await local();
    const { status, page, headers } = await ask('/nowhere');
    expect(status).toBe(404);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(page.error?.sent).toBe('2024-05-15T12:34:56+00:00');
    expect(page.error?.message).not.toBe('');
  });

  it('contains a transaction id', async () => {
    const { ask } = await local();
    const { page } = await ask('/nowhere');
    expect(page.error?.transactionId).toMatch(/^00[0-9a-f]{14}$/);
  });

  it.each(['{', '', 'null', '[]', '"tea"', 'query=tea', '{"query":"tea"}}'])(
    'is 400 for the body %j',
    async body => {
      const { ask } = await local();
      const { status, page } = await ask(SEARCH_PATH, post(body));
      expect(status).toBe(400);
      expect(page.error?.message).toBe(
        'There were errors processing your request: Invalid json, could not parse.',
      );
    },
  );

  it('is 400 for a body that is not UTF-8', async () => {
    const { ask } = await local();
    const body = Buffer.from('{"query":"th\xe9"}', 'latin1');
    expect((await ask(SEARCH_PATH, post(body))).status).toBe(400);
  });

  it('is 413 for a body of more than 64 KiB, whether its length is declared or not', async () => {
    const { ask, baseUrl } = await local();
    const large = JSON.stringify({ query: 'x'.repeat(64 * 1024) });
    expect((await ask(SEARCH_PATH, post(large))).status).toBe(413);
    const status = await new Promise(resolve => {
      const request = http.request(baseUrl + SEARCH_PATH, {
        method: 'POST',
        headers: { authorization: AUTHORIZATION },
      });
      request.on('response', response => resolve(response.statusCode));
      request.on('error', () => {}); // the service may close early
      request.write(large);
      request.end(large);
    });
    expect(status).toBe(413);
  });

  it('is 415 for a compressed body', async () => {
    const { ask } = await local();
    expect((await ask(SEARCH_PATH, post('x', { 'content-encoding': 'gzip' }))).status).toBe(415);
  });

  it('is 401 with a challenge for wrong or missing credentials, before anything else is checked', async () => {
    const { ask } = await local();
    for (const authorization of ['', 'Basic bm86bm8=', AUTHORIZATION.slice(0, -2)]) {
      const reply = await ask('/search/no/accounts/no/no.json', { headers: { authorization } });
      expect(reply.status).toBe(401);
      expect(reply.headers.get('www-authenticate')).toMatch(/^Basic realm=/);
      expect(reply.text).not.toContain('local-service');
    }
  });

  it.each([
    '/search',
    '/search/7day/accounts/local/dev.json',
    '/search/30Day/accounts/local/dev.json',
    '/search/30day/accounts/Local/dev.json',
    '/search/30day/accounts/local/Dev.json',
    '/search/30day/accounts/local/dev',
    '/search/30day/accounts/local/dev.json/',
    '/search/30day/accounts/local/dev/counts',
    '//search/30day/accounts/local/dev.json',
    '/search/30day/accounts/%ff/dev.json',
  ])('is 404 at the path %s', async path => {
    const { ask } = await local();
    expect((await ask(`${path}?query=tea`)).status).toBe(404);
  });

  it('is 422 for a counts parameter in a search, or the reverse, and lists all other problems, too', async () => {
    const { search, counts } = await local();
    for (const [ask, parameters, name] of [
      [search, { bucket: 'day' }, 'bucket'],
      [counts, { maxResults: 10 }, 'maxResults'],
      [counts, { tag: 'x' }, 'tag'],
    ] as const) {
      const { status, page } = await ask({ query: 'tea', toDate: 'today', ...parameters });
      expect(status).toBe(422);
      expect(page.error?.message).toContain(`Invalid parameter '${name}'`);
      expect(page.error?.message).toContain('toDate');
    }
  });

  it.each([
    `${SEARCH_PATH}?query=th%E9`,
    `${COUNTS_PATH}?query=tea&tag%ff=x`,
    '/accounts/local/usage.json?bucket=%C3',
    '/replay/firehose/accounts/local/publishers/twitter/replay.json?fromDate=%80',
  ])('is 400 for a GET whose URL is not valid UTF-8: %s', async path => {
    const { ask } = await local();
    const { status, page } = await ask(path);
    expect(status).toBe(400);
    expect(page.error?.message).toContain('not UTF-8');
  });

  it('is 400 for two Host headers', async () => {
    const { baseUrl } = await local();
    for (const path of [SEARCH_PATH, '/console', '/_control/clock', '/nowhere']) {
      const request = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nHOST: example.com\r\n\r\n`;
      expect(await statusOfRaw(baseUrl, request)).toBe(400);
    }
  });

  it('is 400 for two Content-Length headers', async () => {
    const { baseUrl } = await local();
    for (const lengths of ['2\r\nContent-Length: 9', '2\r\ncontent-length: 2', '2, 9'])
      for (const path of [SEARCH_PATH, '/_control/clock', '/oauth/request_token']) {
        const head = `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${lengths}`;
        expect(await statusOfRaw(baseUrl, `${head}\r\n\r\n{}GET / H`)).toBe(400);
      }
  });

  it.each(['PUT', 'DELETE', 'PATCH', 'OPTIONS'])('is 405 for the method %s', async method => {
    const { ask } = await local();
    const reply = await ask(SEARCH_PATH, { method });
    expect([reply.status, reply.headers.get('allow')]).toEqual([405, 'GET, POST']);
  });

  it.each([
    [{}, 'query'],
    [{ query: '' }, 'query'],
    [{ query: '  ' }, 'query'],
    [{ query: null }, 'query'],
    [{ query: 5 }, "'query'. It must be a string"],
    [{ query: 'x'.repeat(2049) }, '2049 characters; the most is 2048'],
    [{ query: 'tea', maxResults: 9 }, "'maxResults'. It must be an integer from 10 to 500"],
    [{ query: 'tea', maxResults: 501 }, 'maxResults'],
    [{ query: 'tea', maxResults: 10.5 }, 'maxResults'],
    [{ query: 'tea', maxResults: '1e2' }, 'maxResults'],
    [{ query: 'tea', maxResults: true }, 'maxResults'],
    [{ query: 'tea', maxResults: [100] }, 'maxResults'],
    [{ query: 'tea', tag: 5 }, "'tag'"],
    [{ query: 'tea', fromdate: '202405010000' }, "Invalid parameter 'fromdate'"],
    [{ query: 'tea', __proto__x: 1 }, "Invalid parameter '__proto__x'"],
  ])('is 422 for the parameters %j', async (parameters, message) => {
    const { search } = await local();
    const { status, page } = await search(parameters);
    expect(status).toBe(422);
    expect(page.error?.message).toMatch(/^There were errors processing your request: /);
    expect(page.error?.message).toContain(message);
  });

  it('is 422 for a repeated parameter, and for a parameter in the URL of a POST', async () => {
    const { ask } = await local();
    expect((await ask(`${SEARCH_PATH}?query=tea&query=tea`)).status).toBe(422);
    const reply = await ask(`${SEARCH_PATH}?maxResults=10`, post('{"query":"tea"}'));
    expect([reply.status, reply.page.error?.message]).toEqual([
      422,
      expect.stringContaining('maxResults'),
    ]);
  });

  it('is 422 for an invalid rule, with the message and the position of the problem', async () => {
    const { search } = await local();
    const { status, page } = await search({ query: 'streaming AND lang:en' });
    expect(status).toBe(422);
    expect(page.error?.message).toBe(
      'There were errors processing your request: Ambiguous use of and as a keyword. ' +
        'Use a space to logically join two clauses, or "and" to find occurrences of and in text ' +
        '(at position 11)',
    );
  });

  it('names all wrong parameters of the request', async () => {
    const { search } = await local();
    const { page } = await search({ query: '-tea', maxResults: 5, toDate: 'today', x: 1 });
    for (const part of ['non-negation', 'maxResults', 'toDate', "'x'"])
      expect(page.error?.message).toContain(part);
  });

  it('is 500 if the archive fails, and the error is passed to `onError`', async () => {
    const archive = new MemoryArchive([]);
    archive.search = () => Promise.reject(new Error('the disk is gone'));
    const errors: unknown[] = [];
    const { search } = await local([], { archive, onError: error => errors.push(error) });
    const { status, page } = await search({ query: 'tea' });
    expect([status, page.error?.message]).toEqual([500, 'Internal Server Error: the disk is gone']);
    expect(errors).toHaveLength(1);
  });

  it.each(['throws', 'rejects'])('is sent even if `onError` %s', async how => {
    const archive = new MemoryArchive([]);
    archive.search = () => Promise.reject(new Error('the disk is gone'));
    const warned = once(process, 'warning');
    const onError = () => {
      if (how === 'rejects') return Promise.reject(new Error('no room in the log'));
      throw new Error('no room in the log');
    };
    const { search } = await local([], { archive, onError });
    expect((await search({ query: 'tea' })).status).toBe(500);
    const [warning] = await warned;
    expect(warning.message).toMatch(/`onError`.*no room in the log.*the disk is gone/);
  });
});

describe('a request to the service', () => {
  it('may contain a query of 2048 characters that each need 12 bytes in a URL', async () => {
    const { ask } = await local();
    const query = `"${'🍕'.repeat(2046)}"`;
    const reply = await ask(`${SEARCH_PATH}?query=${encodeURIComponent(query)}`);
    expect(reply.status).toBe(200);
  });

  it('may contain maxResults as a string, and null for parameters that are not set', async () => {
    const { search } = await local(teaPosts(12));
    const reply = await search({ query: 'tea', maxResults: '11', fromDate: null, next: null });
    expect(reply.page.results).toHaveLength(11);
  });

  it('needs no content type', async () => {
    const { ask } = await local();
    const body = '{"query":"tea"}';
    for (const type of ['application/x-www-form-urlencoded', 'text/plain'])
      expect((await ask(SEARCH_PATH, post(body, { 'content-type': type }))).status).toBe(200);
  });

  it('with HEAD returns the headers of GET without a body', async () => {
    const { ask } = await local(teaPosts(2));
    const { status, text, headers } = await ask(`${SEARCH_PATH}?query=tea`, { method: 'HEAD' });
    expect([status, text]).toEqual([200, '']);
    expect(headers.get('content-type')).toContain('json');
  });

  it('keeps its connection usable when it is rejected', async () => {
    const { baseUrl } = await local(teaPosts(1));
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const ports = new Set<number | undefined>();
    for (const method of ['PUT', 'POST', 'PUT', 'POST']) {
      await new Promise<void>((resolve, reject) => {
        const headers = { authorization: AUTHORIZATION };
        const request = http.request(baseUrl + SEARCH_PATH, { agent, method, headers });
        request.on('error', reject);
        request.on('response', response => {
          ports.add(response.socket.localPort);
          response.resume().on('end', resolve);
        });
        request.end(JSON.stringify({ query: 'tea '.repeat(200) }));
      });
    }
    agent.destroy();
    expect(ports.size).toBe(1);
  });

  it('keeps its connection usable when it is rejected before its body has arrived and a fault hits the response', async () => {
    const { baseUrl, service } = await local(teaPosts(1));
    service.faults.plant({ kind: 'flip', atByte: 0 });
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const send = (body: Buffer) =>
      new Promise<number | undefined>((resolve, reject) => {
        const headers = { authorization: AUTHORIZATION };
        const request = http.request(baseUrl + SEARCH_PATH, { agent, method: 'POST', headers });
        request.on('error', reject);
        request.on('response', response => {
          response.resume().on('end', () => resolve(response.statusCode));
          if (response.statusCode === 413) request.end(body);
        });
        // Without a length, the service notices only here that the body is too long.
        request.write(body);
        if (body.length < 1_000) request.end();
      });
    expect(await send(Buffer.alloc(300_000, ' '))).toBe(413);
    expect(await send(Buffer.from('{"query":"tea"}'))).toBe(200);
    agent.destroy();
  });
});

describe('the search rate limit of the local service', () => {
  it('is 20 requests a second, search and counts together', async () => {
    const { search, counts, service } = await local(teaPosts(1), { limits: 'strict' });
    for (let i = 0; i < 10; i++) {
      expect((await search({ query: 'tea' })).status).toBe(200);
      expect((await counts({ query: 'tea' }, 'fullarchive')).status).toBe(200);
    }
    const refused = await search({ query: 'tea' });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    expect(refused.page.error?.message).toContain('20 requests in 1 s');
    expect((await counts({ query: 'tea' })).status).toBe(429);
    service.clock.advance(SECOND);
    expect((await counts({ query: 'tea' })).status).toBe(200);
  });

  it('for a minute is set by an option', async () => {
    const { search, service } = await local([], { limits: 'strict', perMinuteLimit: 3 });
    for (let i = 0; i < 3; i++) expect((await search({ query: 'tea' })).status).toBe(200);
    service.clock.advance(20 * SECOND);
    const refused = await search({ query: 'tea' });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '40']);
    service.clock.advance(MINUTE);
    expect((await search({ query: 'tea' })).status).toBe(200);
  });

  it('does not include rejected requests', async () => {
    const { ask, search, service } = await local([], { limits: 'strict', perMinuteLimit: 1 });
    for (let i = 0; i < 5; i++)
      await ask(SEARCH_PATH, { headers: { authorization: 'Basic bm86bm8=' } });
    expect((await search({ query: 'tea' })).status).toBe(200);
    for (let i = 0; i < 5; i++) expect((await search({ query: 'tea' })).status).toBe(429);
    service.clock.advance(MINUTE);
    expect((await search({ query: 'tea' })).status).toBe(200);
  });

  it('is lifted by relaxed limits, which change no other behaviour', async () => {
    const { search } = await local([], { limits: 'relaxed' });
    const replies = await Promise.all(
      Array.from({ length: 60 }, () => search({ query: 'tea', maxResults: 10 })),
    );
    expect(new Set(replies.map(reply => reply.status))).toEqual(new Set([200]));
    expect((await search({ query: 'tea', maxResults: 501 })).status).toBe(422);
    expect((await search({ query: 'tea'.repeat(1000) })).status).toBe(422);
  });
});

describe('pipelined requests of one client', () => {
  it('do not delay the requests of another client', async () => {
    const { baseUrl } = await local();
    const count = 400;
    const socket = net.connect(Number(new URL(baseUrl).port), '127.0.0.1');
    await once(socket, 'connect');
    let received = '';
    const answered = () => received.match(/HTTP\/1\.1 200/g)?.length ?? 0;
    socket.on('data', bytes => {
      received += bytes.toString('latin1');
    });
    socket.write('GET /status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'.repeat(count));
    await once(socket, 'data');
    expect((await fetch(`${baseUrl}/status`)).status).toBe(200);
    const before = answered();
    expect(before).toBeLessThan(count / 2);
    await expect.poll(answered).toBe(count);
    socket.destroy();
  });

  it('are answered one at a time, in order', async () => {
    const { baseUrl, service } = await local();
    const socket = net.connect(Number(new URL(baseUrl).port), '127.0.0.1');
    let received = '';
    socket.on('data', bytes => {
      received += bytes.toString('latin1');
    });
    const paths = ['/status', '/nowhere', SEARCH_PATH, '/status'];
    for (const path of paths) socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
    const statuses = () =>
      Array.from(received.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status);
    await expect.poll(statuses).toEqual(['200', '404', '401', '200']);
    socket.destroy();
    expect(service.requests().map(({ path }) => path)).toEqual(['/nowhere', SEARCH_PATH]);
  });
});

it.each(['identity', 'Identity'])(
  'the local service reads a body in the encoding %s',
  async coding => {
    const { ask } = await local();
    const body = JSON.stringify({ query: 'coffee' });
    const { status } = await ask(SEARCH_PATH, post(body, { 'content-encoding': coding }));
    expect(status).toBe(200);
  },
);
