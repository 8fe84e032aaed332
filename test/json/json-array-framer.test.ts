import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { parseExact } from '../../src/json/exact-json.js';
import type { Json } from '../../src/json/json.js';
import { JsonArrayFramer } from '../../src/json/json-array-framer.js';
import { cutAt, cuts } from './cut.js';
import { document } from './json-documents.js';

const LIMITS = { maxBytes: 1_000_000, maxDepth: 100 };
const framer = () => new JsonArrayFramer('results', LIMITS, 'the page');

describe('the elements of an array', () => {
  it('are those of the parsed document, wherever it is cut', () => {
    fc.assert(
      fc.property(
        document.chain(one => fc.tuple(fc.constant(one), cuts(one.bytes.length))),
        ([{ bytes, elements }, places]) => {
          const items: Json[] = [];
          const results = framer();
          for (const block of cutAt(bytes, places)) results.push(Buffer.from(block), items);
          results.end();
          expect(items).toEqual(parseExact(`[${elements}]`));
        },
      ),
    );
  });

  it('before one that is not JSON are given', () => {
    const items: Json[] = [];
    expect(() => framer().push(Buffer.from('{"results":[{"a":1},{"b":tru},3]}'), items)).toThrow(
      DataError,
    );
    expect(items).toEqual([{ a: 1 }]);
  });

  it('are named by their document in an error', () => {
    expect(() => framer().push(Buffer.from('{"results":[tru]}'), [])).toThrow(
      expect.objectContaining({ position: { origin: 'the page' } }),
    );
  });

  it('of which one is not JSON fail with it, rather than with a later mistake of the document', () => {
    expect(() => framer().push(Buffer.from('{"results":[nul,}'), [])).toThrow(/nul/);
  });

  it('of a document that is cut short are an error at its end', () => {
    const results = framer();
    results.push(Buffer.from('{"results":[1,'), []);
    expect(() => results.end()).toThrow(DataError);
  });
});
