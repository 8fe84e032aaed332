import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { constants, createGzip } from 'node:zlib';

// Sends compliance events, 250 a second, each with the moment in which it was written.
const messages = Number(process.argv[2]);
const EVERY_MS = 4;

const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
  response.flushHeaders();
  response.socket?.setNoDelay();
  const gzip = createGzip();
  gzip.pipe(response);
  let left = messages;
  const timer = setInterval(() => {
    if (left-- === 0) {
      clearInterval(timer);
      gzip.end();
      return;
    }
    const id = String(1_700_000_000_000_000_000n + BigInt(left));
    const status = `{"id":${id},"id_str":"${id}","user_id":7,"user_id_str":"7"}`;
    const at = performance.timeOrigin + performance.now();
    gzip.write(`{"delete":{"status":${status},"timestamp_ms":"${Date.now()}"},"sent":${at}}\r\n`);
    gzip.flush(constants.Z_SYNC_FLUSH);
  }, EVERY_MS);
  response.on('close', () => clearInterval(timer));
});
server.listen(0, '127.0.0.1', () => {
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
