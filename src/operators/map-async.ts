import pLimit from 'p-limit';
import { firstOf } from '../first-of.js';
import { type Operator, operator } from '../flow.js';
import { atLeastOne } from './record-limits.js';
import { workAhead } from './work-ahead.js';

export interface MapAsyncOptions {
  /**
   * Most calls under way at a time.
   * @default 8
   */
  readonly concurrency?: number | undefined;
}

/**
 * Each item through an asynchronous function, several at a time, in order. The signal that it is
 * given fires when the run is over, so that a call under way can be given up. The first call that
 * rejects ends the run with its error.
 *
 * @example
 * pipeline(source, mapAsync((activity, signal) => translate(activity.text, { signal })), stdout());
 */
export function mapAsync<In, Out>(
  transform: (item: In, signal: AbortSignal) => Promise<Out>,
  { concurrency = 8 }: MapAsyncOptions = {},
): Operator<In, Out> {
  atLeastOne('concurrency', concurrency);
  return operator(async function* (input, { signal }) {
    const limit = pLimit(concurrency);
    const transformAll = ({ items }: { readonly items: readonly In[] }) =>
      firstOf(Promise.all(items.map(item => limit(transform, item, signal))), signal);
    try {
      for await (const { item: batch, result } of workAhead(input, transformAll, concurrency))
        yield { ...batch, items: result ?? [] };
    } finally {
      limit.clearQueue();
    }
  });
}
