import { describe, expect, it } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { JsonMembers } from '../../src/http/read-json.js';

const ORIGIN = 'https://usage.test/x';
const of = (value: unknown) => new JsonMembers(value, 'a usage report', ORIGIN);

function outcome(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    expect(error).toBeInstanceOf(DataError);
    expect((error as DataError).position.origin).toBe(ORIGIN);
    return (error as Error).message;
  }
}

it.each([null, [], 'text', 7, undefined])(
  'a JSON response that should be an object causes an error if it is %j',
  value => {
    expect(outcome(() => of(value))).toContain(
      'The response is not a usage report: it is not a JSON object',
    );
  },
);

describe('a member of a JSON response', () => {
  it.each([
    ['text', 'a', 'a'],
    ['text', '', ''],
    ['text', 7, '7'],
    ['number', 7, 7],
    ['number', '7.5', 7.5],
    ['number', ' 7 ', 7],
    ['flag', true, true],
    ['flag', 'true', false],
    ['has', 0, true],
    ['texts', ['a', ''], ['a', '']],
  ] as const)('read with the method %s from the value %j is %j', (name, value, expected) => {
    expect(of({ a: value })[name]('a')).toEqual(expected);
  });

  it.each([
    ['text', true, 'its `a` should be a string, and is true'],
    ['needText', undefined, 'its `a` should be a string, and is missing'],
    ['needText', null, 'its `a` should be a string, and is missing'],
    ['number', '', 'its `a` should be a number, and is ""'],
    ['number', 'seven', 'its `a` should be a number, and is "seven"'],
    ['number', 'Infinity', 'its `a` should be a number'],
    ['needNumber', undefined, 'its `a` should be a number, and is missing'],
    ['texts', 'a', 'its `a` should be a list'],
    ['texts', ['a', 1], 'its `a` should be a list of strings'],
    ['objects', {}, 'its `a` should be a list'],
    ['objects', [{}, 1], 'is not a usage report (`a[1]` in it): it is not a JSON object'],
    ['object', 1, 'is not a usage report (`a` in it): it is not a JSON object'],
  ] as const)('read with the method %s causes an error if it is %j', (name, value, message) => {
    expect(outcome(() => of({ a: value })[name]('a'))).toContain(message);
  });

  it.each([
    ['text', undefined],
    ['number', undefined],
    ['object', undefined],
    ['flag', false],
    ['has', false],
    ['objects', []],
    ['texts', []],
  ] as const)('read with the method %s becomes %j if it is absent or null', (name, expected) => {
    expect(of({})[name]('a')).toEqual(expected);
    expect(of({ a: null })[name]('a')).toEqual(expected);
  });

  it('counts as missing if only Object.prototype has it', () => {
    expect(of({}).has('constructor')).toBe(false);
    expect(outcome(() => of({}).needText('toString'))).toContain('is missing');
  });

  it('is shown in an error without the query of a URL that it contains', () => {
    const message = outcome(() => of({ a: ['https://files.test/x?signature=secret'] }).text('a'));
    expect(message).toContain('https://files.test/x?...');
    expect(message).not.toContain('secret');
  });
});
