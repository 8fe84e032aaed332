import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { DECODED, MemberFinder, type WantedMembers } from '../../../src/post/bytes/find-members.js';
import { BEYOND_ASCII, ESCAPES, memberValues } from '../../../src/post/bytes/member-values.js';
import { codePoint } from '../../code-point.js';
import { jsonValue } from '../arbitrary-json.js';
import { printJson, style, type Value } from '../print-json.js';

const WANTED: WantedMembers = {
  id: true,
  text: true,
  user: { id: true, name: true, a_long_key_of_a_member: true },
};
const finder = new MemberFinder(WANTED);
const values = memberValues(finder);

function foundIn(bytes: Buffer, start = 0, end = bytes.length): Record<string, string> | undefined {
  if (!finder.find(bytes, start, end)) return undefined;
  const found: Record<string, string> = {};
  for (const [path, member] of finder.members)
    if (values.startOf(member) !== 0)
      found[path] = finder.bytes.toString('utf8', values.startOf(member), values.endOf(member));
  return found;
}

/** Parses JSON. An integer becomes a string of its digits. */
const parsed = (json: string): unknown => JSON.parse(json.replace(/^-?\d+$/, '"$&"'));
const expectedOf = (value: Value): unknown => (typeof value === 'bigint' ? String(value) : value);

const plain = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.bigInt(-(2n ** 64n), 2n ** 64n),
  fc.constantFrom(null, true, false),
);
const others = fc.dictionary(fc.stringMatching(/^other[a-z]{0,20}$/), jsonValue, { maxKeys: 3 });

describe('MemberFinder', () => {
  it('finds the requested members, nested ones included, however the JSON is formatted', () => {
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
          // If a key contains escapes, the finder leaves the document to the parser.
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
  ])('flags escapes and non-ASCII characters in the text %s', (text, flags) => {
    expect(foundIn(Buffer.from(`{"text":"${text}"}`))).toBeDefined();
    const member = finder.members.get('text')!;
    const bits = finder.spans[member + 1]! & (ESCAPES | BEYOND_ASCII);
    expect(bits >>> 0).toBe(flags >>> 0);
    expect(values.hasEscapes(member)).toBe((flags & ESCAPES) !== 0);
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
  ])('leaves the document %j to the JSON parser', json => {
    expect(foundIn(Buffer.from(json))).toBeUndefined();
  });

  it('leaves a document that is larger than its memory to the JSON parser', () => {
    const documentOf = (length: number) => Buffer.from('{"id":1}'.padEnd(length));
    const largest = finder.bytes.length - 16;
    expect(foundIn(documentOf(largest))).toEqual({ id: '1' });
    for (let length = largest + 1; length <= finder.bytes.length + 1; length++)
      expect(foundIn(documentOf(length))).toBeUndefined();
  });

  it('does not return members of the previous document', () => {
    expect(foundIn(Buffer.from('{"id":1,"user":{"name":"a"}}'))).toHaveProperty('user.name');
    expect(foundIn(Buffer.from('{"text":"x"}'))).toEqual({ text: '"x"' });
  });
});

describe('a string of a JSON document', () => {
  const { strings } = finder;
  const user = { leave: vi.fn() };

  function decoded(json: string, mode: keyof typeof DECODED, at = 0): string | undefined {
    expect(foundIn(Buffer.from(`  {"text":"${json}"}`))).toBeDefined();
    const memory = strings.memoryFor(user);
    const text = finder.members.get('text')!;
    const [from, to] = [values.startOf(text) + 1, values.endOf(text) - 1];
    const end = strings.decode(from, to, at, DECODED[mode], 0, 0);
    return end === -1 ? undefined : memory.toString('utf8', at, end);
  }

  it.each([
    ['plain', 'snow', 'snow'],
    ['plain', '', ''],
    ['plain', 'a\\n\\u00e9 & é', 'a\né & é'],
    ['entities', 'a &lt;b&gt; &amp;', 'a <b> &'],
    ['field', 'a, b', '"a, b"'],
    ['field', '', '""'],
    ['element', 'a', '""a""'],
  ] as const)('is decoded from its bytes in the mode %s: %j', (mode, json, text) => {
    for (const at of [0, 5]) expect(decoded(json, mode, at)).toBe(text);
  });

  it.each(['\\x', '\\ud800', '\\u00'])('is not decoded if it is invalid: %j', json => {
    expect(decoded(json, 'plain')).toBeUndefined();
  });

  /**
   * The bytes become part of a JSON string, so they must not contain quotes, backslashes or control
   * characters.
   */
  function decodedBytes(bytes: Uint8Array, mode: keyof typeof DECODED): Buffer | undefined {
    const document = Buffer.concat([Buffer.from('{"text":"'), bytes, Buffer.from('"}')]);
    // This throws instead of calling `expect`, which would take most of the time.
    if (!finder.find(document, 0, document.length)) throw new Error(`Not found: ${document}`);
    const memory = strings.memoryFor(user);
    const text = finder.members.get('text')!;
    const [from, to] = [values.startOf(text) + 1, values.endOf(text) - 1];
    const end = strings.decode(from, to, 0, DECODED[mode], 0, 0);
    return end === -1 ? undefined : Buffer.from(memory.subarray(0, end));
  }

  function isExact(bytes: Uint8Array): boolean {
    const found = decodedBytes(bytes, 'plain');
    return isUtf8(bytes) ? found?.equals(bytes) === true : found === undefined;
  }

  it('is decoded only if it is valid UTF-8, for any two bytes at any offset', () => {
    const wrong: string[] = [];
    const rests = [[], [0x41], [0x80], [0xbf, 0x80], [0x80, 0xbf, 0x41], [0x80, 0x80, 0x80]];
    for (let first = 0x80; first <= 0xff; first++)
      for (let second = 0x7f; second <= 0xff; second++)
        for (const rest of rests) {
          const length = (first + second) % 18;
          const bytes = Buffer.from([...Array<number>(length).fill(0x78), first, second, ...rest]);
          if (!isExact(bytes)) wrong.push(bytes.toString('hex'));
        }
    expect(wrong).toEqual([]);
  });

  const malformed = fc.constantFrom(
    ...[
      '80',
      'bf',
      'c0af',
      'c1bf',
      'e09fbf',
      'eda080',
      'edbfbf',
      'f08fbfbf',
      'f4908080',
      'f5808080',
    ],
    ...['ff', 'c3', 'e3', 'e381', 'f0', 'f09f', 'f09f98', 'c3a9a9', 'e38182a0'],
  );
  const characters = fc.string({ unit: codePoint }).map(text => text.replace(/[\0-\x1f"\\]/g, 'x'));

  it('is decoded only if it is valid UTF-8, for any malformed or truncated character', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            { weight: 4, arbitrary: characters.map(text => Buffer.from(text)) },
            malformed.map(hex => Buffer.from(hex, 'hex')),
          ),
          { maxLength: 6 },
        ),
        fc.nat(40),
        fc.nat(),
        (parts, padding, cut) => {
          const whole = Buffer.concat([Buffer.alloc(padding, 'x'), ...parts]);
          const bytes = whole.subarray(0, cut % (whole.length + 1));
          expect(isExact(whole)).toBe(true);
          expect(isExact(bytes)).toBe(true);
          for (const mode of ['entities', 'field', 'element'] as const)
            expect(decodedBytes(bytes, mode) !== undefined).toBe(isUtf8(bytes));
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('is decoded with any mix of escapes, entities and characters', () => {
    const entity = fc.constantFrom('&amp;', '&lt;', '&gt;', '&', '&quot;', '&am');
    fc.assert(
      fc.property(
        fc.array(fc.oneof(characters, fc.string({ unit: 'grapheme' }), entity), { maxLength: 8 }),
        fc.array(fc.nat(5), { minLength: 1 }),
        (parts, picks) => {
          const text = parts.join('');
          const json = Array.from(text, (character, index) =>
            picks[index % picks.length] === 0 && character !== '&'
              ? [...Array(character.length).keys()]
                  .map(at => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
                  .join('')
              : JSON.stringify(character).slice(1, -1),
          ).join('');
          expect(decoded(json, 'plain')).toBe(text);
          const shown = text.replace(/&(amp|lt|gt);/g, (_, name) =>
            name === 'amp' ? '&' : name === 'lt' ? '<' : '>',
          );
          // If an entity may continue with an escape, the finder leaves the string to the parser.
          expect([shown, undefined]).toContain(decoded(json, 'entities'));
          if (!json.includes('\\')) expect(decoded(json, 'entities')).toBe(shown);
          const quoted = /[,"\r\n]/.test(text) || text === '';
          expect(decoded(json, 'field')).toBe(quoted ? `"${text.replaceAll('"', '""')}"` : text);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('can be decoded after a prefix from elsewhere in the document', () => {
    expect(foundIn(Buffer.from('{"id":"RT @a: ","text":"snow"}'))).toBeDefined();
    const [id, text] = ['id', 'text'].map(path => finder.members.get(path)!) as [number, number];
    const prefix = [values.startOf(id) + 1, values.endOf(id) - 1] as const;
    const from = values.startOf(text) + 1;
    const end = strings.decode(from, values.endOf(text) - 1, 0, DECODED.plain, ...prefix);
    expect(strings.memoryFor(user).toString('utf8', 0, end)).toBe('RT @a: snow');
  });

  it('stays in the shared memory until another user writes there', () => {
    expect(decoded('snow', 'plain')).toBe('snow');
    let kept = '';
    user.leave.mockImplementation(() => {
      kept = strings.memoryFor(user).toString('utf8', 0, 4);
    });
    strings.memoryFor(user);
    expect(user.leave).not.toHaveBeenCalled();
    strings.memoryFor({ leave() {} }).write('rain');
    expect(kept).toBe('snow');
    user.leave.mockReset();
  });
});

it('MemberFinder throws if more members are requested than fit its memory', () => {
  const wanted = Object.fromEntries(Array.from({ length: 4000 }, (_, key) => [`k${key}`, true]));
  expect(() => new MemberFinder(wanted as WantedMembers)).toThrow('Too many members are wanted');
});
