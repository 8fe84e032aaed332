import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DataError, orDataError } from '../../src/base/errors.js';
import { parseExact } from '../../src/json/exact-ids.js';
import { jsonArray } from '../../src/operators/json-array.js';
import { collectGarbage } from '../collect-garbage.js';
import { all, blocks, cutAt, cuts, filesOf, until } from '../json/cut.js';
import { document } from '../json/json-documents.js';

const placed = fc
  .record({
    path: fc.array(fc.oneof(fc.string(), fc.constantFrom('a.b', '__proto__', '0')), {
      maxLength: 3,
    }),
    elements: fc.array(
      document.map(({ rest }) => rest),
      { maxLength: 5 },
    ),
    other: document.map(({ rest }) => rest),
    s: fc.constantFrom('', ' ', '\n\t'),
  })
  .map(({ path, elements, other, s }) => {
    const array = `[${s}${elements.join(`${s},${s}`)}${s}]`;
    const text = path.reduceRight(
      (inner, key) => `{"${'b'.repeat(9)}"${s}:${other},${JSON.stringify(key)}:${s}${inner}${s}}`,
      array,
    );
    return { path, array, bytes: Buffer.from(`${s}${text}${s}`) };
  });

async function* largeDocument(): AsyncGenerator<Buffer> {
  const element = Buffer.from(`{"id":1050118621198921728,"text":"${'x'.repeat(360)}"},`);
  yield Buffer.from('{"data":{"items":[');
  for (let block = 0; block < 100; block++) yield Buffer.concat(Array<Buffer>(200).fill(element));
  yield Buffer.from('{"id":1}]}}');
}

describe('jsonArray', () => {
  it('delivers the elements of a document that is an array', async () => {
    const list = Buffer.from('[{"id":1050118621198921728},{"id":2}]');
    expect(await all(jsonArray()(blocks([list])))).toEqual([
      { id: '1050118621198921728' },
      { id: '2' },
    ]);
  });

  it.each<[path: string | string[]]>([['data.items'], [['data', 'items']]])(
    'delivers the elements of an array at the path %j',
    async path => {
      const page = Buffer.from(
        '{"items":[0],"data":{"n":[1],"items":[{"id":1},2]},"b":{"items":[3]}}',
      );
      expect(await all(jsonArray(path)(blocks([page])))).toEqual([{ id: '1' }, 2]);
    },
  );

  it('accepts a path given as a list, with keys that contain dots and with array indexes', async () => {
    const page = Buffer.from('[{"a.b":[1]},{"a.b":[2]}]');
    expect(await all(jsonArray(['1', 'a.b'])(blocks([page])))).toEqual([2]);
  });

  it('returns the same as JSON.parse with exact ids, for any path and chunk sizes', async () => {
    await fc.assert(
      fc.asyncProperty(
        placed.chain(one => fc.tuple(fc.constant(one), cuts(one.bytes.length))),
        async ([{ path, array, bytes }, places]) => {
          const items = await all(jsonArray(path)(filesOf(cutAt(bytes, places))));
          expect(items).toEqual(parseExact(array));
        },
      ),
    );
  });

  it('fails for any damaged document that JSON.parse refuses', async () => {
    await fc.assert(
      fc.asyncProperty(
        placed,
        fc.nat(),
        fc.constantFrom(...'{}[]",:x0 '),
        async (one, at, byte) => {
          const bytes = Buffer.from(one.bytes);
          bytes[at % bytes.length] = byte.charCodeAt(0);
          const items: unknown[] = [];
          const read = (async () => {
            for await (const item of jsonArray(one.path)(blocks([bytes]))) items.push(item);
          })();
          if (orDataError(() => parseExact(bytes)) instanceof DataError)
            await expect(read).rejects.toThrow(DataError);
          else await read.catch(error => expect(error).toBeInstanceOf(DataError));
        },
      ),
    );
  });

  it.each([
    [
      'of a missing path',
      '{"data":{"n":1}}',
      'has no array `data.items`: "{\\"data\\":',
      undefined,
    ],
    ['of an array without a path', '[{"a":1}]', 'jsonArray() without a path reads', undefined],
    ['with an object at the path', '{"data":{"items":{}}}', 'has no array `data.items`', undefined],
    [
      'that contains the path twice',
      '{"data":{"items":[]},"data":1}',
      'more than one `data`',
      undefined,
    ],
    ['that is truncated', '{"data":{"items":[{"a":1}', 'cut short', 25],
    ['that is truncated within a string', '{"data":{"items":["é', 'cut short', 21],
    ['with a damaged element', '{"data":{"é":1,"items":[{"a":1},{"b":tru},3]}}', 'at "tru},', 38],
    ['with a comma too many', '{"data":{"items":[{"a":1,}]}}', 'damaged or cut short at "}', 25],
    ['that is empty', '', 'is empty', 0],
    ['followed by another document', '{"data":{"items":[]}}{}', 'jsonLines() reads objects', 21],
  ])('fails for a document %s', async (_, text, message, byteOffset) => {
    const bytes = Buffer.from(text);
    for (let place = 0; place <= bytes.length; place++) {
      const { error } = await until(jsonArray('data.items')(filesOf(cutAt(bytes, [place]))));
      expect(error).toBeInstanceOf(DataError);
      expect(error).toMatchObject({
        message: expect.stringContaining(message),
        position: { origin: 'file 0', byteOffset },
      });
    }
  });

  it('delivers the elements that precede a syntax error in the document', async () => {
    const damaged = Buffer.from('[{"a":1},2,{"b":tru},3]');
    for (let place = 0; place <= damaged.length; place++) {
      const { items } = await until(jsonArray()(blocks(cutAt(damaged, [place]))));
      expect(items).toEqual([{ a: 1 }, 2]);
    }
  });

  it('releases the memory of elements that it has delivered', async () => {
    const used = () => {
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const before = used();
    let count = 0;
    for await (const _ of jsonArray('data.items')(largeDocument()))
      if (++count === 20_000) expect(used() - before).toBeLessThan(3_000_000);
    expect(count).toBe(20_001);
  });

  it('returns the same elements as parsing the whole document, for any chunk sizes', async () => {
    const cutDocument = document.chain(({ bytes, elements }) =>
      cuts(bytes.length).map(places => ({ parts: cutAt(bytes, places), elements })),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(cutDocument, { maxLength: 3 }), async documents => {
        const items = await all(
          jsonArray('results')(filesOf(...documents.map(({ parts }) => parts))),
        );
        expect(items).toEqual(documents.flatMap(({ elements }) => parseExact(`[${elements}]`)));
      }),
    );
  });

  it('reads only the array at its path, and checks the rest of the document', async () => {
    const nested = '{"a":{"rules":[0]},"rules":[1,{"rules":[2]}],"b":{"rules":[3]}}';
    expect(await all(jsonArray('rules')(blocks([Buffer.from(nested)])))).toEqual([
      1,
      { rules: [2] },
    ]);
    for (const rest of ['', ',"b":tru', ',"b":1}}', ',}', ',"rules":[4]}']) {
      const { error } = await until(
        jsonArray('rules')(blocks([Buffer.from(`{"rules":[1]${rest}`)])),
      );
      expect(error).toBeInstanceOf(DataError);
    }
  });

  it('accepts the same depth of nesting outside the array as inside it', async () => {
    const deep = `{"a":${'['.repeat(2_500)}${']'.repeat(2_500)},"rules":[1]}`;
    expect(await all(jsonArray('rules')(blocks([Buffer.from(deep)])))).toEqual([1]);
  });

  it('keeps 64-bit ids exact, and other numbers as numbers', async () => {
    const rules =
      '{"rules":[{"value":"snow","tag":null,"id":734938587381145604,"count":2.5}],"sent":"x"}';
    expect(await all(jsonArray('rules')(blocks([Buffer.from(rules)])))).toEqual([
      { value: 'snow', tag: null, id: '734938587381145604', count: 2.5 },
    ]);
  });

  it('delivers elements before the document has ended', async () => {
    const seen: unknown[] = [];
    async function* live() {
      yield Buffer.from('{"urlCount":2,"urlList":["https://a","https://b",');
      await new Promise(setImmediate);
      expect(seen).toEqual(['https://a', 'https://b']);
      yield Buffer.from('"https://c"]}');
    }
    for await (const url of jsonArray('urlList')(live())) seen.push(url);
    expect(seen).toEqual(['https://a', 'https://b', 'https://c']);
  });

  it.each([
    '{"other":[1]}',
    '{"a":{"results":[1]}}',
    '{"results":{"a":1}}',
    '{"results":"a"}',
    '{"results":[1}',
    '{"results":[1,2',
    '{"results":[1,2]',
    '{"results":[tru]}',
    '{"results":[1]} x',
    '[1]',
    '',
    '<html>',
  ])('fails for the document %s', async text => {
    const bytes = Buffer.from(text);
    for (let place = 0; place <= bytes.length; place++) {
      const { error } = await until(jsonArray('results')(filesOf(cutAt(bytes, [place]))));
      expect(error).toBeInstanceOf(DataError);
      expect(error).toMatchObject({ position: { origin: 'file 0' } });
    }
  });

  it.each([2, 3, 5, 9])(
    'accepts an element that nests to exactly maxDepth %i, and fails for a deeper one',
    async maxDepth => {
      const nested = (depth: number) =>
        Buffer.from(`{"results":[${'['.repeat(depth)}${']'.repeat(depth)}]}`);
      const read = jsonArray('results', { maxDepth });
      expect(await all(read(blocks([nested(maxDepth)])))).toHaveLength(1);
      const { error } = await until(read(blocks([nested(maxDepth + 1)])));
      expect(error).toMatchObject({ message: expect.stringContaining('`maxDepth`') });
    },
  );

  it('limits the size of each element, but not of the document', async () => {
    const limits = { maxBytes: 100, maxDepth: 5 };
    const rule = JSON.stringify({ value: 'x'.repeat(80) });
    const long = Buffer.from(`{"results":[${Array(2000).fill(rule).join(',')}],"a":1}`);
    expect(await all(jsonArray('results', limits)(blocks([long])))).toHaveLength(2000);
    for (const text of [
      `{"results":[${rule},{"value":"${'x'.repeat(95)}"}]}`,
      `{"results":[{"a":[${'1,'.repeat(60)}1]}]}`,
      `{"a":"${'x'.repeat(301)}`,
      `${' '.repeat(301)}{`,
      '{"results":[[[[[[[',
    ])
      for (const parts of [[Buffer.from(text)], cutAt(Buffer.from(text), [1, 20, 40, 60, 80])]) {
        const { error } = await until(jsonArray('results', limits)(blocks(parts)));
        expect(error).toMatchObject({ message: expect.stringMatching(/`max(Bytes|Depth)`/) });
      }
  });
});
