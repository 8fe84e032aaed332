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

describe('JsonArrayFramer', () => {
  it('returns the same elements as JSON.parse, for any chunk sizes', async () => {
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

  it('returns the elements that precede one that is not JSON', async () => {
    const items: Json[] = [];
    const read = framer().push(Buffer.from('{"results":[{"a":1},{"b":tru},3]}'.padEnd(60)), items);
    await expect(read).rejects.toThrow(DataError);
    expect(items).toEqual([{ a: 1 }]);
  });

  describe.each(['12345678', '"123456"', '["ab",1]', '{"a":"b"}', '[1, 2, 3]'])(
    'with an element of at most `maxBytes`: %s',
    element => {
      const maxBytes = JSON.stringify(JSON.parse(element)).length;
      const text = `[${element},${element}]`;
      const read = async (limit: number, blockBytes: number) => {
        const items: Json[] = [];
        const array = new JsonArrayFramer([], { maxBytes: limit, maxDepth: 100 }, undefined);
        for (let from = 0; from < text.length; from += blockBytes)
          await array.push(Buffer.from(text.slice(from, from + blockBytes)), items);
        await array.end(items);
        return items;
      };

      it.each([1, 3, text.length])(
        'delivers it, but fails for 1 byte more, in blocks of %i bytes',
        async blockBytes => {
          const value = JSON.parse(element);
          expect(await read(maxBytes, blockBytes)).toEqual([value, value]);
          await expect(read(maxBytes - 1, blockBytes)).rejects.toThrow(
            `is larger than ${maxBytes - 1} bytes (\`maxBytes\`)`,
          );
        },
      );
    },
  );

  it('names the document and the position of an invalid element', async () => {
    await expect(
      framer().push(Buffer.from('{"results":[+]}'.padEnd(40)), []),
    ).rejects.toMatchObject({
      position: { origin: 'the page', byteOffset: 12 },
    });
  });

  it('reports an invalid element before a later syntax error', async () => {
    const results = framer();
    const read = async () => {
      await results.push(Buffer.from('{"results":[nul,}'), []);
      await results.end([]);
    };
    await expect(read()).rejects.toThrow(/nul/);
  });

  it('refuses a truncated document when its input ends', async () => {
    const results = framer();
    await results.push(Buffer.from('{"results":[1,'), []);
    await expect(results.end([])).rejects.toThrow(DataError);
  });
});
