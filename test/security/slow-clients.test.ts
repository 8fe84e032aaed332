import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { createService } from 'millrace/service';
import { expect, it, onTestFinished } from 'vitest';
import { SLOW_CLIENTS } from '../../src/service/http/listen.js';
import { root } from '../pages.js';
import { isNightly } from '../suite.js';

const COUNT = 250;
const SERVICE = path.join(root, 'src/service');

it('hundreds of slow requests to the local service do not delay other requests, and are closed', async () => {
  expect(SLOW_CLIENTS.headersTimeout).toBeLessThanOrEqual(10_000);
  expect(SLOW_CLIENTS.requestTimeout).toBeLessThanOrEqual(30_000);
  const servers = readdirSync(SERVICE, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts'))
    .map(name => readFileSync(path.join(SERVICE, name), 'utf8'))
    .filter(text => /createServer\(|extends Server/.test(text));
  expect(servers.map(text => text.includes('SLOW_CLIENTS'))).toEqual([true, true]);
  const filesPort = await freePort();
  const service = createService({ filesPort });
  const { baseUrl } = await service.start();
  onTestFinished(() => service.stop());
  const filesUrl = `http://127.0.0.1:${filesPort}`;
  const slow: Slow[] = [];
  for (const url of [baseUrl, filesUrl])
    slow.push(
      ...(await Promise.all(Array.from({ length: COUNT }, () => slowRequest(url, HEADERS)))),
    );
  // The server closes these connections only after 30 s, so they are tested only in the nightly
  // suite.
  if (isNightly)
    slow.push(
      ...(await Promise.all(Array.from({ length: COUNT }, () => slowRequest(baseUrl, BODY)))),
    );
  onTestFinished(() => {
    for (const { socket } of slow) socket.destroy();
  });
  expect(await statusOf(`${baseUrl}/status`)).toBe(200);
  expect(await statusOf(`${filesUrl}/nothing`)).toBe(404);
  expect(slow.filter(({ socket }) => socket.destroyed)).toEqual([]);
  for (const { ended } of slow) expect(await ended).toMatch(/^HTTP\/1\.1 408 /);
  expect(await statusOf(`${baseUrl}/status`)).toBe(200);
});

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  await new Promise(resolve => server.close(resolve));
  return port;
}

interface Slow {
  readonly socket: net.Socket;
  /**
   * Resolves to everything that the server has sent, after the server has closed the connection.
   */
  readonly ended: Promise<string>;
}

const HEADERS = 'GET /status HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ';
const BODY =
  'POST /_control/faults HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 60\r\n\r\n{"kind":';

function slowRequest(url: string, begun: string): Promise<Slow> {
  return new Promise(resolve => {
    const socket = net.connect(Number(new URL(url).port), '127.0.0.1');
    let received = '';
    const ended = new Promise<string>(closed => {
      socket.on('error', () => {}).on('close', () => closed(received));
    });
    socket.setEncoding('latin1').on('data', text => {
      received += text;
    });
    socket.on('connect', () => {
      socket.write(begun);
      resolve({ socket, ended });
    });
  });
}

function statusOf(url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    http.get(url, response => resolve(response.resume().statusCode)).on('error', reject);
  });
}
