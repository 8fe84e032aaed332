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

/** Options of `dedupe`: how many ids it remembers, and the name under which it counts duplicates. */
export interface DedupeOptions {
  /**
   * The number of ids to remember, from the last items that passed. Each id takes about 30 bytes of memory,
   * and 5 to 10 bytes in a checkpoint.
   * @default 100000
   */
  readonly window?: number | undefined;
  /**
   * The name under which progress counts dropped items.
   * @default 'dedupe'
   */
  readonly name?: string | undefined;
}

/** Options of `dedupe` for items that are not activities. They need a key. */
export interface DedupeByKeyOptions<T> extends DedupeOptions {
  /** Returns the key of an item. Items with equal keys are duplicates. An item without a key is an error. */
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
 * The ids are part of the cursor, so a run that resumes from a checkpoint drops posts that the previous run
 * has written.
 *
 * @throws OptionError Immediately, if an option is invalid.
 * @throws DataError From the flow, for an item that is not an activity if there is no `key`, and for an item
 * whose `key` is not a string or an integer, because it could equal the key of another item.
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
 * Refuses keys that would lose items as duplicates: `undefined`, and numbers so large that two ids are
 * rounded to the same number.
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

/** The ids of rows. */
interface Ids {
  /** Two 32-bit halves of the id for each row; 0 if the id is in `others`. */
  readonly halves: Uint32Array;
  /** The ids that are not 64-bit integers, by row, if there are any. */
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
        // Uses a loop instead of a callback for each row, because V8 optimises it sooner.
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
 * Returns whether the id of a row is new, and remembers it, so that a second call returns false.
 * @param key The function of the caller, for items that are not rows.
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
