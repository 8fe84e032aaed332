import type { Position } from '../../../activity/post-fields.js';
import type { Spot } from '../block.js';

type SpotOfPost = Omit<Spot, 'ordinal'>;

const POINT_BYTES = 16;

export function spotBytes(spot: SpotOfPost | undefined): number {
  return 4 + POINT_BYTES * pointsOf(spot).length;
}

/** Writes whether there is a position and how many corners, then all of them; returns the end. */
export function writeSpot(into: Buffer, start: number, spot: SpotOfPost | undefined): number {
  let at = into.writeUInt16LE(spot?.position === undefined ? 0 : 1, start);
  at = into.writeUInt16LE(spot?.corners.length ?? 0, at);
  for (const [longitude, latitude] of pointsOf(spot)) {
    at = into.writeDoubleLE(longitude, at);
    at = into.writeDoubleLE(latitude, at);
  }
  return at;
}

export function readSpot(
  from: Buffer,
  start: number,
): { readonly spot: SpotOfPost | undefined; readonly end: number } {
  const hasPosition = from.readUInt16LE(start) === 1;
  const count = from.readUInt16LE(start + 2) + (hasPosition ? 1 : 0);
  const points = Array.from({ length: count }, (_, i): Position => {
    const at = start + 4 + i * POINT_BYTES;
    return [from.readDoubleLE(at), from.readDoubleLE(at + 8)];
  });
  const end = start + 4 + count * POINT_BYTES;
  if (count === 0) return { spot: undefined, end };
  const [position, ...rest] = points;
  return {
    spot: hasPosition ? { position, corners: rest } : { position: undefined, corners: points },
    end,
  };
}

function pointsOf(spot: SpotOfPost | undefined): readonly Position[] {
  if (spot === undefined) return [];
  return spot.position === undefined ? spot.corners : [spot.position, ...spot.corners];
}
