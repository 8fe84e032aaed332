import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConnectionError, DataError } from '../../src/base/errors.js';
import { decodeBody } from '../../src/http/request.js';

const URL = 'https://host.test/';

async function* inPieces(bytes: Buffer, edges: readonly number[]): AsyncGenerator<Buffer> {
  let from = 0;
  for (const to of [...edges.toSorted((a, b) => a - b), bytes.length]) {
    yield bytes.subarray(from, to);
    from = to;
  }
}

async function all(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe('a gzip response body', () => {
  it('is decoded with one or more gzip members, for any chunk sizes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 3000 }), { minLength: 1, maxLength: 3 }),
        fc.array(fc.nat(6000), { maxLength: 6 }),
        async (members, cuts) => {
          const zipped = Buffer.concat(members.map(member => gzipSync(member)));
          const edges = cuts.map(cut => Math.min(cut, zipped.length));
          const plain = await all(decodeBody(inPieces(zipped, edges), URL));
          expect(plain.equals(Buffer.concat(members))).toBe(true);
        },
      ),
    );
  });

  it('causes a retryable error of kind cut if it is truncated at any byte', async () => {
    const zipped = gzipSync('some text, and some text again');
    for (let length = 0; length < zipped.length; length++) {
      const body = decodeBody(inPieces(zipped.subarray(0, length), []), URL);
      const error = await all(body).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(ConnectionError);
      expect(error).toMatchObject({ failure: 'cut', retryable: true, url: URL });
    }
  });

  it('causes an error if any bit that affects its content is flipped', async () => {
    const plain = 'some text, and some text again';
    const zipped = gzipSync(plain);
    for (let at = 0; at < zipped.length; at++) {
      const wrong = Buffer.from(zipped);
      wrong[at]! ^= 1;
      const outcome = await all(decodeBody(inPieces(wrong, []), URL)).catch(
        (caught: unknown) => caught,
      );
      // Some bits of a gzip header do not affect the content. If one of these is damaged, the
      // damage is not detected.
      if (outcome instanceof Buffer) expect(outcome.toString()).toBe(plain);
      else expect(outcome instanceof DataError || outcome instanceof ConnectionError).toBe(true);
    }
  });

  it('is decoded in chunks of at most 8 MiB, only as far as it is read, if it expands a thousandfold', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
    let taken = 0;
    for await (const chunk of decodeBody(inPieces(bomb, []), URL)) {
      expect(chunk.length).toBeLessThanOrEqual(8 * 1024 * 1024);
      taken += chunk.length;
      if (taken > 8 * 1024 * 1024) break;
    }
    expect(taken).toBeLessThan(16 * 1024 * 1024);
  });

  it('causes an error if it expands two hundredfold to more than 16 MiB, but not if it expands less', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
    const error = await all(decodeBody(inPieces(bomb, [50_000]), URL)).catch(
      (caught: unknown) => caught,
    );
    expect(error).toBeInstanceOf(DataError);
    expect(error).toMatchObject({ retryable: false, position: { origin: URL } });
    expect(String(error)).toContain('decompression bomb');
    const small = gzipSync(Buffer.alloc(15 * 1024 * 1024));
    expect((await all(decodeBody(inPieces(small, []), URL))).length).toBe(15 * 1024 * 1024);
    const counts = Array.from({ length: 500_000 }, (_, n) => `{"timePeriod":"${n}","count":0}`);
    const repetitive = Buffer.from(counts.join(','));
    const decoded = await all(decodeBody(inPieces(gzipSync(repetitive), []), URL));
    expect(decoded.equals(repetitive)).toBe(true);
  });
});
