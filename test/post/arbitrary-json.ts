import fc from 'fast-check';
import type { Value } from './print-json.js';

export const key = fc.oneof(
  fc.constantFrom(
    ...['id', 'id_str', 'user', 'gnip', 'matching_rules', 'created_at', 'postedTime', 'object'],
    ...['entities', 'media', 'in_reply_to_user_id', 'in_reply_to_user_id_str', 'quoted_status'],
    ...['retweeted_status', 'user_id', 'grid', '_id', 'a"id', '"id":1', 'i', '', '__proto__'],
  ),
  fc.string({ unit: 'grapheme', maxLength: 5 }),
);

/** Strings that look like members, numbers or the end of a JSON document. */
const trap = fc.constantFrom(
  ...[
    '"',
    '\\',
    '\\"',
    '":12345678901234567890',
    ',"id":1,',
    ',"matching_rules":[1]}',
    ']}}',
    '{[',
  ],
  ...[':12345678901234567890', '12345678901234567890', '-1234567890123456', 'x,', 'tag:x,1:2'],
);

const integer = fc.oneof(
  fc.bigInt(-(2n ** 64n), 2n ** 64n),
  fc.bigInt(-99_999n, 99_999n),
  fc.constantFrom(999_999_999_999_999n, 1_000_000_000_000_000n, -1_000_000_000_000_000n),
);

/** Generates any JSON value. A bigint stands for an integer. A number always has a fraction. */
export const jsonValue: fc.Arbitrary<Value> = fc.letrec<{ value: Value }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, false),
    integer,
    fc.double({ noNaN: true, noDefaultInfinity: true, noInteger: true }),
    fc.string({ unit: 'grapheme' }),
    trap,
    fc.array(tie('value'), { maxLength: 4 }),
    object(tie('value')),
  ),
})).value;

export const jsonObject: fc.Arbitrary<{ readonly [key: string]: Value }> = object(jsonValue);

function object(value: fc.Arbitrary<Value>): fc.Arbitrary<{ readonly [key: string]: Value }> {
  return fc.dictionary(key, value, { maxKeys: 6 });
}

export const jsonLike: fc.Arbitrary<string> = fc
  .array(
    fc.constantFrom(
      ...[
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '"',
        '\\',
        ' ',
        '"id"',
        '"a"',
        '"id":',
        '"user_id":',
        '\\u0069',
      ],
      ...['0', '7', '12', '-', '.5', 'e3', '12345678901234567890', 'null', 'true', 'x', 'é', '\n'],
    ),
    { maxLength: 14 },
  )
  .map(parts => parts.join(''));
