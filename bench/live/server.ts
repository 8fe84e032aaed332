import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { constants, gunzipSync } from 'node:zlib';
import { Gzip } from 'minizlib';

// Serves a replay of stored posts, as fast as the client reads. The whole response is prepared in
// advance, so this process only copies bytes. The parent process sends the list of files, and
// receives the address of the server.
const HEARTBEAT_EVERY = 500;
const CRLF = Buffer.from('\r\n');
const EMPTY = Buffer.alloc(0);
const WRITE = 64 * 1024;
const HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\n' +
  'transfer-encoding: chunked\r\nconnection: close\r\n\r\n';

export interface Served {
  readonly files: readonly string[];
  readonly times: number;
}

process.once('message', async ({ files, times }: Served) => {
  const messages = await postsOnce(files);
  const bytes = messages.reduce((sum, { length }) => sum + length + 2, 0);
  const info = {
    message: 'Replay Request Completed',
    sent: '2024-05-15T12:34:56+00:00',
    activity_count: times * messages.length,
  };
  const wire = flushed(
    messages.flatMap((message, index) =>
      index % HEARTBEAT_EVERY === 0 ? [EMPTY, message] : [message],
    ),
  );
  // Each repetition of the posts is one member of the gzip stream. The last member contains the
  // final message of the service.
  const end = Buffer.concat([flushed([Buffer.from(JSON.stringify({ info }))]), chunked([])]);

  const server = createServer(socket => {
    const send = (piece: Buffer | string) =>
      socket.write(piece) ? undefined : new Promise(resolve => socket.once('drain', resolve));
    socket.on('error', () => {});
    socket.once('data', async () => {
      await send(HEAD);
      for (let time = 0; time < times; time++)
        for (let at = 0; at < wire.length; at += WRITE) await send(wire.subarray(at, at + WRITE));
      socket.end(end);
    });
  });
  server.listen(0, '127.0.0.1', () => {
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    process.send?.({
      address,
      posts: times * messages.length,
      bytes: times * bytes,
      wireBytes: times * wire.length,
    });
  });
});

/**
 * Returns each post once, in the order of the files. Duplicates are removed, because a stream
 * contains no duplicates.
 */
async function postsOnce(files: readonly string[]): Promise<readonly Buffer[]> {
  const byId = new Map<string, Buffer>();
  for (const file of files)
    for (const line of gunzipSync(await readFile(file))
      .toString()
      .split('\n')) {
      if (line === '') continue;
      const { id_str: id } = JSON.parse(line) as { id_str: string };
      if (!byId.has(id)) byId.set(id, Buffer.from(line));
    }
  return [...byId.values()];
}

/** Returns one gzip member. Each message is flushed separately, and is a separate HTTP chunk. */
function flushed(messages: readonly Buffer[]): Buffer {
  const gzip = new Gzip({ level: 6, flush: constants.Z_SYNC_FLUSH });
  const chunks: Buffer[] = [];
  let out: Buffer[] = [];
  gzip.on('data', (piece: Buffer) => out.push(piece));
  for (const message of messages) {
    gzip.write(Buffer.concat([message, CRLF]));
    chunks.push(chunked(out));
    out = [];
  }
  gzip.end();
  return Buffer.concat([...chunks, chunked(out)]);
}

/** Returns an HTTP chunk. An empty chunk ends the response. */
function chunked(pieces: readonly Buffer[]): Buffer {
  const size = pieces.reduce((sum, { length }) => sum + length, 0);
  return Buffer.concat([Buffer.from(`${size.toString(16)}\r\n`), ...pieces, CRLF]);
}
