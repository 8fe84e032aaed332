import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { activities } from '../../src/operators/activities.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { sample } from '../../src/operators/sample.js';
import { Activity } from '../../src/post/activity.js';
import { files } from '../../src/sinks/files.js';
import { localFiles } from '../../src/sources/local-files.js';
import { all } from '../json/cut.js';
import { bySuite } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';
import { source } from './batches.js';

const original = (id: string) =>
  new Activity(
    Buffer.from(`{"created_at":"Mon Oct 03 06:00:00 +0000 2022","id":${id},"id_str":"${id}"}`),
  );
const streams = (id: string) =>
  new Activity(
    Buffer.from(`{"id":"tag:search.twitter.com,2005:${id}","objectType":"activity","verb":"post"}`),
  );

/**
 * Creates an id like those of the service, with the time in the high bits and other data in the low
 * bits.
 */
const idAt = (ms: number, low = 0) => String((BigInt(ms) << 22n) | BigInt(low));

async function sampled(
  ids: readonly string[],
  options: { readonly ratio: number; readonly seed?: number },
  post = original,
): Promise<string[]> {
  const posts = await all(sample(options)(source([ids.map(post)])));
  return posts.map(({ id }) => id);
}

describe('sample', () => {
  const ids = Array.from({ length: 20_000 }, (_, n) => idAt(400_000_000_000 + 37 * n, n % 4));

  it.each([0.01, 0.1, 0.5])('passes about the fraction %d of all posts', async ratio => {
    const { length } = await sampled(ids, { ratio });
    const deviation = Math.sqrt(ids.length * ratio * (1 - ratio));
    expect(Math.abs(length - ids.length * ratio)).toBeLessThan(4 * deviation);
  });

  it('passes no posts with a ratio of 0, and all posts with 1', async () => {
    expect(await sampled(ids, { ratio: 0 })).toEqual([]);
    expect(await sampled(ids, { ratio: 1 })).toEqual(ids);
  });

  it('passes the same ids in every version of Millrace', async () => {
    const first = Array.from({ length: 60 }, (_, n) =>
      String(1_000_000_000_000_000_000n + BigInt(n)),
    );
    expect(await sampled(first, { ratio: 0.1 })).toEqual([
      '1000000000000000006',
      '1000000000000000011',
      '1000000000000000027',
      '1000000000000000037',
      '1000000000000000042',
    ]);
  });

  it('passes the same ids whether posts are in one format or the other', async () => {
    expect(await sampled(ids, { ratio: 0.2 }, streams)).toEqual(await sampled(ids, { ratio: 0.2 }));
  });

  it('passes only posts that a sample with a larger ratio also passes', async () => {
    const larger = new Set(await sampled(ids, { ratio: 0.3 }));
    const smaller = await sampled(ids, { ratio: 0.1 });
    expect(smaller.filter(id => !larger.has(id))).toEqual([]);
  });

  it('passes an independent selection of posts with another seed', async () => {
    const one = new Set(await sampled(ids, { ratio: 0.5 }));
    const both = (await sampled(ids, { ratio: 0.5, seed: 1 })).filter(id => one.has(id));
    expect(Math.abs(both.length - ids.length / 4)).toBeLessThan(4 * Math.sqrt(ids.length * 0.1875));
  });

  it('distinguishes ids that would be equal as doubles', async () => {
    const near = Array.from({ length: 64 }, (_, n) => String(2n ** 63n + BigInt(n)));
    const { length } = await sampled(near, { ratio: 0.5 });
    expect(length).toBeGreaterThan(12);
    expect(length).toBeLessThan(52);
  });

  it.each([
    { ratio: -0.1 },
    { ratio: 1.1 },
    { ratio: Number.NaN },
    { ratio: '0.1' },
    { ratio: 0.1, seed: 1.5 },
    { ratio: 0.1, seed: 2 ** 32 },
    {},
  ])('throws an OptionError for %j', options => {
    expect(() => sample(unchecked(options))).toThrow(OptionError);
  });

  it('fails for items that are not posts, and for posts without an id', async () => {
    const bytes = sample({ ratio: 1 })(source([[unchecked<Activity>(Buffer.from('{}'))]]));
    await expect(all(bytes)).rejects.toThrow(/sample\(\) reads activities, but got bytes/);
    const nameless = sample({ ratio: 1 })(source([[new Activity(Buffer.from('{"text":""}'))]]));
    await expect(all(nameless)).rejects.toThrow(/id/);
  });

  it('passes the same stored posts with threads, without threads and one item at a time', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.bigInt({ min: 0n, max: 2n ** 64n + 5n }).map(String), fc.boolean()), {
          maxLength: 60,
        }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        async (drawn, ratio) => {
          const folder = await temporaryFolder();
          const posts = drawn.map(([id, isOriginal]) => (isOriginal ? original(id) : streams(id)));
          const file = path.join(folder, 'in.jsonl.gz');
          await writeFile(file, gzipSync(posts.map(({ raw }) => `${raw}\n`).join('')));
          const expected = (await all(sample({ ratio })(source([posts])))).map(
            ({ raw }) => `${raw}\n`,
          );
          for (const workers of [0, 1]) {
            const out = path.join(folder, `${workers}.jsonl`);
            await pipeline(
              localFiles(file),
              gunzip(),
              jsonLines(),
              activities(),
              sample({ ratio }),
              files({ path: out, workers }),
            );
            const written = await readFile(out, 'utf8').catch(() => '');
            expect(written).toBe(expected.join(''));
          }
        },
      ),
      { numRuns: bySuite(2, 200) },
    );
  });
});
