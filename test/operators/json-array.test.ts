import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { parseExact } from '../../src/json/exact-json.js';
import { jsonArray } from '../../src/operators/json-array.js';
import { all, blocks, cutAt, cuts, filesOf, until } from '../json/cut.js';
import { document } from '../json/json-documents.js';

describe('jsonArray', () => {
  it('gives the same as parsing the whole document, for any chunks', async () => {
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

  it('takes the array of that name at the top level, and reads the rest of the document', async () => {
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

  it('accepts nesting outside of the array up to the same depth', async () => {
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

  it('gives elements before the document has ended', async () => {
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
  ])('refuses %s', async text => {
    const bytes = Buffer.from(text);
    for (let place = 0; place <= bytes.length; place++) {
      const { error } = await until(jsonArray('results')(filesOf(cutAt(bytes, [place]))));
      expect(error).toBeInstanceOf(DataError);
      expect(error).toMatchObject({ position: { origin: 'file 0' } });
    }
  });

  it.each([2, 3, 5, 9])(
    'accepts an element of exactly maxDepth %i, and refuses deeper ones',
    async maxDepth => {
      const nested = (depth: number) =>
        Buffer.from(`{"results":[${'['.repeat(depth)}${']'.repeat(depth)}]}`);
      const read = jsonArray('results', { maxDepth });
      expect(await all(read(blocks([nested(maxDepth)])))).toHaveLength(1);
      const { error } = await until(read(blocks([nested(maxDepth + 1)])));
      expect(error).toMatchObject({ message: expect.stringContaining('`maxDepth`') });
    },
  );

  it('limits the size of an element, not of the document', async () => {
    const limits = { maxBytes: 100, maxDepth: 5 };
    const rule = JSON.stringify({ value: 'x'.repeat(80) });
    const long = Buffer.from(`{"results":[${Array(2000).fill(rule).join(',')}],"a":1}`);
    expect(await all(jsonArray('results', limits)(blocks([long])))).toHaveLength(2000);
    for (const text of [
      `{"results":[${rule},{"value":"${'x'.repeat(95)}"}]}`,
      `{"results":[{"a":[${'1,'.repeat(60)}1]}]}`,
      `{"a":"${'x'.repeat(101)}`,
      `${' '.repeat(101)}{`,
      '{"results":[[[[[[[',
    ])
      for (const parts of [[Buffer.from(text)], cutAt(Buffer.from(text), [1, 20, 40, 60, 80])]) {
        const { error } = await until(jsonArray('results', limits)(blocks(parts)));
        expect(error).toMatchObject({ message: expect.stringMatching(/`max(Bytes|Depth)`/) });
      }
  });
});
