import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { own, read } from './own-column.js';

describe('convertValue', () => {
  it.each<[string, unknown, unknown]>([
    ['string', 'snow 🍕\0', 'snow 🍕\0'],
    ['string', '', ''],
    ['int32', -(2 ** 31), -(2 ** 31)],
    ['int64', '9223372036854775807', 9223372036854775807n],
    ['int64', '-9223372036854775808', -9223372036854775808n],
    ['int64', 12, 12n],
    ['double', 0.1, 0.1],
    ['boolean', false, false],
    ['timestamp', new Date(5), new Date(5)],
    ['list<string>', ['a', ''], ['a', '']],
    ['list<int64>', ['1', 2], [1n, 2n]],
    ['list<boolean>', [], []],
    ['string', null, null],
    ['list<string>', undefined, null],
  ])('accepts for the type %s the value %j', (type, value, held) => {
    expect(read(own(type, value))).toEqual(held);
  });

  it.each<[string, unknown, string]>([
    ['string', 7, 'expected a string, got 7'],
    ['int32', 1.5, 'expected a whole number of 32 bits, got 1.5'],
    ['int32', 2 ** 31, 'got 2147483648'],
    ['int32', '7', 'got "7"'],
    ['int64', 2 ** 53, 'got 9007199254740992'],
    [
      'int64',
      '9223372036854775808',
      'a whole number of 64 bits: a bigint, digits or a safe integer',
    ],
    ['int64', '1e3', 'got "1e3"'],
    ['double', Number.NaN, 'expected a finite number, got NaN'],
    ['boolean', 'true', 'expected true or false, got "true"'],
    ['timestamp', new Date('x'), 'expected a valid Date, got an invalid Date'],
    ['timestamp', 5, 'got 5'],
    ['list<string>', 'a', 'expected a list, each element a string, got "a"'],
    ['list<string>', ['a', null], 'expected a list, each element a string'],
  ])(
    'throws, with the post and the column, for the type %s and the value %j, or returns null if invalid values become null',
    (type, value, message) => {
      const column = own(type, value);
      expect(() => read(column)).toThrow(DataError);
      expect(() => read(column)).toThrow('Column "mine" of post 7: ');
      expect(() => read(column)).toThrow(message);
      expect(read(column, 'null')).toBe(null);
    },
  );

  it('keeps 64-bit integers exact, as bigint and as a string of digits', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), value => {
        expect(read(own('int64', value))).toBe(value);
        expect(read(own('int64', String(value)))).toBe(value);
      }),
    );
  });
});
