import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRule } from '../../../src/rules/language/parse-rule.js';

function read(text: string): unknown {
  const { tree, problems } = parseRule(text);
  if (tree === undefined) return problems.map(({ code }) => code);
  return 'value' in tree ? tree.value : undefined;
}

const between = (min: number, max: number) =>
  fc
    .integer({ min: Math.ceil(min * 1000), max: Math.floor(max * 1000) })
    .map(thousandths => String(thousandths / 1000));

describe('a circle in a rule', () => {
  const names = fc.constantFrom('point_radius', 'profile_point_radius');

  it('has its centre and its radius in miles or kilometres', () => {
    fc.assert(
      fc.property(
        names,
        between(-180, 180),
        between(-90, 90),
        fc.oneof(
          fc.tuple(between(0.001, 24.999), fc.constant('mi' as const)),
          fc.tuple(between(0.001, 40.2), fc.constant('km' as const)),
        ),
        (name, longitude, latitude, [radius, unit]) => {
          expect(read(`${name}:[${longitude} ${latitude} ${radius}${unit}]`)).toEqual({
            longitude: Number(longitude),
            latitude: Number(latitude),
            radius: Number(radius),
            unit,
          });
        },
      ),
    );
  });

  it.each(['25mi', '40.3km', '0mi', '0.0km'])('causes an error with the radius %s', radius => {
    expect(read(`point_radius:[1 2 ${radius}]`)).toEqual(['R019']);
  });

  it.each(['181 2', '1 91', '-180.1 2', '1 -90.1'])(
    'causes an error with the centre %s',
    centre => {
      expect(read(`point_radius:[${centre} 1mi]`)).toEqual(['R019']);
    },
  );
});

describe('a bounding box in a rule', () => {
  const box = fc
    .tuple(between(-180, 179), between(-89, 88), between(0.001, 0.3), between(0.001, 0.3))
    .map(([west, south, width, height]) => ({
      west: Number(west),
      south: Number(south),
      east: Number((Number(west) + Number(width)).toFixed(3)),
      north: Number((Number(south) + Number(height)).toFixed(3)),
    }));

  it('has the edges that are written', () => {
    fc.assert(
      fc.property(box, ({ west, south, east, north }) => {
        expect(read(`bounding_box:[${west} ${south} ${east} ${north}]`)).toEqual({
          west,
          south,
          east,
          north,
        });
      }),
    );
  });

  it('may cross 180 degrees', () => {
    expect(read('bounding_box:[179.9 1 -179.9 1.1]')).toEqual({
      west: 179.9,
      south: 1,
      east: -179.9,
      north: 1.1,
    });
  });

  it('causes an error if its height or width is 0', () => {
    fc.assert(
      fc.property(box, ({ west, south, east, north }) => {
        expect(read(`bounding_box:[${west} ${north} ${east} ${south}]`)).toEqual(['R019']);
        expect(read(`bounding_box:[${west} ${south} ${east} ${south}]`)).toEqual(['R019']);
        expect(read(`bounding_box:[${west} ${south} ${west} ${north}]`)).toEqual(['R019']);
      }),
    );
  });

  it('may span more degrees near a pole, up to 25 miles', () => {
    expect(read('bounding_box:[1 0 1.36 0.1]')).toMatchObject({ east: 1.36 });
    expect(read('bounding_box:[1 0 1.37 0.1]')).toEqual(['R019']);
    expect(read('bounding_box:[1 60 1.72 60.1]')).toMatchObject({ east: 1.72 });
    expect(read('bounding_box:[1 60 1.74 60.1]')).toEqual(['R019']);
    expect(read('bounding_box:[1 -60.1 1.72 -60]')).toMatchObject({ east: 1.72 });
    expect(read('bounding_box:[1 60 1.1 60.37]')).toEqual(['R019']);
  });

  it('has a suggestion without commas if it is written with commas', () => {
    const [problem] = parseRule('bounding_box:[1, 2, 1.1, 2.1]').problems;
    expect(problem?.suggestion?.edits[0]).toMatchObject({ text: '1 2 1.1 2.1' });
  });
});
