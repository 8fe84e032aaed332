import type { Position } from '../../post/post-fields.js';
import type { BoundingBox, PointRadius } from '../tree.js';
import { type RuleOperator, type RuleOperatorOptions, specOf } from './operator.js';

type InArea = (position: Position) => boolean;

/** Creates an operator that tests the location of a post: its exact position, or all corners of its place. */
export function positionOperator<Value>(
  value: 'radius' | 'box',
  about: string,
  area: (value: Value) => InArea,
  options: RuleOperatorOptions,
): RuleOperator<Value> {
  return {
    ...specOf(value, about, options),
    test(asked) {
      const inArea = area(asked);
      return ({ fields: { position, place } }) =>
        isPositionIn(inArea, position, place?.corners ?? []);
    },
    terms: () => ({ required: ['has:geo'], exact: false }),
    frequency: word => word,
    area,
  };
}

export function homeOperator<Value>(
  value: 'radius' | 'box',
  about: string,
  area: (value: Value) => InArea,
): RuleOperator<Value> {
  return {
    ...specOf(value, about, {}),
    test(asked) {
      const inArea = area(asked);
      return ({ fields: { author } }) =>
        author.homes.some(({ position }) => position !== undefined && inArea(position));
    },
    terms: () => ({ required: ['has:profile_geo'], exact: false }),
    frequency: word => word,
  };
}

/** Returns whether a post is in an area: either its exact position, or all corners of its place. */
export function isPositionIn(
  inArea: InArea,
  position: Position | undefined,
  corners: readonly Position[],
): boolean {
  return (
    (position !== undefined && inArea(position)) || (corners.length > 0 && corners.every(inArea))
  );
}

const EARTH_KM = 6371.0088;
const KM_PER_MILE = 1.609344;

/** Returns the great-circle distance between two positions on a sphere. */
export function kilometres([lon1, lat1]: Position, [lon2, lat2]: Position): number {
  const rad = Math.PI / 180;
  const a =
    Math.sin(((lat2 - lat1) * rad) / 2) ** 2 +
    Math.cos(lat1 * rad) * Math.cos(lat2 * rad) * Math.sin(((lon2 - lon1) * rad) / 2) ** 2;
  return 2 * EARTH_KM * Math.asin(Math.min(1, Math.sqrt(a)));
}

/** Returns a test for positions in a circle. The edge belongs to the circle. */
export function withinRadius({ longitude, latitude, radius, unit }: PointRadius): InArea {
  const limit = unit === 'mi' ? radius * KM_PER_MILE : radius;
  return position => kilometres([longitude, latitude], position) <= limit;
}

/**
 * Returns a test for positions in a box. The edges belong to the box. A box with `west` greater than `east`
 * crosses the 180th meridian.
 */
export function withinBox({ west, south, east, north }: BoundingBox): InArea {
  return ([longitude, latitude]) =>
    latitude >= south &&
    latitude <= north &&
    (west <= east
      ? longitude >= west && longitude <= east
      : longitude >= west || longitude <= east);
}
