import type { Position } from '../../../activity/post-fields.js';
import type { PostLocation } from '../block.js';

type Location = Omit<PostLocation, 'document'>;

const POINT_BYTES = 16;

export function locationBytes(location: Location | undefined): number {
  return 4 + POINT_BYTES * pointsOf(location).length;
}

/** Writes whether there is an exact position, the number of corners, and all points. Returns the end. */
export function writeLocation(into: Buffer, start: number, location: Location | undefined): number {
  let at = into.writeUInt16LE(location?.position === undefined ? 0 : 1, start);
  at = into.writeUInt16LE(location?.corners.length ?? 0, at);
  for (const [longitude, latitude] of pointsOf(location)) {
    at = into.writeDoubleLE(longitude, at);
    at = into.writeDoubleLE(latitude, at);
  }
  return at;
}

export function readLocation(
  from: Buffer,
  start: number,
): { readonly location: Location | undefined; readonly end: number } {
  const hasPosition = from.readUInt16LE(start) === 1;
  const count = from.readUInt16LE(start + 2) + (hasPosition ? 1 : 0);
  const points = Array.from({ length: count }, (_, i): Position => {
    const at = start + 4 + i * POINT_BYTES;
    return [from.readDoubleLE(at), from.readDoubleLE(at + 8)];
  });
  const end = start + 4 + count * POINT_BYTES;
  if (count === 0) return { location: undefined, end };
  const [position, ...rest] = points;
  return {
    location: hasPosition ? { position, corners: rest } : { position: undefined, corners: points },
    end,
  };
}

function pointsOf(location: Location | undefined): readonly Position[] {
  if (location === undefined) return [];
  return location.position === undefined
    ? location.corners
    : [location.position, ...location.corners];
}
