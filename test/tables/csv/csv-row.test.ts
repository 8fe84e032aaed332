import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { csvField, csvRow } from '../../../src/tables/csv/csv-row.js';

describe('csvRow', () => {
  it('prints any time in the same way as toISOString', () => {
    const time = fc.date({ noInvalidDate: true });
    fc.assert(
      fc.property(fc.array(time, { minLength: 1 }), times => {
        for (const one of times) expect(csvRow([one], false)).toBe(`${one.toISOString()}\r`);
      }),
    );
  });

  it('prints any values so that csv-parse returns the same values', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '"', ',', '\r', '\n', ' ', '=', 'é') });
    const value = fc.oneof(text, fc.constant(null), fc.bigInt(), fc.boolean(), fc.double());
    fc.assert(
      fc.property(fc.array(value, { minLength: 2, maxLength: 6 }), values => {
        const records = parse(`${csvRow(values, false)}\n`, {
          // Readers accept each of these as the end of a record.
          record_delimiter: ['\r\n', '\n', '\r'],
          cast: (field, { quoting }) => (field === '' && !quoting ? null : field),
        });
        expect(records).toEqual([
          values.map(one => (one === null ? null : Object.is(one, -0) ? '-0' : String(one))),
        ]);
      }),
    );
  });
});

describe('a CSV row', () => {
  it.each(['a\nb', 'a\rb', '\n', '\r', 'a\r\nb'])(
    'quotes a field that contains a line end: %j',
    text => {
      expect(csvRow([text, 1], false)).toBe(`"${text}",1\r`);
    },
  );

  it('is never the line `\\.`, which ends COPY before PostgreSQL 18', () => {
    expect(csvRow(['\\.'], false)).toBe('"\\."\r');
    expect(csvRow(['\\.', 'a\\.'], false)).toBe('"\\.",a\\.\r');
  });

  it('is never a blank line, which readers would skip', () => {
    expect(csvRow([null], false)).toBe('""\r');
    expect(csvRow([null, null], false)).toBe(',\r');
  });

  it('contains lists as JSON that any JSON parser accepts', () => {
    expect(csvField(['a\ud800b', '\udc00', '😀'], false)).toBe(
      '"[""a\ufffdb"",""\ufffd"",""😀""]"',
    );
    expect(csvField([-0, 0.5, -1e-7], false)).toBe('"[-0,0.5,-1e-7]"');
    expect(csvField([9007199254740993n, -1n], false)).toBe('"[9007199254740993,-1]"');
    expect(csvField([], false)).toBe('[]');
  });
});

describe('a CSV field that a spreadsheet would treat as a formula', () => {
  it.each(['=1', '+1', '-1', '@a', '\ta', '\ra', '\na', '＝1', '＋1', '－1', '＠a'])(
    'starts with an apostrophe if formulas are escaped: %j',
    text => {
      expect(parse(csvField(text, true), { record_delimiter: '\0' })).toEqual([[`'${text}`]]);
      expect(parse(csvField(text, false), { record_delimiter: '\0' })).toEqual([[text]]);
    },
  );

  it.each(['a=1', '1-1', '', ' =1'])('is not assumed for %j, which gets no apostrophe', text => {
    expect(csvField(text, true)).toBe(csvField(text, false));
  });

  it('is not assumed for a negative number, which gets no apostrophe', () => {
    expect(csvField(-1, true)).toBe('-1');
    expect(csvField(-1n, true)).toBe('-1');
  });
});
