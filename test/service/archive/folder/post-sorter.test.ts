import fc from 'fast-check';
import { expect, test } from 'vitest';
import { floorTo, MINUTE } from '../../../../src/base/time.js';
import { PostSorter } from '../../../../src/service/archive/folder/post-sorter.js';
import type { IndexedPost, IndexedTerm } from '../../../../src/service/archive/folder/read-post.js';
import { codePoint } from '../../../code-point.js';
import { bySuite } from '../../../suite.js';
import { temporaryFolder } from '../../../temporary-folder.js';

// Adding 0 turns a negative zero into zero, because JSON has no negative zero.
const degrees = fc.double({ min: -180, max: 180, noNaN: true }).map(value => value + 0);
const position = fc.tuple(degrees, degrees);
const post: fc.Arbitrary<IndexedPost> = fc.record({
  format: fc.constant('original' as const),
  at: fc.nat(400).map(seconds => Date.UTC(2024, 4, 1) + seconds * 1000),
  id: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String),
  terms: fc.array(
    fc
      .tuple(
        fc.string({ unit: codePoint, maxLength: 40 }),
        fc.array(fc.nat(1000), { maxLength: 3 }),
      )
      .map(([text, occurrences]): IndexedTerm => [text, ...occurrences]),
    { maxLength: 12 },
  ),
  location: fc.option(fc.record({ position, corners: fc.array(position, { maxLength: 4 }) }), {
    nil: undefined,
  }),
  offset: fc.nat(2 ** 31).map(n => n * 1000),
  bytes: fc.nat(100_000),
});

test('PostSorter returns every post of each minute, for any run size', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(post, { maxLength: 60 }),
      fc.integer({ min: 1, max: 20_000 }),
      async (posts, runBytes) => {
        const sorter = await PostSorter.create(await temporaryFolder(), runBytes);
        for (const [file, one] of posts.entries()) await sorter.add(one, file);
        await sorter.finish();
        const minutes = [...sorter.counts.keys()].toSorted((a, b) => a - b);
        for (const minute of minutes) {
          const found = await sorter.read(minute, minute + MINUTE);
          const expected = posts.flatMap((one, file) =>
            floorTo(MINUTE, one.at) === minute ? [{ one, file }] : [],
          );
          expect(found.length).toBe(expected.length);
          expect(sorter.counts.get(minute)).toBe(expected.length);
          for (const read of found) {
            const { one } = expected.find(({ file }) => file === read.file) ?? {};
            const { terms, ...rest } = read;
            expect({ ...rest, terms: JSON.parse(terms.toString()) }).toEqual({
              ...one,
              file: read.file,
            });
          }
        }
        const all = await sorter.read(0, Number.MAX_SAFE_INTEGER);
        expect(all.length).toBe(posts.length);
        await sorter.close();
      },
    ),
    { numRuns: bySuite(2, 100) },
  );
});
