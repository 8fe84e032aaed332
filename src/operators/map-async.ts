import pLimit from 'p-limit';
import { abortable } from '../base/abortable.js';
import {
  checkOptions,
  checkValue,
  func,
  type OptionTable,
  required,
  whole,
} from '../base/check.js';
import { type Operator, ownOperator } from '../flow/flow.js';
import { workAhead } from '../flow/read-ahead.js';
import { detached } from '../post/detach-from-block.js';

/** Options of `mapAsync`: how many calls it makes at a time. */
export interface MapAsyncOptions {
  /**
   * The maximum number of calls at a time.
   * @default 8
   */
  readonly concurrency?: number | undefined;
}

const OPTIONS = {
  concurrency: whole('calls under way at a time', { min: 1, orInfinity: true, default: 8 }),
} satisfies OptionTable<MapAsyncOptions>;
const TRANSFORM = required(func('what is made from each item'));

/**
 * Maps each item with an asynchronous function. Several calls run at a time, and the results keep the order
 * of the items. The function also gets a signal that is aborted when the run ends, so that pending calls can
 * stop. If a call rejects, the run ends with its error.
 *
 * @throws OptionError Immediately, if `transform` is not a function or an option is invalid.
 * @example
 * pipeline(source, mapAsync((activity, signal) => translate(activity.text, { signal })), stdout());
 */
export function mapAsync<In, Out>(
  transform: (item: In, signal: AbortSignal) => Promise<Out>,
  options: MapAsyncOptions = {},
): Operator<In, Out> {
  checkValue('mapAsync', 'transform', TRANSFORM, transform);
  const { concurrency } = checkOptions('mapAsync', OPTIONS, options);
  return ownOperator(
    async function* (input, { signal }) {
      const limit = pLimit(concurrency);
      const transformAll = ({ items }: { readonly items: readonly In[] }) =>
        abortable(Promise.all(detached(items).map(item => limit(transform, item, signal))), signal);
      try {
        for await (const { item: batch, result } of workAhead(input, transformAll, concurrency))
          yield { ...batch, items: result ?? [] };
      } finally {
        limit.clearQueue();
      }
    },
    { step: { step: 'mapAsync' } },
  );
}
