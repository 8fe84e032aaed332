import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { parseExact } from '../../src/json/exact-ids.js';
import { countLongIds, parsePost } from '../../src/post/parse-post.js';
import { bySuite } from '../suite.js';
import { jsonObject, jsonValue } from './arbitrary-json.js';
import { arbitraryPost, writePost } from './arbitrary-post.js';
import { type AuthorModel, postModel } from './post-model.js';
import { printJson, style, type Value } from './print-json.js';

describe('parsePost', () => {
  it('returns the same as JSON.parse with every id quoted, in both formats', () => {
    fc.assert(
      fc.property(arbitraryPost, ({ bytes, json }) => {
        expect(parsePost(bytes)).toEqual(parseExact(json));
      }),
      { numRuns: bySuite(13, 600) },
    );
  });

  it('keeps every digit of long numbers in unknown members', () => {
    fc.assert(
      fc.property(arbitraryPost, jsonValue, style, fc.nat(), ({ json }, extra, look, where) => {
        const member = `"extra":${printJson(extra, look)}`;
        // Inserts the member after one of the commas between members.
        const commas = [...json.matchAll(/(?<=[\w\]}"] *),(?=")/g)].map(match => match.index);
        const at = commas[where % commas.length] ?? json.indexOf(',');
        const text = `${json.slice(0, at)},${member}${json.slice(at)}`;
        fc.pre(isJson(text));
        const expected = parseExact(text);
        expect(withoutShortIds(parsePost(Buffer.from(text)))).toEqual(withoutShortIds(expected));
      }),
      { numRuns: bySuite(13, 600) },
    );
  });

  it('returns the same whether or not the long numbers can be counted in the bytes', () => {
    fc.assert(
      fc.property(jsonObject, style, (members, look) => {
        const json = printJson({ ...members, last: [] }, look);
        // The bytes around a long number in an array do not show whether the number is inside a
        // string. With this number, `parsePost` cannot count the long numbers.
        const doubtful = printJson({ ...members, last: [12345678901234567n] }, look);
        const told = parsePost(Buffer.from(json));
        const untold = parsePost(Buffer.from(doubtful));
        expect({ ...told, last: 0 }).toEqual({ ...untold, last: 0 });
      }),
      { numRuns: bySuite(88, 4_000) },
    );
  });

  it('reads an id from the member with the suffix `_str` if the number is rounded', () => {
    const post = '{"id":505874924095815700,"id_str":"505874924095815681","user":{"id":7}}';
    expect(parsePost(Buffer.from(post))).toEqual({
      id: '505874924095815681',
      id_str: '505874924095815681',
      user: { id: '7' },
    });
    const spaced = post.replace('{', '{ "n": 12345678901234567, ');
    expect(parsePost(Buffer.from(spaced))).toMatchObject({ id: '505874924095815681' });
  });

  it('keeps an id without a member with the suffix `_str`', () => {
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

/**
 * Converts integers to strings. The short ids of unknown members stay numbers, so the values are
 * compared as strings.
 */
function withoutShortIds(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_key, member) =>
    typeof member === 'number' && Number.isInteger(member) ? String(member) : member,
  );
}

function longNumbers(value: Value, inArray = false): { keyed: number; listed: number } {
  if (typeof value === 'bigint') {
    const long = String(value).replace('-', '').length >= 16 ? 1 : 0;
    return inArray ? { keyed: 0, listed: long } : { keyed: long, listed: 0 };
  }
  if (typeof value !== 'object' || value === null) return { keyed: 0, listed: 0 };
  const isList = Array.isArray(value);
  return Object.values(value)
    .map(item => longNumbers(item, isList))
    .reduce((a, b) => ({ keyed: a.keyed + b.keyed, listed: a.listed + b.listed }), {
      keyed: 0,
      listed: 0,
    });
}

describe('countLongIds', () => {
  it('counts the long numbers of any document, or returns -1', () => {
    fc.assert(
      fc.property(jsonObject, style, (members, look) => {
        const { keyed, listed } = longNumbers(members);
        const count = countLongIds(Buffer.from(printJson(members, look)));
        if (count !== -1) expect({ count, listed }).toEqual({ count: keyed, listed: 0 });
      }),
      { numRuns: bySuite(163, 8_000) },
    );
  });

  it('never returns -1 for a post as the service prints it', () => {
    const plainly = (author: AuthorModel) => ({
      ...author,
      name: 'Ann',
      bio: 'A. B.',
      location: '',
    });
    const plain = postModel.map(model => ({
      ...model,
      text: 'plain, 12 to 3',
      longText: undefined,
      quoted: undefined,
      shared: undefined,
      links: [],
      rules: [],
      author: plainly(model.author),
      mentions: model.mentions.map(plainly),
    }));
    fc.assert(
      fc.property(plain, fc.constantFrom('original', 'activity_streams'), (model, format) => {
        expect(countLongIds(writePost(model, format).bytes)).not.toBe(-1);
      }),
    );
  });

  it('finds a number of exactly 16 digits at any offset', () => {
    for (let offset = 0; offset < 40; offset++) {
      const document = `{"${'k'.repeat(offset)}x":1234567890123456}`;
      expect(countLongIds(Buffer.from(document))).toBe(1);
      expect(countLongIds(Buffer.from(document.replace('6}', '}')))).toBe(0);
    }
  });
});
