import fc from 'fast-check';

const space = fc.constantFrom('', '', ' ', '\n', '\r\n\t ');
const number = fc.oneof(
  fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(value => JSON.stringify(value)),
  fc.constantFrom('0', '-0', '1e3', '1050118621198921728', '123456789012345.5'),
);
const name = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('id', 'user_id', 'a.b', 'results', 'valid'),
);

const json: fc.Arbitrary<string> = fc.letrec(tie => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small', withCrossShrink: true },
    number,
    fc.string({ unit: 'grapheme' }).map(text => JSON.stringify(text)),
    fc.constantFrom('true', 'false', 'null', '"]}\\"\\\\"', '"\\u00e9\\n"', '{}', '[]'),
    fc
      .tuple(fc.array(tie('value'), { maxLength: 4 }), space, space)
      .map(([items, a, b]) => `[${a}${items.join(`${b},${a}`)}${b}]`),
    fc
      .tuple(
        fc.uniqueArray(fc.tuple(name, tie('value')), { maxLength: 4, selector: ([key]) => key }),
        space,
      )
      .map(
        ([members, s]) =>
          `{${s}${members.map(([key, value]) => `${JSON.stringify(key)}${s}:${value}`).join(`,${s}`)}}`,
      ),
  ),
})).value as fc.Arbitrary<string>;

function written(text: string): fc.Arbitrary<string> {
  const escaped = Array.from(text, (_, at) => text.charCodeAt(at).toString(16).padStart(4, '0'));
  return fc.constantFrom(JSON.stringify(text), `"${escaped.map(hex => `\\u${hex}`).join('')}"`);
}

export const document = fc
  .record({
    others: fc.uniqueArray(
      fc.tuple(
        name.filter(key => key !== 'results'),
        json,
      ),
      {
        selector: ([key]) => key,
        maxLength: 4,
      },
    ),
    before: fc.nat(4),
    elements: fc.array(json, { maxLength: 6 }),
    key: written('results'),
    mark: fc.constantFrom('', '\ufeff'),
    s: fc.array(space, { minLength: 8, maxLength: 8 }),
  })
  .map(({ others, before, elements, key, mark, s }) => {
    const members = others.map(
      ([other, value]) => `${s[0]}${JSON.stringify(other)}${s[1]}:${s[2]}${value}${s[3]}`,
    );
    const array = `${s[4]}${key}${s[5]}:${s[6]}[${s[7]}${elements.join(`${s[1]},${s[2]}`)}${s[3]}]${s[4]}`;
    const all = [...members.slice(0, before), array, ...members.slice(before)];
    return {
      bytes: Buffer.from(`${mark}${s[5]}{${all.join(',')}}${s[6]}`),
      elements,
      rest: `{${members.join(',')}}`,
    };
  });
