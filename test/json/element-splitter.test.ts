import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { ElementSplitter, ValueEnd } from '../../src/json/element-splitter.js';
import { parseExact } from '../../src/json/exact-ids.js';
import { jsonValue } from '../post/arbitrary-json.js';
import { printJson, style } from '../post/print-json.js';
import { cutAt, cuts } from './cut.js';
import { document } from './json-documents.js';

function split(
  parts: readonly Uint8Array[],
  ...args: ConstructorParameters<typeof ElementSplitter>
) {
  const splitter = new ElementSplitter(...args);
  const elements = parts.flatMap(part => splitter.push(part));
  return { elements: elements.map(String), rest: splitter.end() };
}

describe('ElementSplitter', () => {
  it('returns the exact bytes of every array element and of the rest, for any chunk sizes', () => {
    const cutDocument = document.chain(({ bytes, elements, rest }) =>
      cuts(bytes.length).map(places => ({ parts: cutAt(bytes, places), elements, rest })),
    );
    fc.assert(
      fc.property(cutDocument, ({ parts, elements, rest }) => {
        expect(split(parts, 'results')).toEqual({ elements, rest: parseExact(rest) });
      }),
    );
  });

  it('returns the same elements from one byte at a time', () => {
    const bytes = Buffer.from(
      '\ufeff{"a":{"results":["no"]},"re\\u0073ults": [ {"id":1050118621198921728,"t":"]}\\"\\\\"}, -1.5e+3,"é\\n",[[]],null ],"next":"x","n":[1]}\n',
    );
    for (let place = 0; place <= bytes.length; place++)
      expect(split(cutAt(bytes, [place]), 'results')).toEqual({
        elements: [
          '{"id":1050118621198921728,"t":"]}\\"\\\\"}',
          '-1.5e+3',
          '"é\\n"',
          '[[]]',
          'null',
        ],
        rest: { a: { results: ['no'] }, next: 'x', n: [1] },
      });
  });

  it('returns an element as soon as it is complete, without a copy', () => {
    const splitter = new ElementSplitter('results');
    const block = Buffer.from('{"results":[{"a":1},{"b"');
    const [element] = splitter.push(block);
    expect(element?.buffer).toBe(block.buffer);
    expect(String(element)).toBe('{"a":1}');
    expect(splitter.push(Buffer.from(':2}')).map(String)).toEqual(['{"b":2}']);
    expect(splitter.push(Buffer.from(']}'))).toEqual([]);
    expect(splitter.end()).toEqual({});
  });

  // Found by `npm run faults -- matrix`, seed 9.
  it('refuses an element that is cut off within a string, even if all later quotes pair up', () => {
    const bytes = Buffer.from(
      '{"results":[{"id_str":"1","rul,{"id_str":"2","a":"}},{"b":"x"}],"c":1}',
    );
    for (let place = 0; place <= bytes.length; place++) {
      const splitter = new ElementSplitter('results');
      const elements: Buffer[] = [];
      expect(() => {
        for (const part of cutAt(bytes, [place])) splitter.push(part, elements);
      }).toThrow('Expected a comma, a colon or a bracket after a string');
      expect(elements).toEqual([]);
    }
  });

  it('refuses a document that is truncated at any byte', () => {
    const bytes = Buffer.from('{"results":[{"a":"b"},1],"next":"x"}');
    for (let place = 0; place < bytes.length; place++)
      expect(() => split([bytes.subarray(0, place)], 'results'), `cut at ${place}`).toThrow(
        DataError,
      );
  });

  it.each([
    ['{"next":"x"}', 'has no array `results`: {"next":"x"}'],
    ['{"results":{"a":1}}', 'has no array `results`'],
    ['{"results":null}', 'has no array `results`'],
    ['{"a":{"results":[1]}}', 'has no array `results`'],
    ['{"a":"results","b":[1]}', 'has no array `results`'],
    ['{"error":{"message":"Overloaded"}}', '{"error":{"message":"Overloaded"}}'],
    ['{"results":[1],"results":[2]}', 'more than one `results`'],
    ['{"results":[1],"results":2}', 'has no array `results`'],
    ['[{"results":[]}]', 'Expected a JSON object'],
    ['<html></html>', 'Expected a JSON object'],
    ['{"results":[]}{"results":[]}', 'has bytes after its end'],
    ['{"results":[1,]}', 'Expected a value'],
    ['{"results":[,1]}', 'Expected a value'],
    ['{"results":[1 2]}', 'Expected a comma'],
    ['{"results":[{]}', 'has no partner'],
    ['{"results":[{"a":1]}]}', 'has no partner'],
    ['{"results":[1}]', 'Expected a comma'],
    ['{"results" [1]}', 'Expected a colon'],
    ['{"results":[1],"a":tru}', 'not valid outside its array'],
    ['{"\\q":1,"results":[1]}', 'not valid outside its array'],
  ])('refuses %s', (text, message) => {
    for (let place = 0; place <= text.length; place++) {
      const bytes = Buffer.from(text);
      const act = () => split(cutAt(bytes, [place]), 'results', { origin: 'page 3' });
      expect(act).toThrow(DataError);
      expect(act).toThrow(message);
      expect(act).toThrow('in page 3');
    }
  });

  const LIMITS = { maxBytes: 30, maxDepth: 3 };

  it('accepts a document exactly at its size and depth limits', () => {
    const within = Buffer.from('{"results":["aaaaaaaaaaaaaaaaaaaaaaaaaaaa",[[[]]]]}');
    expect(split([within], 'results', LIMITS).elements).toHaveLength(2);
  });

  it.each([
    ['a string of too many bytes', '{"results":["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'],
    ['a number of too many bytes', '{"results":[1111111111111111111111111111111'],
    ['a second object of too many bytes', '{"results":[{"a":1},{"a":"aaaaaaaaaaaaaaaaaaaaaaaa"}]}'],
    ['too many bytes outside the array', '{"a":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'],
    ['an element that is too deep', '{"results":[[[[['],
    ['a value outside the array that is too deep', '{"results":[],"a":[[[['],
  ])('refuses a document beyond its size or depth limits: %s', (_, text) => {
    for (const parts of [[Buffer.from(text)], [...Buffer.from(text)].map(byte => Buffer.of(byte))])
      expect(() => split(parts, 'results', LIMITS), text).toThrow(/maxBytes|maxDepth/);
  });

  it('refuses a document with more than `maxElements` elements, in one block or in many', () => {
    const text = Buffer.from('{"results":[1,2,3,4],"next":"a"}');
    for (const parts of [[text], [...text].map(byte => Buffer.of(byte))]) {
      expect(split(parts, 'results', { maxElements: 4 }).elements).toHaveLength(4);
      expect(() => split(parts, 'results', { maxElements: 3 })).toThrow(
        '`results` has more than 3 elements',
      );
    }
  });

  describe.each([1, 2, 3, 7])('with a maxDepth of %i', maxDepth => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    const bytesOf = (depth: number) => [
      Buffer.from(`{"results":[${nested(depth)}]}`),
      Buffer.from(`{"results":[],"a":${nested(depth)}}`),
    ];

    it('accepts an element and a member of that depth', () => {
      for (const fits of bytesOf(maxDepth))
        expect(() => split([fits], 'results', { maxDepth })).not.toThrow();
    });

    it('refuses a deeper element and member', () => {
      for (const deeper of bytesOf(maxDepth + 1))
        expect(() => split([deeper], 'results', { maxDepth })).toThrow('`maxDepth`');
    });
  });

  it('accepts a key such as `constructor`, which every object inherits', () => {
    expect(
      split([Buffer.from('{"__proto__":{"x":1},"results":[1],"constructor":2}')], 'results').rest,
    ).toEqual(JSON.parse('{"__proto__":{"x":1},"constructor":2}'));
    expect(split([Buffer.from('{"__proto__":[1],"a":2}')], '__proto__')).toEqual({
      elements: ['1'],
      rest: { a: 2 },
    });
  });
});

const fail = (message: string, at: number) => new Error(`${message} at ${at}`);

function endIn(blocks: readonly Uint8Array[], maxDepth = 100): number | undefined {
  const value = new ValueEnd(maxDepth, fail);
  let read = 0;
  for (const block of blocks) {
    if (block.length === 0) continue;
    const end = value.find(Buffer.from(block), 0);
    read += end;
    if (!value.open) return read;
    expect(end).toBe(block.length);
  }
  return undefined;
}

/** Numbers are excluded, because only the character after a number shows where the number ends. */
const value = fc
  .tuple(fc.oneof(fc.array(jsonValue), fc.dictionary(fc.string(), jsonValue)), style)
  .map(([json, look]) => Buffer.from(printJson(json, look).trim()));

describe('the end of a JSON value', () => {
  it('is found after any array or object, for any chunk sizes', () => {
    fc.assert(
      fc.property(
        value.chain(bytes => fc.tuple(fc.constant(bytes), cuts(bytes.length))),
        fc.constantFrom('', ',', '}', ' ]', '"'),
        ([bytes, places], rest) => {
          expect(endIn(cutAt(Buffer.concat([bytes, Buffer.from(rest)]), places))).toBe(
            bytes.length,
          );
        },
      ),
    );
  });

  it('is not found before its last byte', () => {
    fc.assert(
      fc.property(value, fc.nat(), (bytes, place) => {
        const length = place % bytes.length;
        expect(endIn([bytes.subarray(0, length)])).toBeUndefined();
      }),
    );
  });

  it.each(['7,', '-1.5e+3 ', 'true]', 'null}'])(
    'in %j is found before the byte that follows',
    text => {
      for (let at = 0; at < text.length - 1; at++)
        expect(endIn(cutAt(Buffer.from(text), [at]).filter(part => part.length > 0))).toBe(
          text.length - 1,
        );
    },
  );

  it.each(['"a"', '"\\""', '"\\\\"', '"{"', '""'])(
    'that is the string %s is its closing quote',
    text => {
      for (let at = 0; at < text.length; at++)
        expect(endIn(cutAt(Buffer.from(`${text},1`), [at]))).toBe(text.length);
    },
  );

  it.each([
    ['[}', 'A bracket has no partner at 1'],
    ['{"a":[1}', 'A bracket has no partner at 7'],
    ['["a" "b"]', 'Expected a comma, a colon or a bracket after a string at 5'],
    ['{"a" 1}', 'Expected a comma, a colon or a bracket after a string at 5'],
  ])('is not found in %s, which causes an error', (text, message) => {
    expect(() => endIn([Buffer.from(text)])).toThrow(message);
  });

  it('is not found if the value nests deeper than `maxDepth`, which causes an error', () => {
    expect(endIn([Buffer.from('[[[]]]')], 3)).toBe(6);
    expect(() => endIn([Buffer.from('[[[]]]')], 2)).toThrow('nested deeper than 2');
  });
});
