import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ValueEnd } from '../../src/json/value-end.js';
import { jsonValue } from '../post/arbitrary-json.js';
import { printJson, style } from '../post/print-json.js';
import { cutAt, cuts } from './cut.js';

const fail = (message: string, at: number) => new Error(`${message} at ${at}`);

/** Where the value at the start of these blocks ends, in bytes; undefined where it does not. */
function endIn(blocks: readonly Uint8Array[], maxDepth = 100): number | undefined {
  const value = new ValueEnd(maxDepth, fail);
  let read = 0;
  for (const block of blocks) {
    if (block.length === 0) continue;
    const end = value.find(Buffer.from(block), 0);
    read += end;
    if (!value.open) return read;
    expect(end).toBe(block.length);
  }
  return undefined;
}

/** An object or array: only what follows ends a number. */
const value = fc
  .tuple(fc.oneof(fc.array(jsonValue), fc.dictionary(fc.string(), jsonValue)), style)
  .map(([json, look]) => Buffer.from(printJson(json, look).trim()));

describe('the end of a value', () => {
  it('is found behind any array or object, wherever blocks are cut', () => {
    fc.assert(
      fc.property(
        value.chain(bytes => fc.tuple(fc.constant(bytes), cuts(bytes.length))),
        fc.constantFrom('', ',', '}', ' ]', '"'),
        ([bytes, places], rest) => {
          expect(endIn(cutAt(Buffer.concat([bytes, Buffer.from(rest)]), places))).toBe(
            bytes.length,
          );
        },
      ),
    );
  });

  it('is not found before its last byte', () => {
    fc.assert(
      fc.property(value, fc.nat(), (bytes, place) => {
        const length = place % bytes.length;
        expect(endIn([bytes.subarray(0, length)])).toBeUndefined();
      }),
    );
  });

  it.each(['7,', '-1.5e+3 ', 'true]', 'null}'])('of %j is before what follows', text => {
    for (let at = 0; at < text.length - 1; at++)
      expect(endIn(cutAt(Buffer.from(text), [at]).filter(part => part.length > 0))).toBe(
        text.length - 1,
      );
  });

  it.each(['"a"', '"\\""', '"\\\\"', '"{"', '""'])('of the text %s is its quote', text => {
    for (let at = 0; at < text.length; at++)
      expect(endIn(cutAt(Buffer.from(`${text},1`), [at]))).toBe(text.length);
  });

  it.each([
    ['[}', 'A bracket has no partner at 1'],
    ['{"a":[1}', 'A bracket has no partner at 7'],
    ['["a" "b"]', 'Expected a comma, a colon or a bracket after a string at 5'],
    ['{"a" 1}', 'Expected a comma, a colon or a bracket after a string at 5'],
  ])('of %s is refused', (text, message) => {
    expect(() => endIn([Buffer.from(text)])).toThrow(message);
  });

  it('is refused where the value nests deeper than `maxDepth`', () => {
    expect(endIn([Buffer.from('[[[]]]')], 3)).toBe(6);
    expect(() => endIn([Buffer.from('[[[]]]')], 2)).toThrow('nested deeper than 2');
  });
});
