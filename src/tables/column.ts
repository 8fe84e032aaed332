import type { Reads } from '../flow/wrong-item.js';

/** The type of a single value in a column. */
export type ScalarType = 'string' | 'int32' | 'int64' | 'double' | 'boolean' | 'timestamp';

/** The type of a column. Every column may contain nulls, but the elements of a list may not be null. */
export type ColumnType = ScalarType | `list<${ScalarType}>`;

/** For each scalar type, the type that a column's `value` may return, besides `null` and `undefined`. */
interface Given {
  readonly string: string;
  readonly int32: number;
  /** A 64-bit integer: a bigint, a string of digits, or a safe integer. */
  readonly int64: bigint | string | number;
  readonly double: number;
  readonly boolean: boolean;
  /** An instant, with millisecond precision. */
  readonly timestamp: Date;
}

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

/**
 * The type that a column's `value` may return if the column has this type. `null` and `undefined` mean that
 * there is no value.
 */
export type GivenValue<Type extends ColumnType = ColumnType> =
  | Typed<Given, Type>
  | null
  | undefined;

/** The type that a value in a row has if its column has this type. An `int64` is a bigint. */
export type RowValue<Type extends ColumnType = ColumnType> = Typed<Held, Type> | null;

/**
 * One column of a table. Its values are read from items of type `T`.
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
      /** A description of the column for readers. */
      readonly meaning?: string | undefined;
      /** Returns the value for an item; `null` or `undefined` if the item has none. */
      readonly value: (item: T) => GivenValue<Type>;
    }
  : never;

/** Columns by their names, such as `tables.posts`. */
export interface Table<T> {
  readonly [name: string]: Column<T>;
}

export interface ItemKind {
  /** The plural name of the items, as used in messages such as "these columns are of posts". */
  readonly name: Reads;
  readonly accepts: (item: unknown) => boolean;
}

type AnyColumn = Column<never>;

const kinds = new WeakMap<AnyColumn, ItemKind>();

/**
 * Returns the kind of items that a built-in column reads; `undefined` for columns that the caller has
 * defined.
 */
export function kindOfColumn(column: AnyColumn): ItemKind | undefined {
  return kinds.get(column);
}

export interface Definition<View, Type extends ColumnType> {
  readonly type: Type;
  readonly meaning: string;
  readonly value: (view: View) => GivenValue<Type>;
}

/**
 * Returns a function that creates definitions of columns. The columns read their values from a view, an
 * object that `builtIn` creates for each item.
 */
export function definer<View>() {
  return <Type extends ColumnType>(
    type: Type,
    meaning: string,
    value: Definition<View, Type>['value'],
  ): Definition<View, Type> => ({ type, meaning, value });
}

/**
 * Creates a built-in table from definitions by name. `view` converts an item to the view from which the
 * definitions read.
 */
export function builtIn<T, View, Types extends Readonly<Record<string, ColumnType>>>(
  kind: ItemKind,
  view: (item: T) => View,
  definitions: { readonly [Name in keyof Types]: Definition<View, Types[Name]> },
): { readonly [Name in keyof Types & string]: Column<T, Name, Types[Name]> } {
  const columns: Record<string, Column<T>> = {};
  for (const [name, { type, meaning, value }] of Object.entries(definitions)) {
    const column = Object.freeze({
      name,
      type,
      meaning,
      value: (item: T) => value(view(item)),
    }) as Column<T>;
    kinds.set(column, kind);
    columns[name] = column;
  }
  return Object.freeze(columns) as Table<T> as never;
}
