import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  BEYOND_ASCII,
  ESCAPES,
  MemberSpans,
  type WantedMembers,
} from '../../src/json/member-spans.js';
import { jsonValue } from '../post/arbitrary-json.js';
import { printJson, style, type Value } from '../post/print-json.js';

const WANTED: WantedMembers = {
  id: true,
  text: true,
  user: { id: true, name: true, a_long_key_of_a_member: true },
};
const spans = new MemberSpans(WANTED);

/** The text of each wanted member that was found, by its path. */
function foundIn(bytes: Buffer, start = 0, end = bytes.length): Record<string, string> | undefined {
  if (!spans.find(bytes, start, end)) return undefined;
  const found: Record<string, string> = {};
  for (const [path, place] of spans.places)
    if (spans.startOf(place) !== 0)
      found[path] = spans.bytes.toString('utf8', spans.startOf(place), spans.endOf(place));
  return found;
}

/** The parsed value, in which integers are texts of their digits. */
const parsed = (json: string): unknown => JSON.parse(json.replace(/^-?\d+$/, '"$&"'));
const expectedOf = (value: Value): unknown => (typeof value === 'bigint' ? String(value) : value);

const plain = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.bigInt(-(2n ** 64n), 2n ** 64n),
  fc.constantFrom(null, true, false),
);
const others = fc.dictionary(fc.stringMatching(/^other[a-z]{0,20}$/), jsonValue, { maxKeys: 3 });

describe('the wanted members of a document', () => {
  it('are found among any others, in any style, and those within objects', () => {
    fc.assert(
      fc.property(
        others,
        others,
        fc.record({ id: plain, text: plain }, { requiredKeys: [] }),
        fc.record({ id: plain, name: plain, a_long_key_of_a_member: plain }, { requiredKeys: [] }),
        fc.tuple(style, fc.boolean(), fc.nat(3)),
        (outside, within, members, user, [look, isFirst, before]) => {
          const inner = { ...within, ...user };
          const value = isFirst
            ? { ...members, user: inner, ...outside }
            : { ...outside, user: inner, ...members };
          const json = printJson(value as Value, look);
          const bytes = Buffer.from(`${' '.repeat(before)}${json}\n`);
          const found = foundIn(bytes, before, bytes.length - 1);
          // Keys with escapes are for the parser.
          if (found === undefined) {
            expect(json).toContain('\\u');
            return;
          }
          const { user: _, ...values } = found;
          expect(
            Object.fromEntries(Object.entries(values).map(([path, text]) => [path, parsed(text)])),
          ).toEqual(
            Object.fromEntries([
              ...Object.entries(members).map(([key, one]) => [key, expectedOf(one)]),
              ...Object.entries(user).map(([key, one]) => [`user.${key}`, expectedOf(one)]),
            ]),
          );
        },
      ),
    );
  });

  it.each([
    ['snow', 0],
    ['sn\\"ow', ESCAPES],
    ['schön', BEYOND_ASCII],
    ['sch\\nön', ESCAPES | BEYOND_ASCII],
    [`${'x'.repeat(40)}é`, BEYOND_ASCII],
    [`${'x'.repeat(40)}\\\\`, ESCAPES],
  ])('say of the text %s what is in it', (text, flags) => {
    expect(spans.find(Buffer.from(`{"text":"${text}"}`), 0, Buffer.byteLength(text) + 11)).toBe(
      true,
    );
    const place = spans.places.get('text')!;
    const bits = spans.positions[2 * place + 1]! & (ESCAPES | BEYOND_ASCII);
    expect(bits >>> 0).toBe(flags >>> 0);
    expect(spans.hasEscapes(place)).toBe((flags & ESCAPES) !== 0);
  });

  it.each([
    '',
    '[]',
    '{',
    '{"id":1',
    '{"id":1}}',
    '{"id":1,"id":2}',
    '{"\\u0069d":1}',
    '{"text":"a\nb"}',
    '{"text":"a}',
    '{"id" 1}',
    '{"id":1 "text":2}',
    '{"a":[1}',
  ])('are left to the parser in %j', json => {
    expect(foundIn(Buffer.from(json))).toBeUndefined();
  });

  it('of one document are not those of the document before', () => {
    expect(foundIn(Buffer.from('{"id":1,"user":{"name":"a"}}'))).toHaveProperty('user.name');
    expect(foundIn(Buffer.from('{"text":"x"}'))).toEqual({ text: '"x"' });
  });
});
