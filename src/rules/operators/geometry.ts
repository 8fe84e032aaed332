import type { Position } from '../../activity/post-fields.js';
import type { BoundingBox, PointRadius } from '../tree.js';

const EARTH_KM = 6371.0088;
const KM_PER_MILE = 1.609344;

/** Great-circle distance, on a sphere. */
export function kilometres([lon1, lat1]: Position, [lon2, lat2]: Position): number {
  const rad = Math.PI / 180;
  const a =
    Math.sin(((lat2 - lat1) * rad) / 2) ** 2 +
    Math.cos(lat1 * rad) * Math.cos(lat2 * rad) * Math.sin(((lon2 - lon1) * rad) / 2) ** 2;
  return 2 * EARTH_KM * Math.asin(Math.min(1, Math.sqrt(a)));
}

/** A test of positions; the edge is within the circle. */
export function withinRadius({
  longitude,
  latitude,
  radius,
  unit,
}: PointRadius): (position: Position) => boolean {
  const limit = unit === 'mi' ? radius * KM_PER_MILE : radius;
  return position => kilometres([longitude, latitude], position) <= limit;
}

/**
 * A test of positions; the edges are within the box. A box with `west` greater than `east` crosses
 * 180°.
 */
export function withinBox({
  west,
  south,
  east,
  north,
}: BoundingBox): (position: Position) => boolean {
  return ([longitude, latitude]) =>
    latitude >= south &&
    latitude <= north &&
    (west <= east
      ? longitude >= west && longitude <= east
      : longitude >= west || longitude <= east);
}
