import { once } from 'node:events';
import { createGunzip, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InflateAhead } from '../../src/gzip/inflate-ahead.js';
import { bySuite } from '../slow-suite.js';

it('takes only gzip: a decoder for each of many plain files took five times the CPU time', () => {
  expect(InflateAhead.takes(Buffer.from('{"id":1,"id_str":"1"}\n'))).toBe(false);
  expect(InflateAhead.takes(gzipSync('{"id":1,"id_str":"1"}\n'))).toBe(true);
});

describe('the decoder of node:zlib', () => {
  it('fills a buffer to its end before it allocates another, and never reuses a full one', async () => {
    // Memory is released while the decoder works, which is safe only because of this.
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 300_000 }), { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 64 * 1024, max: 200_000 }),
        fc.boolean(),
        async (members, chunkSize, whole) => {
          const file = Buffer.concat(members.map(size => gzipSync(Buffer.alloc(size, 'abc'))));
          const gunzip = createGunzip({ chunkSize });
          const memories: { memory: ArrayBufferLike; end: number }[] = [];
          gunzip.on('data', ({ buffer, byteOffset, length }: Buffer) => {
            const last = memories.at(-1);
            if (last?.memory === buffer) {
              expect(byteOffset).toBe(last.end);
              last.end += length;
            } else {
              expect(last?.end ?? chunkSize).toBe(chunkSize);
              expect(memories.some(({ memory }) => memory === buffer)).toBe(false);
              memories.push({ memory: buffer, end: byteOffset + length });
            }
          });
          if (whole) gunzip.end(file);
          else {
            for (let at = 0; at < file.length; at += 100) gunzip.write(file.subarray(at, at + 100));
            gunzip.end();
          }
          await once(gunzip, 'end');
          const total = memories.reduce((sum, { end }) => sum + end, 0);
          expect(total).toBe(members.reduce((sum, size) => sum + size, 0));
        },
      ),
      { numRuns: bySuite(20, 240) },
    );
  });
});
