import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { AUTHORIZATION, local, SEARCH_PATH } from '../local-service.js';

describe('an early response to a request with a large body', () => {
  /** Writes the whole request before it reads anything. Returns the received text. */
  const written = async (baseUrl: string, headers: string, body: Buffer): Promise<string> => {
    const socket = net.connect(Number(new URL(baseUrl).port), '127.0.0.1').pause();
    let text = '';
    socket.on('error', error => {
      text += String(error);
    });
    const closed = new Promise(resolve => socket.on('close', resolve));
    const head = `POST ${SEARCH_PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}Content-Length: ${body.length}\r\n\r\n`;
    socket.write(head);
    await new Promise<void>(resolve => socket.write(body, () => resolve()));
    // If the service had closed the connection, a reset would have arrived by now.
    await sleep(50);
    socket.on('data', chunk => {
      text += chunk;
      if (text.endsWith('}}')) socket.end();
    });
    socket.resume();
    await closed;
    return text;
  };
  const authorization = `Authorization: ${AUTHORIZATION}\r\n`;

  it.each([
    ['413', authorization, 413],
    ['401 of a connection that closes', 'Connection: close\r\n', 401],
  ])('reaches a client that first sends all 5 MB of its body: %s', async (_, headers, status) => {
    const { baseUrl } = await local();
    const body = Buffer.alloc(5_000_000, ' ');
    const texts = await Promise.all(
      Array.from({ length: 5 }, () => written(baseUrl, headers, body)),
    );
    for (const text of texts)
      expect(text.slice(0, 500)).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*"error"[^]*\\}$`));
  });

  it('closes the connection of a client that never stops sending its body', async () => {
    const { baseUrl } = await local();
    const socket = net.connect(Number(new URL(baseUrl).port), '127.0.0.1');
    socket.on('error', () => {}); // the connection is reset
    const closed = new Promise(resolve => socket.on('close', resolve));
    socket.write(
      `POST ${SEARCH_PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\n${authorization}Transfer-Encoding: chunked\r\n\r\n`,
    );
    const chunk = Buffer.concat([
      Buffer.from('100000\r\n'),
      Buffer.alloc(0x100000, ' '),
      Buffer.from('\r\n'),
    ]);
    const send = () => {
      while (!socket.destroyed && socket.write(chunk));
      if (!socket.destroyed) socket.once('drain', send);
    };
    send();
    await closed;
    expect(socket.bytesWritten).toBeGreaterThan(60_000_000);
  });
});
