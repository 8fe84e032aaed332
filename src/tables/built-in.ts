import type { Reads } from '../flow/wrong-item.js';
import type { Column, ColumnType, GivenValue, Table } from './column.js';

/** What the columns of a table are of. */
export interface ItemKind {
  /** As in "these columns are of posts". */
  readonly name: Reads;
  readonly accepts: (item: unknown) => boolean;
}

type AnyColumn = Column<never>;

const kinds = new WeakMap<AnyColumn, ItemKind>();

/** The kind of items that a built-in column is of; `undefined` for columns of the caller. */
export function kindOfColumn(column: AnyColumn): ItemKind | undefined {
  return kinds.get(column);
}

/** A column before it has its name. */
export interface Definition<View, Type extends ColumnType> {
  readonly type: Type;
  readonly meaning: string;
  readonly value: (view: View) => GivenValue<Type>;
}

/** Makes definitions that read from a view. */
export function definer<View>() {
  return <Type extends ColumnType>(
    type: Type,
    meaning: string,
    value: Definition<View, Type>['value'],
  ): Definition<View, Type> => ({ type, meaning, value });
}

/** A table of the package, from definitions by name. `view` gives what the definitions read a value from. */
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
