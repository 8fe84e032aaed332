import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isDeeperThan } from '../../src/json/json-depth.js';
import { draws } from '../suite.js';

/** How deep the brackets outside of strings nest. */
function depthOf(json: string): number {
  let depth = 0;
  let deepest = 0;
  for (const bracket of json.replaceAll(/"(?:[^"\\]|\\.)*"/gs, '').match(/[[{\]}]/g) ?? [])
    if (bracket === '[' || bracket === '{') deepest = Math.max(deepest, ++depth);
    else depth--;
  return deepest;
}

const nested = fc.letrec<{ value: string }>(tie => ({
  value: fc.oneof(
    { maxDepth: 12 },
    fc.constantFrom('1', '"[{"', '"}\\"]"', '"é\\\\"', 'null', '""'),
    tie('value').map(value => `[${value}]`),
    tie('value').map(value => `{"a":${value}}`),
    fc.array(tie('value'), { maxLength: 3 }).map(values => `[${values.join(',')}]`),
  ),
})).value;

describe('the depth of a JSON value', () => {
  it('is compared exactly, wherever the value starts in its memory', () => {
    fc.assert(
      fc.property(nested, fc.nat(9), fc.integer({ min: 1, max: 14 }), (json, before, maxDepth) => {
        const memory = Buffer.from(`${'['.repeat(before)}${json}[[[`);
        const value = memory.subarray(before, memory.length - 3);
        expect(isDeeperThan(maxDepth, value)).toBe(depthOf(json) > maxDepth);
      }),
      { numRuns: draws(650, 8_000) },
    );
  });

  it('is found where brackets alone reach it', () => {
    for (const depth of [2, 3, 4, 5, 17, 3_000])
      for (const before of [0, 1, 2, 3]) {
        const json = Buffer.from(`${' '.repeat(before)}${'['.repeat(depth)}${']'.repeat(depth)}`);
        const value = json.subarray(before);
        expect(isDeeperThan(depth - 1, value)).toBe(true);
        expect(isDeeperThan(depth, value)).toBe(false);
      }
  });
});
