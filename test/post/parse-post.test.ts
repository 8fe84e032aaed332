import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { parseExact } from '../../src/json/exact-json.js';
import { parsePost } from '../../src/post/parse-post.js';
import { draws } from '../suite.js';
import { jsonObject, jsonValue } from './arbitrary-json.js';
import { arbitraryPost } from './arbitrary-post.js';
import { printJson, style } from './print-json.js';

describe('parsePost', () => {
  it('gives the same as parsing with every id quoted, for posts of both formats', () => {
    fc.assert(
      fc.property(arbitraryPost, ({ bytes, json }) => {
        expect(parsePost(bytes)).toEqual(parseExact(json));
      }),
      { numRuns: draws(50, 600) },
    );
  });

  it('keeps long numbers in unknown members', () => {
    fc.assert(
      fc.property(arbitraryPost, jsonValue, style, fc.nat(), ({ json }, extra, look, where) => {
        const member = `"extra":${printJson(extra, look)}`;
        // After any comma between members of the document.
        const commas = [...json.matchAll(/(?<=[\w\]}"] *),(?=")/g)].map(match => match.index);
        const at = commas[where % commas.length] ?? json.indexOf(',');
        const text = `${json.slice(0, at)},${member}${json.slice(at)}`;
        fc.pre(isJson(text));
        const expected = parseExact(text);
        expect(withoutShortIds(parsePost(Buffer.from(text)))).toEqual(withoutShortIds(expected));
      }),
      { numRuns: draws(50, 600) },
    );
  });

  it('gives the same whether or not it can count the long numbers in the bytes', () => {
    fc.assert(
      fc.property(jsonObject, style, (members, look) => {
        const json = printJson({ ...members, last: [] }, look);
        // A long number in an array: the bytes around it do not show whether it is within a string.
        const doubtful = printJson({ ...members, last: [12345678901234567n] }, look);
        const told = parsePost(Buffer.from(json));
        const untold = parsePost(Buffer.from(doubtful));
        expect({ ...told, last: 0 }).toEqual({ ...untold, last: 0 });
      }),
      { numRuns: draws(350, 4_000) },
    );
  });

  it('takes an id from its `_str` twin, which is right if a tool has rounded the number', () => {
    const post = '{"id":505874924095815700,"id_str":"505874924095815681","user":{"id":7}}';
    expect(parsePost(Buffer.from(post))).toEqual({
      id: '505874924095815681',
      id_str: '505874924095815681',
      user: { id: '7' },
    });
    const spaced = post.replace('{', '{ "n": 12345678901234567, ');
    expect(parsePost(Buffer.from(spaced))).toMatchObject({ id: '505874924095815681' });
  });

  it('keeps an id that has no `_str` twin', () => {
    const post = '{"id":505874924095815681,"user":{"id":815279070241955840}}';
    expect(parsePost(Buffer.from(post))).toEqual({
      id: '505874924095815681',
      user: { id: '815279070241955840' },
    });
  });

  it('throws a DataError if the input is not a JSON object', () => {
    for (const document of ['', '[]', '12', 'null', '"{}"', '{"id":1', '{"id":1}}'])
      expect(() => parsePost(Buffer.from(document))).toThrow(DataError);
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** In unknown members a short id stays a number; as text, both are equal. */
function withoutShortIds(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_key, member) =>
    typeof member === 'number' && Number.isInteger(member) ? String(member) : member,
  );
}
