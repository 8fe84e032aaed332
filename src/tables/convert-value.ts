import type { ColumnType, RowValue, ScalarType } from './column.js';

/**
 * A function that converts a value to the type of its column. It returns `undefined` if the value does not
 * fit.
 */
type Convert = (value: unknown) => Exclude<RowValue, null> | undefined;

const INT32 = 2 ** 31;
const INT64 = 2n ** 63n;

const SCALARS: Readonly<Record<ScalarType, Convert>> = {
  string: value => (typeof value === 'string' ? value : undefined),
  int32: value =>
    Number.isInteger(value) && (value as number) >= -INT32 && (value as number) < INT32
      ? (value as number)
      : undefined,
  int64: value => {
    const whole = wholeOf(value);
    return whole !== undefined && whole >= -INT64 && whole < INT64 ? whole : undefined;
  },
  double: value => (Number.isFinite(value) ? (value as number) : undefined),
  boolean: value => (typeof value === 'boolean' ? value : undefined),
  timestamp: value => (value instanceof Date && !Number.isNaN(value.getTime()) ? value : undefined),
};

const EXPECTED: Readonly<Record<ScalarType, string>> = {
  string: 'a string',
  int32: 'a whole number of 32 bits',
  int64: 'a whole number of 64 bits: a bigint, digits or a safe integer',
  double: 'a finite number',
  boolean: 'true or false',
  timestamp: 'a valid Date',
};

export const SCALAR_TYPES = Object.keys(SCALARS) as readonly ScalarType[];

const LIST = /^list<(\w+)>$/;

export function elementType(type: ColumnType): ScalarType | undefined {
  return LIST.exec(type)?.[1] as ScalarType | undefined;
}

export function isColumnType(type: unknown): type is ColumnType {
  return typeof type === 'string' && Object.hasOwn(SCALARS, LIST.exec(type)?.[1] ?? type);
}

export function converterOf(type: ColumnType): Convert {
  const element = elementType(type);
  if (element === undefined) return SCALARS[type as ScalarType];
  const convert = SCALARS[element];
  return value => {
    if (!Array.isArray(value)) return undefined;
    const elements = value.map(element => convert(element));
    return elements.includes(undefined) ? undefined : (elements as RowValue & object);
  };
}

export function expectedOf(type: ColumnType): string {
  const element = elementType(type);
  return element === undefined
    ? EXPECTED[type as ScalarType]
    : `a list, each element ${EXPECTED[element]}`;
}

function wholeOf(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (Number.isSafeInteger(value)) return BigInt(value as number);
  return typeof value === 'string' && /^-?\d{1,19}$/.test(value) ? BigInt(value) : undefined;
}
