import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { lineOf } from '../../src/flow/line.js';
import { Activity } from '../../src/post/activity.js';
import { parseComplianceEvent } from '../../src/post/compliance-event.js';
import { jsonObject } from '../post/arbitrary-json.js';
import { printJson, style } from '../post/print-json.js';
import { unchecked } from '../unchecked.js';

const text = (item: unknown, toLine?: (item: unknown) => string | Uint8Array) =>
  Buffer.from(lineOf(item, toLine)).toString();

describe('lineOf', () => {
  it('prints a JSON document in any style as one line of equivalent JSON', () => {
    fc.assert(
      fc.property(jsonObject, style, (value, look) => {
        const json = printJson(value, look);
        const line = text(new Activity(Buffer.from(json)));
        expect(line).not.toContain('\n');
        expect(Buffer.byteLength(line)).toBe(Buffer.byteLength(json));
        expect(JSON.parse(line)).toEqual(JSON.parse(json));
      }),
    );
  });

  it('returns the bytes of a one-line document without a copy', () => {
    const raw = Buffer.from('{"id":9007199254740993}');
    expect(lineOf(new Activity(raw), undefined)).toBe(raw);
    expect(lineOf({ tag: 'snow', activity: new Activity(raw) }, undefined)).toBe(raw);
    expect(lineOf(raw, undefined)).toBe(raw);
  });

  it.each<[string, unknown, string]>([
    [
      'a block of a file',
      Buffer.from('{"id":1}\n{"id":2}\n{"i'),
      'put jsonLines() before the sink',
    ],
    ['an array of posts', [new Activity(Buffer.from('{"id":1}'))], 'Put it before chunk()'],
    ['a promise', Promise.resolve(1), 'Put mapAsync()'],
  ])('refuses %s with advice', (_, item, advice) => {
    expect(() => lineOf(item, undefined)).toThrow(advice);
    expect(lineOf(item, () => 'x').toString()).toBe('x');
  });

  it('prints an indented record in one line', () => {
    expect(text(Buffer.from('{\n "id": 1\n}'))).toBe('{  "id": 1 }');
  });

  it('prints an event in one line', () => {
    const event = parseComplianceEvent(Buffer.from('{"delete":{"status":\n{"id_str":"7"}}}'));
    expect(text(event)).toBe('{"delete":{"status": {"id_str":"7"}}}');
  });

  it.each([
    [7, '7'],
    ['a\nb', '"a\\nb"'],
    [null, 'null'],
    [{ a: [1] }, '{"a":[1]}'],
    [new Date(0), '"1970-01-01T00:00:00.000Z"'],
  ])('prints %j as its JSON', (item, line) => {
    expect(text(item)).toBe(line);
  });

  it.each([undefined, Number.NaN, Number.POSITIVE_INFINITY, 7n, () => {}, Symbol('a')])(
    'refuses %s, which JSON cannot represent, and names the origin of the value',
    item => {
      const error = (() => {
        try {
          return lineOf(item, undefined, 'posts.jsonl');
        } catch (thrown) {
          return thrown;
        }
      })();
      expect(error).toBeInstanceOf(DataError);
      expect(error).toMatchObject({ position: { origin: 'posts.jsonl' } });
      expect((error as Error).message).toContain('as a line: it has no JSON');
    },
  );

  it('returns the result of the `line` function of the caller', () => {
    expect(text(7, item => `<${item}>`)).toBe('<7>');
    expect(text(7, () => Buffer.from('bytes'))).toBe('bytes');
    expect(() =>
      lineOf(
        7,
        unchecked(() => 7),
      ),
    ).toThrow('The option `line` must return text or bytes, but returned a number');
  });
});
