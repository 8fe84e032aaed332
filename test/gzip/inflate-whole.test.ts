import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { inflateWhole } from '../../src/gzip/inflate-whole.js';

it('a gzip file with bytes after its end is not inflated as a good one', async () => {
  const file = gzipSync('text');
  expect(String(await inflateWhole(file, 100))).toBe('text');
  expect(String(await inflateWhole(Buffer.concat([file, file]), 100))).toBe('texttext');
  expect(await inflateWhole(Buffer.concat([file, Buffer.alloc(8)]), 100)).toBeUndefined();
});
