import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { parseExact } from '../../src/json/exact-ids.js';
import { jsonLike, jsonObject, jsonValue } from '../post/arbitrary-json.js';
import { printJson, style, type Value } from '../post/print-json.js';
import { bySuite } from '../suite.js';

/** Converts ids and long integers to strings of digits, and all other bigints to numbers. */
function exactly(value: Value, key?: string): unknown {
  if (typeof value === 'bigint') {
    const digits = String(value);
    const isId = key !== undefined && /^(?:.*_)?id$/s.test(key);
    return isId || digits.replace('-', '').length >= 16 ? digits : Number(value);
  }
  if (Array.isArray(value)) return value.map(item => exactly(item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, exactly(member, name)]),
  );
}

describe('parseExact', () => {
  it('keeps every digit of long numbers, and otherwise returns the same as JSON.parse', () => {
    fc.assert(
      fc.property(fc.oneof(jsonObject, jsonValue), style, (value, look) => {
        const text = printJson(value, look);
        expect(parseExact(text)).toEqual(exactly(value));
        expect(parseExact(Buffer.from(text))).toEqual(exactly(value));
      }),
      { numRuns: bySuite(38, 2_000) },
    );
  });

  it.each([
    '{18446744073709551616:""}',
    '{"a":1,18446744073709551616 :2}',
    '[18446744073709551616:1]',
  ])('refuses a long number as an object key: %s', text => {
    expect(() => parseExact(text)).toThrow(DataError);
  });

  it('throws a DataError if and only if JSON.parse throws', () => {
    fc.assert(
      fc.property(jsonLike, text => {
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        if (isJson) expect(() => parseExact(text)).not.toThrow();
        else expect(() => parseExact(text)).toThrow(DataError);
      }),
      { numRuns: bySuite(163, 8_000) },
    );
  });

  it('returns numbers with fractions and exponents as numbers, even in ids', () => {
    const text = '{"id":1.5,"a_id":1e3,"n":12345678901234567.5,"m":[12345678901234567e1]}';
    expect(parseExact(text)).toEqual(JSON.parse(text));
  });

  it('names the mistake and shows the start of the document in its error', () => {
    expect(() => parseExact('{"id":12345678901234567,}')).toThrow(
      /^Not JSON: .* It starts with "\{\\"id\\":12345678901234567,\}"$/,
    );
    expect(() => parseExact('')).toThrow(DataError);
  });

  it('parses a string of ten million escapes', () => {
    const text = `"${'\\n'.repeat(10_000_000)}"`;
    expect(parseExact(text)).toHaveLength(10_000_000);
  });

  it('parses a Uint8Array that is a view into a larger buffer', () => {
    const bytes = new TextEncoder().encode('xx{"id":12}yy');
    expect(parseExact(bytes.subarray(2, -2))).toEqual({ id: '12' });
  });
});
