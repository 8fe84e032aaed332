import type { Position } from '../../activity/post-fields.js';
import { type OperatorOptions, type RuleOperator, specOf } from './operator.js';

interface AreaOptions<Value> extends OperatorOptions {
  readonly area: (value: Value) => (position: Position) => boolean;
}

/** An operator that tests the position of a post: its exact position, or all corners of its place. */
export function positionOperator<Value>(
  value: 'radius' | 'box',
  about: string,
  { area, ...options }: AreaOptions<Value>,
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

/** Whether an exact position, or all corners of a place, are in an area. */
export function isPositionIn(
  inArea: (position: Position) => boolean,
  position: Position | undefined,
  corners: readonly Position[],
): boolean {
  return (
    (position !== undefined && inArea(position)) || (corners.length > 0 && corners.every(inArea))
  );
}

/** An operator that tests the home of the author. */
export function homeOperator<Value>(
  value: 'radius' | 'box',
  about: string,
  { area, ...options }: AreaOptions<Value>,
): RuleOperator<Value> {
  return {
    ...specOf(value, about, options),
    test(asked) {
      const inArea = area(asked);
      return ({ fields }) =>
        fields.author.homes.some(({ position }) => position !== undefined && inArea(position));
    },
    terms: () => ({ required: ['has:profile_geo'], exact: false }),
    frequency: word => word,
  };
}
