import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isOneObject, scanObject } from '../../src/json/check-object.js';
import { ObjectLines } from '../../src/json/object-lines.js';
import { jsonValue } from '../post/arbitrary-json.js';
import { printJson, style } from '../post/print-json.js';
import { bySuite } from '../suite.js';

const NO_LIMIT = { maxBytes: Number.POSITIVE_INFINITY, maxDepth: Number.POSITIVE_INFINITY };
const RUNS = { numRuns: bySuite(750, 100_000) };

function isParsedAsObject(json: Buffer): boolean {
  const text = json.toString();
  try {
    JSON.parse(text);
    return text.startsWith('{') && text.endsWith('}');
  } catch {
    return false;
  }
}

function expectSame(json: Buffer): void {
  const expected = isParsedAsObject(json);
  expect([isOneObject(json, 3_000), json.toString()]).toEqual([expected, json.toString()]);
  expect(scanObject(json, 0, 3_000).end === json.length).toBe(expected);
  const lines = new ObjectLines('\n', NO_LIMIT);
  const file = Buffer.concat([json, Buffer.from('\n')]);
  const isFound = lines.find(file, 0, file.length) === 1 && lines.next === file.length;
  // A scan may skip a valid record, which `scanObject` then reads.
  if (!expected) expect(isFound).toBe(false);
}

const object = fc
  .tuple(fc.dictionary(fc.string(), jsonValue), style)
  .map(([json, look]) => printJson(json, look).trim());

const token = fc.constantFrom(
  ...['{', '}', '[', ']', ',', ':', '"', '\\', ' ', '\t', '\n', '0', '1', '-', '.', 'e', 'E', '+'],
  ...[
    'true',
    'false',
    'null',
    'nul',
    '\\u00e9',
    '\\u00',
    '\\/',
    '\\x',
    '{}',
    '[]',
    '"a":1',
    'é',
    '\u0001',
    '_',
    'y',
    '\u007f',
  ],
);

const mutated = object.chain(json =>
  fc
    .array(fc.tuple(fc.nat(json.length), fc.nat(3), fc.option(token, { nil: '' })), {
      minLength: 1,
      maxLength: 3,
    })
    .map(edits =>
      edits.reduce(
        (text, [at, count, put]) => text.slice(0, at) + put + text.slice(at + count),
        json,
      ),
    ),
);

describe('ObjectLines, which scans lines for JSON objects,', () => {
  it('finds no record in two objects with only LF between them if records end in CRLF', () => {
    const lines = new ObjectLines('\r\n', NO_LIMIT);
    const apart = Buffer.from('{"a":1}\r\n{"b":2}\r\n');
    expect(lines.find(apart, 0, apart.length)).toBe(2);
    const glued = Buffer.from('{"a":1}\n{"b":2}\r\n');
    expect(lines.find(glued, 0, glued.length)).toBe(0);
  });

  it('accepts every object that JSON.parse accepts', () => {
    fc.assert(
      fc.property(object, json => {
        expect(isParsedAsObject(Buffer.from(json))).toBe(true);
        expectSame(Buffer.from(json));
      }),
      RUNS,
    );
  });

  it('accepts a damaged object exactly if JSON.parse does', () => {
    fc.assert(
      fc.property(mutated, json => expectSame(Buffer.from(json))),
      RUNS,
    );
  });

  it('accepts joined parts of two objects exactly if JSON.parse does', () => {
    fc.assert(
      fc.property(object, object, fc.nat(), fc.nat(), (one, other, cut, from) => {
        const joined =
          one.slice(0, cut % (one.length + 1)) + other.slice(from % (other.length + 1));
        expectSame(Buffer.from(joined));
        expectSame(
          Buffer.from(one.slice(0, cut % one.length) + other + one.slice(cut % one.length)),
        );
      }),
      RUNS,
    );
  });

  it('accepts any bytes exactly if JSON.parse does', () => {
    const bytes = fc.array(
      fc.oneof(
        token.map(text => Buffer.from(text)),
        fc.nat(255).map(byte => Buffer.of(byte)),
      ),
    );
    fc.assert(
      fc.property(bytes, parts =>
        expectSame(Buffer.concat([Buffer.from('{'), ...parts, Buffer.from('}')])),
      ),
      RUNS,
    );
  });

  it.each([
    ...[
      '{"a":"\\\\\\\\\\""}',
      '{"a":"\\ud83d\\ude00\\n"}',
      '{"a":"\\u12G4"}',
      '{"a":"\\"}',
      '{"a":"\\\\\\"}',
    ],
    ...[
      '{"a":[{"b":[]},{}],"c":{"d":[1,2]}}',
      '{"a":[1 2]}',
      '{"a":[1,{"b":2},{"c"}]}',
      '{"a":{"b":1},{"c":2}}',
    ],
    ...[
      '{"a":-0.5e+3,"b":10E2}',
      '{"a":-}',
      '{"a":1.}',
      '{"a":.5}',
      '{"a":1e}',
      '{"a":00}',
      '{"a":1_0}',
      '{"a":nulll}',
    ],
    ...[
      '{"a":["b":1]}',
      '{"a","b"}',
      '{"a":"b":"c"}',
      '{1:2}',
      '{"a":1}}',
      '{{"a":1}',
      '{"a":]',
      '{"a":,"b":1}',
      '{,}',
      '{"a":[,]}',
    ],
    ...[
      '{ "a" : [ ] , "b" : { } }',
      '{"a":"\t"}',
      '{"a":\t1}',
      '{"a":"é"}',
      '{"a":é}',
      '{"a":{}"b":1}',
      '{"a":"b""c":1}',
    ],
  ])('accepts %j exactly if JSON.parse does, wherever it is in a block', json => {
    for (let pad = 0; pad < 140; pad++) {
      expectSame(Buffer.from(`{"${'p'.repeat(pad)}":0,${json.slice(1)}`));
      expectSame(Buffer.from(`{"p":"${'\\\\'.repeat(pad % 7)}${'é'.repeat(pad)}","q":${json}}`));
      expectSame(Buffer.from(`{"p":[${'1, '.repeat(pad)}1],"q":[${json}]}`));
      expectSame(Buffer.from(`{"p":${' '.repeat(pad)}${json}${' '.repeat(pad)}}`));
    }
  });

  it('accepts objects up to the allowed depth', () => {
    for (const depth of [1, 2, 62, 63, 64, 65, 2_999, 3_000, 3_001]) {
      const json = Buffer.from(`{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`);
      expect(isOneObject(json, 3_000)).toBe(depth <= 3_000 && depth > 1);
      if (depth > 1) expect(isOneObject(json, depth - 1)).toBe(false);
    }
  });

  it('finds records up to `maxBytes`, and stops at the start of a larger record', () => {
    const file = Buffer.from('{"a":1}\n{"a":10}\n{"a":100}\n{"a":1}\n');
    const lines = new ObjectLines('\n', { ...NO_LIMIT, maxBytes: 8 });
    expect(lines.find(file, 0, file.length)).toBe(2);
    expect(lines.next).toBe(17);
  });

  it('finds all records of a file, whatever the sizes of the records', () => {
    const sizes = [0, 1, 100, 1_000, 5_000, 131_000, 131_060, 131_072, 300_000, 7, 2_000];
    const records = sizes.map((size, index) => `{"n":${index},"text":"${'x'.repeat(size)}"}`);
    const file = Buffer.from(records.map(record => `${record}\n`).join(''));
    const lines = new ObjectLines('\n', NO_LIMIT);
    const found: string[] = [];
    for (let from = 0; from < file.length; ) {
      const count = lines.find(file, from, file.length);
      for (let index = 0; index < count; index++)
        found.push(file.toString('utf8', lines.startOf(index), lines.endOf(index)));
      // `find` returns no record if a record is larger than the memory of its WebAssembly module.
      // The caller must read such a record.
      from = count > 0 ? lines.next : file.indexOf('\n', from) + 1;
    }
    expect(found).toEqual(records.filter(record => record.length < 128 * 1024));
  });
});
