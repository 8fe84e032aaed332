import { expect, it } from 'vitest';
import { framed } from '../../src/flow/framed.js';
import type { InternalBatch } from '../../src/flow/internal-flow.js';
import { LineFramer } from '../../src/json/line-framer.js';

const LIMITS = { maxBytes: 1_000, maxDepth: 10 };

it('a block of tiny records is given on in batches of limited length, and released after the last of them', async () => {
  const count = 200_000;
  const block = Buffer.from(Array.from({ length: count }, (_, n) => `{"n":${n}}\n`).join(''));
  let releases = 0;
  const input = async function* () {
    yield { items: [block], cursor: { source: 'test' }, release: () => void releases++ };
  };
  const batches: InternalBatch<Buffer>[] = [];
  for await (const batch of framed(
    'jsonLines',
    input(),
    origin => new LineFramer('\n', LIMITS, origin),
  ))
    batches.push(batch);
  const lengths = batches.map(({ items }) => items.length);
  expect(Math.max(...lengths)).toBeLessThan(40_000);
  expect(batches.flatMap(({ items }) => items.map(String))).toEqual(
    Array.from({ length: count }, (_, n) => `{"n":${n}}`),
  );
  expect(batches.map(({ cursor }) => cursor !== undefined)).toEqual(
    batches.map((_, index) => index === batches.length - 1),
  );
  for (const [index, { release }] of batches.toReversed().entries()) {
    expect(releases).toBe(0);
    expect(release, `batch ${index}`).toBeDefined();
    release?.();
  }
  expect(releases).toBe(1);
});
