import { expect, it } from 'vitest';
import { kilometres, withinBox, withinRadius } from '../../../src/rules/operators/area-operator.js';

it.each([
  ['west', [10, 45]],
  ['south', [15, 40]],
  ['east', [20, 45]],
  ['north', [15, 50]],
] as const)(
  'a bounding box includes its %s edge and nothing beyond that edge',
  (side, [lon, lat]) => {
    const within = withinBox({ west: 10, south: 40, east: 20, north: 50 });
    expect(within([lon, lat])).toBe(true);
    const step = side === 'west' || side === 'south' ? -1e-9 : 1e-9;
    const isLongitude = side === 'west' || side === 'east';
    expect(within(isLongitude ? [lon + step, lat] : [lon, lat + step])).toBe(false);
  },
);

it.each([
  ['its edges', [170, -170], true],
  ['both sides of 180°', [175, 180, -180, -175], true],
  ['nothing between its east and west', [169.999, -169.999, 0], false],
] as const)('a bounding box that crosses 180° includes %s', (_, longitudes, expected) => {
  const within = withinBox({ west: 170, south: -10, east: -170, north: 10 });
  for (const longitude of longitudes) expect(within([longitude, 0]), `${longitude}`).toBe(expected);
});

it('a circle includes its edge, with the radius in kilometres or miles', () => {
  const edge = kilometres([0, 0], [1, 0]);
  const circle = { longitude: 0, latitude: 0 };
  expect(withinRadius({ ...circle, radius: edge, unit: 'km' })([1, 0])).toBe(true);
  expect(withinRadius({ ...circle, radius: edge - 1e-9, unit: 'km' })([1, 0])).toBe(false);
  expect(withinRadius({ ...circle, radius: 69.1, unit: 'mi' })([1, 0])).toBe(true);
  expect(withinRadius({ ...circle, radius: 69, unit: 'mi' })([1, 0])).toBe(false);
});
