import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { constants, crc32, deflateRawSync, gunzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { spawn } from '../child-processes.js';
import { compiled } from '../compiled.js';
import { isNightly } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';

const MIB = 2 ** 20;
/** The memory limit for most calls. A process needs 60 MiB to load the library. */
const MAX_MIB = 150;
/**
 * The memory limit for streams. A message may have 16 MiB. It is copied while it grows, and a
 * replay also holds data that waits for the disk.
 */
const MAX_STREAM_MIB = 260;
const STREAMS = ['compliance', 'replay'];
/**
 * The memory limit for data files. A line may have 64 MiB, and the file is fetched twice. Node 22
 * needs some MiB more than Node 20.
 */
const MAX_FILE_MIB = 350;
/**
 * The calls for which the bomb is a data file. The bomb of lines is not sent to these calls,
 * because job files may contain any number of empty lines.
 */
const FILES = ['jobFiles', 'download'];
const ALL = ['search', 'counts', 'usage', 'jobs', 'results', 'rules', 'token', 'engagement'];
// These calls run last because the peak memory includes all earlier calls.
ALL.push(...STREAMS, ...FILES);

describe('a gzip bomb of 1 MiB', () => {
  it('expands to 1 GiB', () => {
    expect(gunzipSync(bomb('[', ' ', 3)).toString()).toBe(`[${' '.repeat(3 * MIB)}`);
  });

  const bombs: readonly [string, start: string, filler: string][] = [
    ['white space', '{"results":[', ' '],
    ['an endless string', '{"results":[{"text":"', 'a'],
    ['elements', '{"results":[', '{}, '],
    ['arrays in arrays', '{"results":[', '['],
    ['lines', '', '\n'],
  ];
  it.each(bombs)(
    'sent as the response to %s causes a typed error in every call, with little memory',
    async (kind, start, filler) => {
      // If the run is not nightly, each bomb is sent to four to six calls, so that each call gets
      // two bombs. Streams get the bomb of lines.
      const turn = bombs.findIndex(([name]) => name === kind) + 3;
      const calls = ALL.filter((_, index) => isNightly || (index + turn) % 5 < 2).filter(
        name => kind !== 'lines' || !FILES.includes(name),
      );
      const body = bomb(start, filler, 1024);
      expect(body.length).toBeLessThan(6 * MIB);
      const sent: string[] = [];
      const server = http.createServer((request, response) => {
        sent.push(request.url ?? '');
        request.resume();
        const { pathname } = new URL(request.url ?? '', 'http://x');
        if (pathname.endsWith('/listed/results.json')) {
          const file = `http://${request.headers.host}/files/2024/01/01/00/00_activities.json.gz`;
          response.end(JSON.stringify({ urlCount: 1, urlList: [file] }));
          return;
        }
        const isFile = pathname.startsWith('/files/');
        const encoded = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
        response.writeHead(200, isFile ? {} : encoded).end(body);
      });
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
      const folder = await temporaryFolder();
      onTestFinished(async () => {
        server.closeAllConnections();
        server.close();
      });
      const { port } = server.address() as AddressInfo;
      const script = compiled(path.join(import.meta.dirname, 'read-bombs.ts'));
      const child = spawn(
        process.execPath,
        [script, `http://127.0.0.1:${port}`, folder, ...calls],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      );
      const printed = await text(child.stdout);
      const { ended, peaks } = JSON.parse(printed) as {
        ended: Record<string, string>;
        peaks: Record<string, number>;
      };
      for (const [name, end] of Object.entries(ended)) expect(end, name).toMatch(/^ERR_/);
      expect(sent.length).toBeGreaterThanOrEqual(Object.keys(ended).length);
      expect(Object.keys(ended)).toEqual(calls);
      for (const [name, peak] of Object.entries(peaks))
        expect(peak, printed).toBeLessThan(maxOf(name));
    },
  );
});

function maxOf(call: string): number {
  if (FILES.includes(call)) return MAX_FILE_MIB;
  return STREAMS.includes(call) ? MAX_STREAM_MIB : MAX_MIB;
}

/**
 * Returns a gzip file that contains `start` and `mebibytes` MiB of `filler`. This is fast, because
 * all blocks of filler are equal.
 */
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
