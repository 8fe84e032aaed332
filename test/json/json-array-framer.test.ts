import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { parseExact } from '../../src/json/exact-ids.js';
import { JsonArrayFramer } from '../../src/json/json-array-framer.js';
import type { Json } from '../../src/json/type-guards.js';
import { cutAt, cuts } from './cut.js';
import { document } from './json-documents.js';

const LIMITS = { maxBytes: 1_000_000, maxDepth: 100 };
const framer = () => new JsonArrayFramer(['results'], LIMITS, 'the page');

describe('the elements of an array', () => {
  it('are those of the parsed document, wherever it is cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        document.chain(one => fc.tuple(fc.constant(one), cuts(one.bytes.length))),
        async ([{ bytes, elements }, places]) => {
          const items: Json[] = [];
          const results = framer();
          for (const block of cutAt(bytes, places)) await results.push(Buffer.from(block), items);
          await results.end(items);
          expect(items).toEqual(parseExact(`[${elements}]`));
        },
      ),
    );
  });

  it('before one that is not JSON are given', async () => {
    const items: Json[] = [];
    const read = framer().push(Buffer.from('{"results":[{"a":1},{"b":tru},3]}'.padEnd(60)), items);
    await expect(read).rejects.toThrow(DataError);
    expect(items).toEqual([{ a: 1 }]);
  });

  it('are named by their document in an error', async () => {
    await expect(
      framer().push(Buffer.from('{"results":[+]}'.padEnd(40)), []),
    ).rejects.toMatchObject({
      position: { origin: 'the page', byteOffset: 12 },
    });
  });

  it('of which one is not JSON fail with it, rather than with a later mistake of the document', async () => {
    const results = framer();
    const read = async () => {
      await results.push(Buffer.from('{"results":[nul,}'), []);
      await results.end([]);
    };
    await expect(read()).rejects.toThrow(/nul/);
  });

  it('of a document that is cut short are an error at its end', async () => {
    const results = framer();
    await results.push(Buffer.from('{"results":[1,'), []);
    await expect(results.end([])).rejects.toThrow(DataError);
  });
});
