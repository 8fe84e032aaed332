import type { Activity } from '../activity/activity.js';
import { IdWindow } from '../activity/id-window.js';
import { checkOptions, func, type OptionTable, optionError, text, whole } from '../check.js';
import { type Operator, operator } from '../flow/flow.js';
import { internalOperator } from '../flow/internal-flow.js';
import { withOrigin } from '../flow/with-origin.js';
import { unwrapCursor, wrapCursor } from '../flow/wrapped-cursor.js';

/** How many ids `dedupe` remembers, and the name under which it counts duplicates. */
export interface DedupeOptions {
  /**
   * The number of ids to remember, of the last items that passed. Each takes about 30 bytes of
   * memory, and 5 to
   * 10 bytes in a checkpoint.
   * @default 100000
   */
  readonly window?: number | undefined;
  /**
   * The name under which progress counts dropped items.
   * @default 'dedupe'
   */
  readonly name?: string | undefined;
}

/** The options of `dedupe` for items that are not activities, which need a key. */
export interface DedupeByKeyOptions<T> extends DedupeOptions {
  /** The key of an item: items with equal keys are duplicates. */
  readonly key: (item: T) => string | bigint;
}

const OPTIONS = {
  window: whole('ids to remember', { min: 1, orInfinity: true, default: 100_000 }),
  name: text('how progress counts what is left out', 'dedupe'),
} satisfies OptionTable<DedupeOptions>;
const KEYED = {
  ...OPTIONS,
  key: func<(item: Activity) => string | bigint>('what two items that count as the same share'),
};

/**
 * Leaves out items whose id is among those of the last `window` items that passed. Search pages may
 * repeat posts where they meet, and a replay may repeat posts after a reconnect.
 *
 * The ids are part of the cursor, so a run that resumes from a checkpoint leaves out posts that the
 * previous run has written.
 *
 * @throws OptionError Immediately, when an option is invalid.
 *
 * @example
 * pipeline(search(account(), query), dedupe(), files({ path: 'out/{day}.jsonl' }));
 */
export function dedupe<T>(options: DedupeByKeyOptions<T>): Operator<T, T>;
export function dedupe(options?: DedupeOptions): Operator<Activity, Activity>;
export function dedupe(
  options: DedupeOptions & { readonly key?: (item: Activity) => string | bigint } = {},
): Operator<Activity, Activity> {
  const { key = idOf, window, name } = checkOptions('dedupe', KEYED, options);
  // A function of the caller may keep items, so their memory must not be released.
  const make = key === idOf ? internalOperator : operator;
  return make<Activity, Activity>(
    async function* (_, { resume, progress }, open) {
      const { state = [], inner } = unwrapCursor('dedupe', resume);
      const ids = new IdWindow(window);
      restore(ids, state);
      for await (const batch of open(inner)) {
        const items = withOrigin(batch.origin, () =>
          batch.items.filter(item => ids.add(String(key(item)))),
        );
        progress?.drop(name, batch.items.length - items.length);
        const cursor = batch.cursor && wrapCursor('dedupe', ids.state(), batch.cursor);
        yield { ...batch, items, cursor };
      }
    },
    {
      step: {
        step: 'dedupe',
        window: Number.isFinite(window) ? window : null,
        key: key === idOf ? 'id' : '(a function)',
      },
    },
  );
}

function idOf(activity: Activity): string {
  return activity.id;
}

function restore(ids: IdWindow, state: unknown): void {
  try {
    if (!Array.isArray(state)) throw new TypeError('Expected an array');
    ids.restore(state);
  } catch (cause) {
    throw optionError('dedupe', 'resume', 'is damaged: it does not hold the ids that were seen', {
      cause,
    });
  }
}
