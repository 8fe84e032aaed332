import { once } from 'node:events';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sendRequest } from '../../src/http/request.js';
import { AT_ONCE_MS } from '../at-once.js';
import { silence, stall } from './scripted-server.js';
import { accountFor, errorOf, get, serveEachTest, server, textOf } from './served-requests.js';

serveEachTest();

describe('a response', () => {
  it('fails as stalled if none of its bytes arrives in time', async () => {
    server.script.push(silence);
    const error = await errorOf(get(accountFor({ timeouts: { responseMs: 30 } })));
    expect(error).toMatchObject({ failure: 'stalled' });
    expect(error.message).toContain('did not begin to answer');
    await server.closed();
  });

  it('fails as stalled if its body stops arriving', async () => {
    server.script.push(stall({ text: 'x'.repeat(100) }));
    const answer = await get(accountFor({ timeouts: { silenceMs: 60 } }));
    const error = await errorOf(textOf(answer));
    expect(error).toMatchObject({ failure: 'stalled' });
    expect(error.message).toContain('sent nothing for 60 ms');
    await server.closed();
  });

  // Found by `npm run faults -- matrix`, starved of CPU.
  it('does not fail as stalled if bytes arrive while the event loop is blocked', async () => {
    let sendRest = () => {};
    server.script.push(response => {
      response.write('begun');
      sendRest = () => response.end(', ended');
    });
    const answer = await get(accountFor({ timeouts: { silenceMs: 500 } }));
    const body = answer.body[Symbol.asyncIterator]();
    await body.next();
    sendRest();
    const until = performance.now() + 700;
    while (performance.now() < until);
    // The timer is due before the socket is read. The data must take precedence over the timeout.
    expect(String((await body.next()).value)).toBe(', ended');
    expect((await body.next()).done).toBe(true);
  });

  it('continues after bytes that arrived while the event loop was blocked, even if more bytes follow later', async () => {
    let send = (_text: string) => {};
    server.script.push(response => {
      response.write('begun');
      send = text => response.write(text);
    });
    const answer = await get(accountFor({ timeouts: { silenceMs: 500 } }));
    const body = answer.body[Symbol.asyncIterator]();
    await body.next();
    send(', continued');
    // Waits until the next tick, in which the server writes to its socket.
    await new Promise<void>(resolve => process.nextTick(resolve));
    const until = performance.now() + 700;
    while (performance.now() < until);
    expect(String((await body.next()).value)).toBe(', continued');
    await new Promise(setImmediate);
    send(', still open');
    expect(String((await body.next()).value)).toBe(', still open');
    answer.close();
  });

  it('fails as stalled even while its consumer does not read the body', async () => {
    server.script.push(stall({ text: 'x'.repeat(100) }));
    const answer = await get(accountFor({ timeouts: { silenceMs: 300 } }));
    const body = answer.body[Symbol.asyncIterator]();
    expect((await body.next()).done).toBe(false);
    await server.closed();
    expect(await errorOf(body.next() as Promise<unknown>)).toMatchObject({ failure: 'stalled' });
  });

  it('fails as stalled if its reader continues after a pause and no bytes arrive', async () => {
    const big = Buffer.alloc(8 * 1024 * 1024, 'x');
    server.script.push(response => {
      response.write(big);
    });
    const answer = await get(accountFor({ timeouts: { silenceMs: 500 } }));
    const body = answer.body[Symbol.asyncIterator]();
    let received = (await body.next()).value!.length;
    await new Promise(resolve => setTimeout(resolve, 1_000));
    // The client itself has paused reading, so the service is not considered silent.
    expect(server.sockets.size).toBe(1);
    const error = await errorOf(
      (async () => {
        for (;;) received += (await body.next()).value!.length;
      })(),
    );
    expect(error).toMatchObject({ failure: 'stalled' });
    expect(received).toBe(big.length);
  });

  it('is received only as fast as its consumer reads', async () => {
    let written = 0;
    server.script.push(response => {
      const more = () => {
        written += 64 * 1024;
        if (written < 64 * 1024 * 1024) response.write(Buffer.alloc(64 * 1024), more);
        else response.end();
      };
      more();
    });
    const answer = await get(accountFor());
    const body = answer.body[Symbol.asyncIterator]();
    await body.next();
    let before = -1;
    while (before !== written) {
      before = written;
      await new Promise(resolve => setTimeout(resolve, 50));
    }
    expect(answer.receivedBytes).toBeLessThan(1024 * 1024);
    answer.close();
    await server.closed();
  });
});

describe('a response that is not valid HTTP', () => {
  let raw: Server;
  let hello = '';

  beforeEach(async () => {
    raw = createTcpServer(socket => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(hello));
    }).listen(0, '127.0.0.1');
    await once(raw, 'listening');
  });
  afterEach(() => new Promise(resolve => raw.close(resolve)));

  it.each([
    ['SSH-2.0-OpenSSH\r\n', 'reset'],
    ['HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\n', 'reset'],
    ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 7\r\n\r\nokevil!', 'reset'],
    ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\ncontent-length: 2\r\n\r\nok', 'reset'],
    ['HTTP/1.1 200 OK\r\nContent-Length: 2, 7\r\n\r\nokevil!', 'reset'],
    ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n', 'cut'],
    ['', 'reset'],
  ])('causes a ConnectionError: %j', async (bytes, failure) => {
    hello = bytes;
    const url = new URL(`http://127.0.0.1:${(raw.address() as AddressInfo).port}/`);
    const acme = accountFor();
    const error = await errorOf(sendRequest(acme, { method: 'GET', url }).then(textOf));
    expect(error).toMatchObject({ code: 'ERR_CONNECTION', failure });
  });
});

describe('the abort of a request', () => {
  const reasons = [new Error('mine'), 'a string', undefined];

  it.each(reasons)('before it is sent rejects with its reason (given: %s)', async reason => {
    const signal = AbortSignal.abort(reason);
    await expect(get(accountFor(), { signal })).rejects.toBe(signal.reason);
    expect(server.received).toEqual([]);
  });

  it.each(reasons)(
    'before the response closes the socket immediately (given reason: %s)',
    async reason => {
      server.script.push(silence);
      const controller = new AbortController();
      const pending = get(accountFor(), { signal: controller.signal });
      while (server.received.length === 0) await new Promise(resolve => setTimeout(resolve, 1));
      controller.abort(reason);
      await expect(pending).rejects.toBe(controller.signal.reason);
      expect(await server.closed()).toBeLessThan(AT_ONCE_MS);
    },
  );

  it.each(reasons)(
    'during the response body closes the socket immediately (given reason: %s)',
    async reason => {
      server.script.push(stall({ text: 'x'.repeat(100) }));
      const controller = new AbortController();
      const answer = await get(accountFor(), { signal: controller.signal });
      const reading = textOf(answer);
      reading.catch(() => {});
      await new Promise(resolve => setTimeout(resolve, 10));
      controller.abort(reason);
      await expect(reading).rejects.toBe(controller.signal.reason);
      expect(await server.closed()).toBeLessThan(AT_ONCE_MS);
    },
  );
});
