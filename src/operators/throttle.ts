import {
  checkOptions,
  milliseconds,
  type OptionTable,
  optionError,
  special,
  whole,
} from '../base/check.js';
import { SECOND } from '../base/time.js';
import { sleep } from '../base/wait.js';
import { type Operator, ownOperator } from '../flow/flow.js';
import type { Progress } from '../flow/progress.js';

/** Options of `throttle`: the rate. It is given either as `perSecond`, or as `items` and `perMs`. */
export interface ThrottleOptions {
  /** The maximum number of items per second. 0.5 means one item every 2 s. */
  readonly perSecond?: number | undefined;
  /** The maximum number of items in any span of `perMs` milliseconds. */
  readonly items?: number | undefined;
  /** The length of the span for `items`, in milliseconds. */
  readonly perMs?: number | undefined;
}

const OPTIONS = {
  perSecond: special<number>(
    'items in a second',
    'a number above 0',
    value => typeof value === 'number' && value > 0 && value < Number.POSITIVE_INFINITY,
  ),
  items: whole('items in a span of `perMs`', { min: 1 }),
  perMs: milliseconds('the span for `items`'),
} satisfies OptionTable<ThrottleOptions>;

/**
 * Delays items so that they never exceed a rate in any span of time. Items pass as soon as the rate allows,
 * so the first items pass together. While `throttle` waits, it reads nothing from the source, and progress
 * shows the wait.
 *
 * @throws OptionError Immediately, unless the options are either `perSecond`, or `items` and `perMs`.
 * @example
 * pipeline(source, throttle({ perSecond: 5 }), mapAsync(post => translate(post.text)), stdout());
 * @example
 * pipeline(source, chunk(100), throttle({ items: 30, perMs: 60_000 }), mapAsync(upload), collect());
 */
export function throttle<T>(options: ThrottleOptions): Operator<T, T> {
  const { items: count, perMs } = rateOf(options);
  return ownOperator(async function* (input, { signal, progress }) {
    // A ring buffer of the times at which the last `count` items passed.
    const times: number[] = [];
    let passed = 0;
    for await (const batch of input) {
      const { items, cursor, origin } = batch;
      if (items.length === 0) yield batch;
      // Delivers items one at a time, so that later stages get each item as soon as it passes.
      for (const [index, item] of items.entries()) {
        const at = (times[passed % count] ?? Number.NEGATIVE_INFINITY) + perMs;
        await waitUntil(at, signal, progress);
        times[passed++ % count] = performance.now();
        yield { items: [item], cursor: index === items.length - 1 ? cursor : undefined, origin };
      }
    }
  });
}

function rateOf(options: ThrottleOptions): { readonly items: number; readonly perMs: number } {
  const { perSecond, items, perMs } = checkOptions('throttle', OPTIONS, options);
  if (perSecond === undefined) {
    if (items !== undefined && perMs !== undefined) return { items, perMs };
  } else if (items === undefined && perMs === undefined)
    return perSecond >= 1 && Number.isInteger(perSecond)
      ? { items: perSecond, perMs: SECOND }
      : { items: 1, perMs: SECOND / perSecond };
  throw optionError('throttle', 'perSecond', 'or `items` and `perMs` must be given, but not both');
}

async function waitUntil(
  time: number,
  signal: AbortSignal,
  progress: Progress | undefined,
): Promise<void> {
  let waitMs = time - performance.now();
  if (waitMs <= 0) return;
  const end = progress?.onWait({
    reason: 'throttle',
    until: new Date(Date.now() + waitMs),
    waitMs,
  });
  try {
    // Repeats the sleep, because timers may fire up to a millisecond early.
    for (; waitMs > 0; waitMs = time - performance.now()) await sleep(Math.ceil(waitMs), signal);
  } finally {
    end?.();
  }
}
