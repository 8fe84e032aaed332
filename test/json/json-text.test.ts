import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonText } from '../../src/json/json-text.js';
import { jsonLike, jsonObject, jsonValue } from '../post/arbitrary-json.js';
import { printJson, style } from '../post/print-json.js';
import { bySuite } from '../suite.js';

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return 'not JSON';
  }
}

function expectSame(document: Uint8Array): void {
  expect(parsed(jsonText(document))).toEqual(parsed(Buffer.from(document).toString()));
}

const LETTER = fc.constantFrom(
  'a',
  '0',
  '"',
  '\\',
  '\\u00',
  '\n',
  '\u007f',
  '\u0080',
  '߿',
  'ࠀ',
  'é',
);
const WIDE = fc.constantFrom('\ufeff', '\uffff', '\u2028', '大', '😀', '\u{10ffff}', '\ud83d');
const UNIT = fc.oneof({ weight: 3, arbitrary: LETTER }, WIDE);
/**
 * Generates strings with zero to many non-ASCII characters. These may be at any position in a word
 * of four bytes.
 */
const TEXT = fc.array(fc.tuple(fc.nat(50), UNIT), { maxLength: 60 }).map(parts => {
  return parts.map(([spaces, unit]) => ' '.repeat(spaces) + unit).join('');
});

describe('the string that jsonText makes of a JSON document', () => {
  it('is parsed like the document itself, for values of any shape', () => {
    fc.assert(
      fc.property(fc.oneof(jsonObject, jsonValue), style, (value, look) => {
        expectSame(Buffer.from(printJson(value, look)));
      }),
      { numRuns: bySuite(38, 2_000) },
    );
  });

  it('is parsed like the document itself, with any characters in keys and values', () => {
    fc.assert(
      fc.property(TEXT, TEXT, (key, value) => {
        expectSame(Buffer.from(JSON.stringify({ [key]: value })));
        expectSame(Buffer.from(`{"${key}":"${value}"}`));
      }),
      { numRuns: bySuite(88, 4_000) },
    );
  });

  it('is invalid JSON exactly if the document is invalid, with characters outside strings and in escapes', () => {
    for (const text of ['é', '{é:1}', '"a"é', '\ufeff{}', '"\\é"', '"\\\\é"', '"\\u00é0"', '"é'])
      expectSame(Buffer.from(text));
  });

  it('is invalid JSON exactly if the document is invalid, with bytes that are not UTF-8', () => {
    for (const bytes of [
      [0x22, 0xe9, 0x22],
      [0x22, 0xc3, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
    ])
      expectSame(Uint8Array.from(bytes));
  });

  it('is invalid JSON exactly if the document is invalid, for any bytes', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          jsonLike.map(text => Buffer.from(text)),
          fc.uint8Array(),
        ),
        expectSame,
      ),
      { numRuns: bySuite(163, 8_000) },
    );
  });

  it('is parsed like the document itself, at every length', () => {
    for (const length of [0, 1, 2, 3, 4, 15, 16, 17, 32_765, 32_766, 32_767, 32_768, 100_000])
      for (const letter of ['', 'é', '大', '😀', '😀'.repeat(32), '😀'.repeat(33)]) {
        expectSame(Buffer.from(`"${'x'.repeat(length)}${letter}"`));
        expectSame(Buffer.from(`"${letter}${'x'.repeat(length)}"`));
      }
  });

  it('contains no part of a longer document that was converted before', () => {
    for (const text of ['é', 'aé', 'abé', 'abcé', 'abc']) {
      jsonText(Buffer.from('é'.repeat(30)));
      expect(jsonText(Buffer.from(text))).toBe(text.replace('é', '\\u00e9'));
    }
  });
});
