import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import {
  matchesAtEnd,
  matchesInGnipAtEnd,
  parseMatches,
  printMatchingRule,
  printMatchingRules,
} from '../../src/post/matching-rules.js';
import { minimal } from './minimal-post.js';

const rules = fc.array(
  fc
    .record({
      tag: fc.option(fc.string({ unit: 'grapheme' })),
      id: fc.option(fc.bigInt(0n, 2n ** 64n - 1n).map(String), { nil: undefined }),
      value: fc.option(fc.string(), { nil: undefined }),
    })
    .map(({ value, ...rule }) => (value === undefined ? rule : { ...rule, value })),
  { maxLength: 6 },
);

describe('the matching rules of a post', () => {
  it('are read exactly as they were printed', () => {
    fc.assert(
      fc.property(rules, fc.string(), (given, before) => {
        const printed = Buffer.from(printMatchingRules(given));
        const document = Buffer.concat([Buffer.from(before), printed, Buffer.from(',')]);
        const start = Buffer.byteLength(before);
        expect(parseMatches(document, start, start + printed.length).rules).toEqual(given);
      }),
    );
  });

  it('list each tag once, in order', () => {
    fc.assert(
      fc.property(rules, given => {
        const printed = Buffer.from(printMatchingRules(given));
        expect(parseMatches(printed, 0, printed.length).tags).toEqual([
          ...new Set(given.map(({ tag }) => tag).filter(tag => tag !== null)),
        ]);
      }),
    );
  });

  it('are found at the end of a document, even if another document precedes it in the block', () => {
    fc.assert(
      fc.property(rules, fc.constantFrom('', ',"id":1', ',"a":[1]'), (given, rest) => {
        const document = `{"text":"x","matching_rules":${printMatchingRules(given)}${rest}}`;
        const bytes = Buffer.from(`${document}\n${document}\n`);
        const length = Buffer.byteLength(document);
        expect(matchesAtEnd(bytes, length + 1, 2 * length + 1)?.rules).toEqual(given);
      }),
    );
  });

  it('are found in `gnip` at the end of one document in a block of several', () => {
    const before = fc.constantFrom('', '"urls":[{"matching_rules":[{"tag":"in a link"}]}],');
    const after = fc.constantFrom('', ' , "language" : {"value":"}"}');
    const rest = fc.constantFrom('', ',"editable":true', ' , "a" : [ "]}" ] ');
    fc.assert(
      fc.property(rules, before, after, rest, (given, ...[first, last, end]) => {
        const gnip = `{${first}"matching_rules":${printMatchingRules(given)}${last}}`;
        const document = `{"object":{"gnip":{"matching_rules":[]}},"gnip":${gnip}${end}}`;
        const bytes = Buffer.from(`${document}\n${document}\n`);
        const length = Buffer.byteLength(document);
        expect(matchesInGnipAtEnd(bytes, length + 1, 2 * length + 1)?.rules).toEqual(given);
        expect(matchesInGnipAtEnd(bytes, 0, length)?.rules).toEqual(given);
      }),
    );
  });

  it.each([
    '{"a":1,"object":{"x":1,"gnip":{"matching_rules":[{"tag":"a"}]}}}',
    '{"a":1,"gnip":{"urls":[{"x":1,"matching_rules":[{"tag":"a"}]}]}}',
    '{"a":1,"gnip":{"x":1,"y":{"x":1,"matching_rules":[{"tag":"a"}]},"z":1}}',
    '{"a":1,"gnip":{}}',
    '{"a":1,"gnip":[{"matching_rules":[{"tag":"a"}]}]}',
    '{"a":1,"gnip":{"matching_rules":[{"tag":"a"}]}',
    '{"a":1,"gnip":{"matching_rules":[{"tag":"a"}]},"b":1',
    '{"a":1,"gnip":{"matching_rules":[{"tag":"a"}',
    '{"a":",\\"gnip\\":{\\"matching_rules\\":[]}"}',
  ])('are not found in the `gnip` of %s', document => {
    expect(matchesInGnipAtEnd(Buffer.from(document))).toBeUndefined();
    const block = Buffer.from(`${document}\n{"id":1}\n`);
    expect(matchesInGnipAtEnd(block, 0, document.length)).toBeUndefined();
  });

  it('are not found inside a string', () => {
    const bytes = Buffer.from(JSON.stringify({ id: 1, text: '"matching_rules":[{"tag":"a"}]' }));
    expect(matchesAtEnd(bytes)).toBeUndefined();
  });

  it.each(['null', '{}', '"a"', '[]', '[1,null,"a"]'])('are empty for %s', value => {
    expect(parseMatches(Buffer.from(value), 0, value.length)).toEqual({ rules: [], tags: [] });
  });

  it('are not mixed up between thousands of posts', () => {
    for (let round = 0; round < 2; round++)
      for (let n = 0; n < 1100; n++)
        expect(minimal({ id: 1, matching_rules: [{ tag: `t${n}`, id: n }] }).tags).toEqual([
          `t${n}`,
        ]);
  });

  it('cause an OptionError if an id is not an integer', () => {
    expect(() => minimal({ created_at: '' }).withMatchingRules([{ tag: null, id: 'x' }])).toThrow(
      OptionError,
    );
  });
});

it.each(['', '-1', '1.0', 'x', ' 1'])('printMatchingRule throws for the id %j', id => {
  expect(() => printMatchingRule({ tag: null, id })).toThrow(OptionError);
});
