import { Transform } from 'node:stream';
import { brotliCompressSync, createBrotliDecompress } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { batchesOf } from '../../src/flow/flow.js';
import { through } from '../../src/operators/through.js';
import { all } from '../json/cut.js';
import { source } from './batches.js';

const doubling = () =>
  new Transform({
    objectMode: true,
    transform: (n: number, _, done) => done(null, 2 * n),
  });

describe('through', () => {
  it('passes items through a Node Transform, in order', async () => {
    const doubled = through<number, number>(doubling())(source([[1, 2], [3]]));
    expect(await all(doubled)).toEqual([2, 4, 6]);
  });

  it('passes bytes through a stream of node:zlib', async () => {
    const bytes = brotliCompressSync('☃ snow');
    const input = source([[bytes.subarray(0, 3)], [bytes.subarray(3)]]);
    const out = await all(through<Buffer, Buffer>(createBrotliDecompress())(input));
    expect(Buffer.concat(out).toString()).toBe('☃ snow');
  });

  it('passes items through a TransformStream', async () => {
    const stream = new TransformStream<number, string>({
      transform: (n, controller) => controller.enqueue(`${n}`),
    });
    expect(await all(through(stream)(source([[1], [2, 3]])))).toEqual(['1', '2', '3']);
  });

  it('delivers no cursors, because a stream does not say which items they belong to', async () => {
    const cursors = [];
    const doubled = through<number, number>(doubling())(source([[1, 2], [3]]));
    for await (const { cursor } of batchesOf(doubled)) cursors.push(cursor);
    expect(cursors.every(cursor => cursor === undefined)).toBe(true);
  });

  it('throws if its argument is not a duplex stream', () => {
    for (const wrong of [undefined, null, 'gzip', {}, []])
      expect(() => through(wrong as unknown as Transform)).toThrow(OptionError);
  });

  it('rejects with the error of the stream', async () => {
    const failing = new Transform({
      objectMode: true,
      transform: (_item, _encoding, done) => done(new Error('no more')),
    });
    await expect(all(through<number, number>(failing)(source([[1]])))).rejects.toThrow('no more');
  });
});
