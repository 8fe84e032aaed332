import type { RecordColumn, RecordColumnKind } from '../../files/record-columns.js';
import type { Activity } from '../../post/activity.js';
import { POST_KEYS, type PostKey } from '../../post/post-keys.js';

/**
 * For each row, the values of the fields of a path template. There are few different combinations of values,
 * so each combination is stored once.
 */
export interface PathKeys {
  readonly names: readonly PostKey[];
  /** For each row, the index in `sets` of the values of its fields. */
  readonly indexes: Uint32Array;
  readonly sets: (readonly (string | number)[])[];
  /** The index in `sets` of each combination of values, by the JSON of the combination. */
  readonly byText: Map<string, number>;
}

export const PATH_KEYS: RecordColumnKind<PathKeys, readonly PostKey[]> = {
  name: 'pathKeys',
  create: names => rows => {
    const keys: PathKeys = {
      names,
      indexes: new Uint32Array(rows.count),
      sets: [],
      byText: new Map(),
    };
    // If the path template has no fields, all rows share one empty combination of values.
    if (names.length === 0) keys.sets.push([]);
    else rows.each(row => setKeys(keys, row, rows.item(row) as Activity));
    return keys;
  },
  moved: ({ indexes }) => [indexes],
  replace: (keys, row, item) => setKeys(keys, row, item as Activity),
};

export function pathKeys(names: readonly PostKey[]): RecordColumn<PathKeys, readonly PostKey[]> {
  return { kind: PATH_KEYS, options: names };
}

/** @throws DataError if the post does not have a value for a field. */
function setKeys({ names, indexes, sets, byText }: PathKeys, row: number, post: Activity): void {
  const keys = names.map(name => POST_KEYS[name](post));
  const text = JSON.stringify(keys);
  let index = byText.get(text);
  if (index === undefined) {
    index = sets.push(keys) - 1;
    byText.set(text, index);
  }
  indexes[row] = index;
}
