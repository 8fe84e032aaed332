import { expect, it } from 'vitest';
import type { Batch } from '../../src/flow/flow.js';
import { frameRecords } from '../../src/flow/frame-records.js';
import { LineFramer } from '../../src/json/line-framer.js';

const LIMITS = { maxBytes: 1_000, maxDepth: 10 };

it('frameRecords splits a block of tiny records into batches of limited length', async () => {
  const count = 200_000;
  const block = Buffer.from(Array.from({ length: count }, (_, n) => `{"n":${n}}\n`).join(''));
  const input = async function* () {
    yield { items: [block], cursor: { source: 'test' } };
  };
  const batches: Batch<Buffer>[] = [];
  for await (const batch of frameRecords(
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
});
