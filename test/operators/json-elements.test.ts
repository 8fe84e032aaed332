import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DataError, OptionError } from '../../src/base/errors.js';
import { jsonElements } from '../../src/operators/json-elements.js';
import { blocks, cutAt, cuts, filesOf, texts, until } from '../json/cut.js';
import { document } from '../json/json-documents.js';

describe('jsonElements', () => {
  it('delivers the elements of every document, file by file, for any chunk sizes', async () => {
    const cutDocument = document.chain(({ bytes, elements }) =>
      cuts(bytes.length).map(places => ({ parts: cutAt(bytes, places), elements })),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(cutDocument, { maxLength: 4 }), async documents => {
        const flow = jsonElements('results')(filesOf(...documents.map(({ parts }) => parts)));
        expect(await texts(flow)).toEqual(documents.flatMap(({ elements }) => elements));
      }),
    );
  });

  it('delivers the first elements before the document has ended', async () => {
    const page = ['{"results":[{"a":1},{"b":2}', ',{"c":3}],"next":"x"}'].map(part =>
      Buffer.from(part),
    );
    const batches = [];
    for await (const { items, cursor } of jsonElements('results')(filesOf(page)).batches())
      batches.push([items.map(String), cursor]);
    expect(batches).toEqual([
      [['{"a":1}', '{"b":2}'], undefined],
      [['{"c":3}'], { file: 1 }],
    ]);
  });

  it.each([
    ['a document without the array', '{"next":"x"}'],
    ['a truncated document', '{"results":[{"a":1}]'],
    ['an empty document', ''],
    ['an error page', '<html>'],
  ])('fails for %s, with the name of its file', async (_, text) => {
    for (const flow of [filesOf([Buffer.from(text)]), blocks([Buffer.from(text)], 'file 0')]) {
      const { error } = await until(jsonElements('results')(flow));
      expect(error).toBeInstanceOf(DataError);
      expect(error).toMatchObject({ position: { origin: 'file 0' } });
    }
  });

  it('delivers the complete elements of a damaged document before it fails', async () => {
    const { items, error } = await until(
      jsonElements('results')(blocks([Buffer.from('{"results":[{"a":1},{"b":[}]}')])),
    );
    expect(items.map(String)).toEqual(['{"a":1}']);
    expect(error).toBeInstanceOf(DataError);
  });

  it.each(['{"a":1,}', '{"a" 1}', '{"a":tru}', '{"a":1 "b":2}', 'tru', '[1,]'])(
    'fails for the element %s, which is not JSON, after it delivers the elements before it',
    async element => {
      const page = Buffer.from(`{"results":[{"a":1},${element},{"b":2}]}`);
      for (let place = 0; place <= page.length; place++) {
        const { items, error } = await until(
          jsonElements('results')(filesOf(cutAt(page, [place]))),
        );
        expect(items.map(String)).toEqual(['{"a":1}']);
        expect(error).toBeInstanceOf(DataError);
        expect(error).toMatchObject({ position: { origin: 'file 0' } });
      }
    },
  );

  it('throws an OptionError for wrong options', () => {
    expect(() => jsonElements('results', { maxBytes: Number.NaN })).toThrow(OptionError);
  });
});
