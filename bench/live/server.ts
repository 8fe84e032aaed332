import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { constants, createGzip, gunzipSync } from 'node:zlib';

// Serves a replay of stored posts, compressed beforehand, as fast as it is read. The parent sends the
// files, and is sent the address.
const HEARTBEAT_EVERY = 500;

process.once('message', async (files: readonly string[]) => {
  const messages: string[] = [];
  const ids = new Set<string>();
  for (const file of files) {
    const lines = gunzipSync(await readFile(file))
      .toString()
      .split('\n');
    for (const line of lines) {
      const id = line === '' ? '' : (JSON.parse(line) as { id_str: string }).id_str;
      // A stream has each post once.
      if (id !== '' && !ids.has(id)) messages.push(line);
      ids.add(id);
    }
  }
  const bytes = messages.reduce((sum, message) => sum + Buffer.byteLength(message) + 2, 0);
  const sent = '2024-05-15T12:34:56+00:00';
  const end = { message: 'Replay Request Completed', sent, activity_count: messages.length };
  const wire = await compressed([...messages, JSON.stringify({ info: end })]);
  const server = createServer(async (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
    for (const piece of wire)
      if (!response.write(piece)) await new Promise(resolve => response.once('drain', resolve));
    response.end();
  });
  server.listen(0, '127.0.0.1', () => {
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const wireBytes = wire.reduce((sum, { length }) => sum + length, 0);
    process.send?.({ address, posts: messages.length, bytes, wireBytes });
  });
});

async function compressed(messages: readonly string[]): Promise<Buffer[]> {
  const gzip = createGzip({ level: 1 });
  const pieces: Buffer[] = [];
  let piece: Buffer[] = [];
  gzip.on('data', chunk => piece.push(chunk));
  const flushed = async (text: string) => {
    gzip.write(text);
    await new Promise<void>(resolve => gzip.flush(constants.Z_SYNC_FLUSH, resolve));
    pieces.push(Buffer.concat(piece));
    piece = [];
  };
  for (const [index, message] of messages.entries()) {
    if (index % HEARTBEAT_EVERY === 0) await flushed('\r\n');
    await flushed(`${message}\r\n`);
  }
  await new Promise<void>(resolve => gzip.on('end', resolve).end());
  return [...pieces, Buffer.concat(piece)];
}
