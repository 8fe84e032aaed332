import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { constants, crc32, deflateRawSync, gunzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { spawn } from '../child-processes.js';
import { compiled } from '../compiled.js';
import { isSlowSuite } from '../slow-suite.js';

const MIB = 2 ** 20;
/** A process that has loaded the library and sent some requests has about 100 MiB; streams decode large blocks. */
const MAX_MIB = 350;

describe('a response of 1 GiB in 1 MiB of gzip', () => {
  it('is as long as it says', () => {
    expect(gunzipSync(bomb('[', ' ', 3)).toString()).toBe(`[${' '.repeat(3 * MIB)}`);
  });

  const bombs: readonly [string, start: string, filler: string][] = [
    ['white space', '{"results":[', ' '],
    ['a text that does not end', '{"results":[{"text":"', 'a'],
    ['elements', '{"results":[', '{}, '],
    ['arrays in arrays', '{"results":[', '['],
    ['lines', '', '\n'],
  ];
  // The first ends in the decoder of JSON, the last in the framer of lines.
  it.each(isSlowSuite ? bombs : bombs.filter(([name]) => ['white space', 'lines'].includes(name)))(
    'of %s ends every call with a typed error, in little memory',
    async (_, start, filler) => {
      const body = bomb(start, filler, 1024);
      expect(body.length).toBeLessThan(6 * MIB);
      const sent: string[] = [];
      const server = http.createServer((request, response) => {
        sent.push(request.url ?? '');
        request.resume();
        response.writeHead(200, {
          'content-type': 'application/json',
          'content-encoding': 'gzip',
        });
        response.end(body);
      });
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
      const folder = await mkdtemp(path.join(os.tmpdir(), 'millrace-bombs-'));
      onTestFinished(async () => {
        server.closeAllConnections();
        server.close();
        await rm(folder, { recursive: true });
      });
      const { port } = server.address() as AddressInfo;
      const script = compiled(path.join(import.meta.dirname, 'read-bombs.ts'));
      const child = spawn(process.execPath, [script, `http://127.0.0.1:${port}`, folder], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const printed = await text(child.stdout);
      const { ended, peaks } = JSON.parse(printed) as {
        ended: Record<string, string>;
        peaks: Record<string, number>;
      };
      for (const [name, end] of Object.entries(ended)) expect(end, name).toMatch(/^ERR_/);
      expect(sent.length).toBeGreaterThanOrEqual(Object.keys(ended).length);
      expect(Math.max(...Object.values(peaks)), printed).toBeLessThan(MAX_MIB);
    },
  );
});

/** Gzip of a text and many MiB after it, made of equal blocks: it takes no time to make. */
function bomb(start: string, filler: string, mebibytes: number): Buffer {
  const head = Buffer.from(start);
  const block = Buffer.from(filler.repeat(MIB / filler.length));
  const flush = { finishFlush: constants.Z_FULL_FLUSH };
  let sum = crc32(head);
  for (let count = 0; count < mebibytes; count++) sum = crc32(block, sum);
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(sum);
  trailer.writeUInt32LE((head.length + mebibytes * MIB) % 2 ** 32, 4);
  const packed = deflateRawSync(block, flush);
  return Buffer.concat([
    Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]),
    deflateRawSync(head, flush),
    ...Array.from({ length: mebibytes }, () => packed),
    deflateRawSync(''),
    trailer,
  ]);
}
