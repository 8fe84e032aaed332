import { checkOptions, cursorError, func, type OptionTable, text, whole } from '../base/check.js';
import { DataError } from '../base/errors.js';
import { stepOperator } from '../files/plan.js';
import type { RecordColumn } from '../files/record-columns.js';
import type { Rows } from '../files/rows.js';
import type { Batch, Cursor, Operator, Run } from '../flow/flow.js';
import { unwrapCursor, wrapCursor } from '../flow/operator-state.js';
import { checkActivities, kindOf } from '../flow/wrong-item.js';
import type { Activity } from '../post/activity.js';
import { IdNumber } from '../post/bytes/ids.js';
import { IdWindow } from '../post/id-window.js';

/** Options of `dedupe`: how many ids it remembers, and the name under which progress counts duplicates. */
export interface DedupeOptions {
  /**
   * How many ids to remember. These are the ids of the last items that passed. Each id takes about 30 bytes
   * of memory, and 5 to 10 bytes in a checkpoint.
   * @default 100000
   */
  readonly window?: number | undefined;
  /**
   * The name under which progress counts the duplicates.
   * @default 'dedupe'
   */
  readonly name?: string | undefined;
}

/** Options of `dedupe` for items that are not activities. Such items need a key. */
export interface DedupeByKeyOptions<T> extends DedupeOptions {
  /**
   * Returns the key of an item. Items with equal keys are duplicates. It is an error if an item has no key.
   */
  readonly key: (item: T) => string | bigint;
}

const OPTIONS = {
  window: whole('ids to remember', { min: 1, orInfinity: true, default: 100_000 }),
  name: text('how progress counts dropped items', 'dedupe'),
} satisfies OptionTable<DedupeOptions>;
const KEYED = {
  ...OPTIONS,
  key: func<(item: Activity) => string | bigint>('what two items that count as the same share'),
};

/**
 * Drops each item whose id equals the id of one of the last `window` items that passed. A search page may
 * repeat posts of the previous page, and a replay may repeat posts after a reconnect.
 *
 * The remembered ids are part of the cursor. A run that resumes from a checkpoint therefore drops posts that
 * the previous run has already written.
 *
 * @throws OptionError Immediately, if an option is invalid.
 * @throws DataError From the flow, if `key` is not given and an item is not an activity. Also from the flow,
 *   if `key` returns anything but a string or an integer. Otherwise, different items whose key is `undefined`
 *   would be dropped as duplicates.
 *
 * @example
 * pipeline(search(account(), query), dedupe(), files({ path: 'out/{day}.jsonl' }));
 */
export function dedupe<T>(options: DedupeByKeyOptions<T>): Operator<T, T>;
export function dedupe(options?: DedupeOptions): Operator<Activity, Activity>;
export function dedupe(
  options: DedupeOptions & { readonly key?: (item: Activity) => string | bigint } = {},
): Operator<Activity, Activity> {
  const { key, window, name } = checkOptions('dedupe', KEYED, options);
  const identity = {
    step: 'dedupe',
    window: Number.isFinite(window) ? window : null,
    key: key === undefined ? 'id' : '(a function)',
  };
  const start = ({ resume: cursor, progress }: Run) => {
    const { state = [], inner: resume } = unwrapCursor('dedupe', cursor);
    const ids = new IdWindow(window);
    restore(ids, state);
    return {
      resume,
      pass: (rows: Rows) => {
        const passed = rows.filter(isNew(ids, rows, key));
        progress?.drop(name, rows.count - passed.count);
        return passed;
      },
      cursor: (inner: Cursor) => wrapCursor('dedupe', ids.state(), inner),
    };
  };
  if (key !== undefined) return stepOperator({ identity, start, isPlanned: false });
  const check = (batch: Batch<unknown>) => checkActivities('dedupe', batch, 'give `key`');
  return stepOperator({ identity, start, check, columns: [IDS] });
}

/**
 * Returns a key as a string. Rejects keys that would make different items look like duplicates: `undefined`,
 * and numbers so large that two ids may be rounded to the same number.
 */
function textOf(key: unknown): string {
  if (typeof key === 'string') return key;
  if (typeof key === 'bigint' || Number.isSafeInteger(key)) return String(key);
  const got = typeof key === 'number' ? `the number ${key}` : kindOf(key);
  throw new DataError(
    `The option \`key\` of dedupe() must return text or a bigint, but returned ${got}`,
    {
      advice: 'Filter out items without a key, or give them one',
    },
  );
}

interface Ids {
  /** The id of each row as two 32-bit halves. Both are 0 if the id is in `others`. */
  readonly halves: Uint32Array;
  /** The ids that are not 64-bit integers, by row. `undefined` if there are none. */
  readonly others: ReadonlyMap<number, string> | undefined;
}

export const IDS: RecordColumn<Ids, undefined> = {
  kind: {
    name: 'ids',
    create: () => {
      const number = new IdNumber();
      return rows => {
        const { content, count, starts, lengths, marks } = rows;
        const halves = new Uint32Array(2 * count);
        let others: Map<number, string> | undefined;
        // Uses a loop, because V8 optimises it sooner than a callback for each row.
        for (let row = 0; row < count; row++) {
          if (lengths[row] === 0) continue;
          const digits = marks[row]!;
          if (digits === 0 || !number.parseDigits(content, starts[row]! + digits)) {
            const { id } = rows.item(row) as Activity;
            if (!number.parse(id)) {
              others ??= new Map();
              others.set(row, id);
              continue;
            }
          }
          halves[2 * row] = number.high;
          halves[2 * row + 1] = number.low;
        }
        return { halves, others };
      };
    },
    moved: ({ halves }) => [halves],
  },
  options: undefined,
};

/**
 * Returns a function that tells whether the id or key of a row is new. The function remembers each id, so a
 * second call for the same id returns false.
 *
 * @param key The caller's function that returns the key of an item.
 */
function isNew(
  ids: IdWindow,
  rows: Rows,
  key: ((item: Activity) => unknown) | undefined,
): (row: number) => boolean {
  if (key !== undefined) return row => ids.add(textOf(key(rows.item(row) as Activity)));
  const { halves, others } = rows.column(IDS);
  return row => {
    const other = others?.get(row);
    return other === undefined
      ? ids.addNumber(halves[2 * row]!, halves[2 * row + 1]!)
      : ids.add(other);
  };
}

function restore(ids: IdWindow, state: unknown): void {
  try {
    if (!Array.isArray(state)) throw new TypeError('Expected an array');
    ids.restore(state);
  } catch (cause) {
    throw cursorError('is damaged: it does not have the ids of dedupe()', { cause });
  }
}
