import type { Position, PostFields } from '../../activity/post-fields.js';
import { type OperatorOptions, type RuleOperator, specOf } from './operator.js';

interface AreaOptions<Value> extends OperatorOptions {
  readonly area: (value: Value) => (position: Position) => boolean;
}

/** An operator that tests the position of a post: its exact position, or all corners of its place. */
export function positionOperator<Value>(
  value: 'radius' | 'box',
  about: string,
  options: AreaOptions<Value>,
): RuleOperator<Value> {
  const isIn = (inArea: InArea, { position, place }: PostFields) =>
    isPositionIn(inArea, position, place?.corners ?? []);
  return { ...areaOperator(value, about, options, 'has:geo', isIn), area: options.area };
}

/** An operator that tests the home of the author. */
export function homeOperator<Value>(
  value: 'radius' | 'box',
  about: string,
  options: AreaOptions<Value>,
): RuleOperator<Value> {
  return areaOperator(value, about, options, 'has:profile_geo', (inArea, { author }) =>
    author.homes.some(({ position }) => position !== undefined && inArea(position)),
  );
}

type InArea = (position: Position) => boolean;

function areaOperator<Value>(
  value: 'radius' | 'box',
  about: string,
  { area, ...options }: AreaOptions<Value>,
  required: string,
  isIn: (inArea: InArea, fields: PostFields) => boolean,
): RuleOperator<Value> {
  return {
    ...specOf(value, about, options),
    test(asked) {
      const inArea = area(asked);
      return ({ fields }) => isIn(inArea, fields);
    },
    terms: () => ({ required: [required], exact: false }),
    frequency: word => word,
  };
}

/** Whether an exact position, or all corners of a place, are in an area. */
export function isPositionIn(
  inArea: InArea,
  position: Position | undefined,
  corners: readonly Position[],
): boolean {
  return (
    (position !== undefined && inArea(position)) || (corners.length > 0 && corners.every(inArea))
  );
}
