import { type AddressInfo, createServer } from 'node:net';
import { constants } from 'node:zlib';
import { Gzip } from 'minizlib';

// Sends compliance events at a steady rate. The first events, for warm-up, are sent at a higher
// rate. All events are compressed in advance, so the measured time starts when a flushed message is
// written. After the last message, the times of all writes are sent to the parent process.
const [messages = 0, everyMs = 1, fastFirst = 0] = process.argv.slice(2).map(Number);
const HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\n' +
  'transfer-encoding: chunked\r\nconnection: close\r\n\r\n';
/** Reads a clock that all processes on this machine share, in microseconds. */
const now = () => Number(process.hrtime.bigint() / 1_000n);

const wire = flushed(Array.from({ length: messages }, (_, index) => event(index)));
const server = createServer({ noDelay: true }, socket => {
  socket.on('error', () => {});
  socket.once('data', () => {
    socket.write(HEAD);
    const sent: number[] = [];
    const next = () => {
      const piece = wire[sent.length];
      if (piece === undefined || socket.destroyed) {
        process.send?.(sent);
        return;
      }
      sent.push(now());
      socket.write(piece);
      setTimeout(next, sent.length < fastFirst ? 1 : everyMs);
    };
    next();
  });
});
server.listen(0, '127.0.0.1', () => {
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

function event(index: number): string {
  const id = String(1_700_000_000_000_000_000n + BigInt(index));
  const status = `{"id":${id},"id_str":"${id}","user_id":7,"user_id_str":"7"}`;
  return `{"delete":{"status":${status},"timestamp_ms":"1700000000000"}}\r\n`;
}

/** Compresses the messages. Each message is flushed separately, and is a separate HTTP chunk. */
function flushed(texts: readonly string[]): Buffer[] {
  const gzip = new Gzip({ flush: constants.Z_SYNC_FLUSH });
  let out: Buffer[] = [];
  gzip.on('data', (piece: Buffer) => out.push(piece));
  return texts.map(text => {
    gzip.write(Buffer.from(text));
    const bytes = Buffer.concat(out);
    out = [];
    return Buffer.from(`${bytes.length.toString(16)}\r\n${bytes.toString('latin1')}\r\n`, 'latin1');
  });
}
