import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { LineFramer } from '../../src/json/line-framer.js';

const LIMITS = { maxBytes: 1_000, maxDepth: 10 };

describe('blank lines', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('are not searched one by one', async () => {
    const records: Buffer[] = [];
    const block = Buffer.concat([Buffer.alloc(100_000, '\n'), Buffer.from('{"a":1}\n')]);
    const search = vi.spyOn(Buffer.prototype, 'indexOf');
    await new LineFramer('\n', LIMITS, undefined).push(block, records);
    expect(search.mock.calls.length).toBeLessThan(10);
    expect(records.map(String)).toEqual(['{"a":1}']);
  });

  it('count in the position of a damaged line, wherever blocks are cut', async () => {
    const blank = fc.constantFrom('', ' ', '\t', '\r', ' \t\r');
    const line = fc.oneof({ arbitrary: blank, weight: 3 }, fc.constantFrom('{"a":1}', ' {} '));
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { maxLength: 30 }),
        fc.array(fc.nat(100), { maxLength: 4 }),
        async (lines, cuts) => {
          const before = lines.map(text => `${text}\n`).join('');
          const bytes = Buffer.from(`${before}damaged\n{"never":1}\n`);
          const places = [0, ...cuts.filter(at => at < bytes.length).toSorted((a, b) => a - b)];
          const framer = new LineFramer('\n', LIMITS, 'file');
          const records: Buffer[] = [];
          const run = async () => {
            for (const [index, from] of places.entries())
              await framer.push(bytes.subarray(from, places[index + 1] ?? bytes.length), records);
          };
          const error = await run().catch((thrown: unknown) => thrown);
          expect(error).toBeInstanceOf(DataError);
          expect((error as DataError).position).toEqual({
            origin: 'file',
            line: lines.length + 1,
            byteOffset: before.length,
          });
          expect(records.map(String)).toEqual(
            lines.map(text => text.trim()).filter(text => text !== ''),
          );
        },
      ),
    );
  });
});
