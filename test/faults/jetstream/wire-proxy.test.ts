import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WireProxy } from './wire-proxy.js';

const BYTES = Buffer.from('abcdefghijklmnopqrstuvwxyz');

let server: net.Server;
let proxy: WireProxy;

function client() {
  const socket = net.connect(Number(new URL(proxy.url).port), '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('data', chunk => chunks.push(chunk));
  const closed = once(socket, 'close').catch(error => [error.code]);
  return { socket, closed, chunks, text: () => Buffer.concat(chunks).toString() };
}

beforeEach(async () => {
  server = net.createServer(socket => {
    socket.on('error', () => {});
    socket.end(BYTES);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy = await WireProxy.open((server.address() as net.AddressInfo).port);
});
afterEach(async () => {
  await proxy.close();
  server.close();
});

describe('WireProxy', () => {
  it('forwards and counts all bytes', async () => {
    const { closed, text } = client();
    await closed;
    expect(text()).toBe(BYTES.toString());
    expect(proxy.passed['to client']).toBe(BYTES.length);
    expect(proxy.isHit).toBe(false);
  });

  it('resets a connection at the given byte without affecting the next connection', async () => {
    proxy.plant({ kind: 'reset', direction: 'to client', afterBytes: 10 });
    const first = client();
    expect(await first.closed).toEqual(['ECONNRESET']);
    expect(BYTES.toString().slice(0, 10)).toContain(first.text());
    const second = client();
    await second.closed;
    expect(second.text()).toBe(BYTES.toString());
    expect(proxy.connections).toBe(2);
  });

  it('closes a connection without a reset after it has forwarded all bytes', async () => {
    proxy.plant({ kind: 'early end', direction: 'to client', afterBytes: 7 });
    const { closed, text } = client();
    await closed;
    expect(text()).toBe('abcdefg');
  });

  it('holds bytes back until a stall ends', async () => {
    proxy.plant({ kind: 'stall', direction: 'to client', afterBytes: 5, forMs: 300 });
    const { closed, text } = client();
    await sleep(100);
    expect('abcde').toContain(text());
    await closed;
    expect(text()).toBe(BYTES.toString());
    expect(proxy.held).toBe(BYTES.length - 5);
  });

  it('forwards the bytes in small chunks', async () => {
    proxy.plant({ kind: 'split', direction: 'to client', afterBytes: 4, maxPiece: 2 });
    const { closed, text } = client();
    await closed;
    expect(text()).toBe(BYTES.toString());
    expect(proxy.splits).toBeGreaterThan(8);
  });

  it('reads the sequence of each message, even if its subject arrives in two parts', async () => {
    const socket = net.createServer(near => {
      const line = (seq: number) => `HMSG x 1 $JS.ACK.posts.abc.1.${seq}.2.1700000000.0 10 20\r\n`;
      near.on('error', () => {});
      near.write(`${line(7)}${line(8).slice(0, 20)}`);
      setTimeout(() => near.end(`${line(8).slice(20)}payload ${line(9)}`), 50);
    });
    socket.listen(0, '127.0.0.1');
    await once(socket, 'listening');
    await proxy.close();
    proxy = await WireProxy.open((socket.address() as net.AddressInfo).port);
    await client().closed;
    expect(proxy.delivered).toEqual([7, 8, 9]);
    socket.close();
  });
});
