/** The type of a single value in a column. */
export type ScalarType = 'string' | 'int32' | 'int64' | 'double' | 'boolean' | 'timestamp';

/** The type of a column. Every column may hold nulls; the elements of a list may not. */
export type ColumnType = ScalarType | `list<${ScalarType}>`;

/** What a column's `value` may return, besides `null` and `undefined`. */
interface Given {
  readonly string: string;
  /** A whole number of 32 bits. */
  readonly int32: number;
  /** A whole number of 64 bits: a bigint, digits, or a number that is exact. */
  readonly int64: bigint | string | number;
  /** Finite. */
  readonly double: number;
  readonly boolean: boolean;
  /** An instant, to the millisecond. */
  readonly timestamp: Date;
}

/** What a row holds. */
interface Held {
  readonly string: string;
  readonly int32: number;
  readonly int64: bigint;
  readonly double: number;
  readonly boolean: boolean;
  readonly timestamp: Date;
}

type Typed<Of, Type extends ColumnType> = Type extends ScalarType
  ? Of[Type & keyof Of]
  : Type extends `list<${infer Element extends ScalarType}>`
    ? readonly Of[Element & keyof Of][]
    : never;

/** What the `value` of a column of this type returns; `null` and `undefined` mean that it has none. */
export type GivenValue<Type extends ColumnType = ColumnType> =
  | Typed<Given, Type>
  | null
  | undefined;

/** What a row holds in a column of this type. An `int64` is a bigint. */
export type RowValue<Type extends ColumnType = ColumnType> = Typed<Held, Type> | null;

/**
 * One column of a table of items of type `T`.
 *
 * @example
 * const words: tables.Column<Activity> = {
 *   name: 'words',
 *   type: 'int32',
 *   value: post => post.text.split(/\s+/).length,
 * };
 */
export type Column<
  T,
  Name extends string = string,
  Type extends ColumnType = ColumnType,
> = Type extends ColumnType
  ? {
      readonly name: Name;
      readonly type: Type;
      /** What it holds, for people. */
      readonly meaning?: string | undefined;
      /** The value for an item; `null` or `undefined` where it has none. */
      readonly value: (item: T) => GivenValue<Type>;
    }
  : never;

/** Columns by their names, such as `tables.posts`. */
export interface Table<T> {
  readonly [name: string]: Column<T>;
}
