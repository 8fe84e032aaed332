import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { inflateJobFile } from '../../src/jobs/check-job-file.js';
import { cutAt, cuts } from '../json/cut.js';
import { bySuite } from '../suite.js';

async function inflated(parts: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<string> {
  const blocks: Buffer[] = [];
  for await (const block of inflateJobFile(parts as Iterable<Buffer>, 'a file')) blocks.push(block);
  return Buffer.concat(blocks).toString();
}

/**
 * Delivers a file that hardly compresses, so that it arrives in many chunks. `state.closed` tells
 * whether the file was closed.
 */
async function* large(state: { closed: boolean }, failure?: Error): AsyncGenerator<Buffer> {
  const file = gzipSync(Buffer.alloc(8_000_000, 'abcdefghijklmnopqrstuvwxyz'), { level: 0 });
  try {
    for (let at = 0; at < file.length; at += 65_536) {
      if (failure !== undefined && at > 1_000_000) throw failure;
      yield file.subarray(at, at + 65_536);
    }
  } finally {
    state.closed = true;
  }
}

describe('inflateJobFile', () => {
  it('inflates a file of several gzip members, for any chunk sizes', () =>
    fc.assert(
      fc.asyncProperty(
        fc
          .array(fc.string({ maxLength: 200 }), { minLength: 1, maxLength: 4 })
          .map(texts => ({ texts, file: Buffer.concat(texts.map(text => gzipSync(text))) }))
          .chain(({ texts, file }) =>
            fc.record({
              texts: fc.constant(texts),
              file: fc.constant(file),
              at: cuts(file.length),
            }),
          ),
        async ({ texts, file, at }) => {
          expect(await inflated(cutAt(file, at))).toBe(texts.join(''));
        },
      ),
      { numRuns: bySuite(5, 240) },
    ));

  it('fails for a file that is truncated at any byte', async () => {
    const file = gzipSync('some text');
    for (let length = 0; length < file.length; length++)
      await expect(inflated([file.subarray(0, length)])).rejects.toMatchObject({
        code: 'ERR_DATA',
        retryable: true,
      });
  });

  it.each([
    ['zeros', Buffer.alloc(100_000)],
    ['text', Buffer.from('text')],
    ['one byte', Buffer.from([0x1f])],
  ])('fails for a file with %s after its end, for any chunk sizes', async (_, junk) => {
    const file = gzipSync('some text');
    await expect(inflated([Buffer.concat([file, junk])])).rejects.toBeInstanceOf(DataError);
    await expect(inflated([file, junk])).rejects.toBeInstanceOf(DataError);
  });

  it('rethrows an error of its input unchanged', async () => {
    const failure = new Error('the connection broke');
    await expect(inflated(large({ closed: false }, failure))).rejects.toBe(failure);
  });

  it('closes its input when its reader fails', async () => {
    const failure = new Error('a damaged line');
    const state = { closed: false };
    const read = async () => {
      for await (const block of inflateJobFile(large(state), 'a file'))
        if (block.length > 0) throw failure;
    };
    await expect(read()).rejects.toBe(failure);
    expect(state.closed).toBe(true);
  });
});
