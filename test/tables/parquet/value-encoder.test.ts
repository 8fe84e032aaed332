import { afterEach, expect, it, vi } from 'vitest';
import { DataError } from '../../../src/base/errors.js';
import { RowBlockBuilder, readPart } from '../../../src/tables/parquet/row-block.js';
import { ValueEncoder } from '../../../src/tables/parquet/value-encoder.js';

/** Node's types do not include `WebAssembly`. */
const { Memory } = (globalThis as unknown as { WebAssembly: { Memory: { prototype: MemoryOf } } })
  .WebAssembly;
interface MemoryOf {
  grow(pages: number): number;
}

afterEach(() => vi.restoreAllMocks());

it('ValueEncoder throws an error with advice if there is no memory for a column', () => {
  const builder = new RowBlockBuilder(['string']);
  builder.add(['text']);
  const encoder = new ValueEncoder();
  encoder.begin('string', readPart(['string'], builder.take().parts[0]!));
  vi.spyOn(Memory.prototype, 'grow').mockImplementation(() => {
    throw new RangeError('WebAssembly.Memory.grow(): Maximum memory size exceeded');
  });
  expect(() => encoder.pages(() => {})).toThrow(DataError);
  expect(() => encoder.pages(() => {})).toThrow(/needs \d+ MiB of memory.*smaller `rowGroup`/);
});
