import { checkValue, cursorError, required, whole } from '../check.js';
import { type Batch, type Operator, ownOperator } from '../flow/flow.js';
import { unwrapCursor, wrapCursor } from '../flow/wrapped-cursor.js';

const COUNT = required(whole('the items to take', { orInfinity: true }));

/**
 * Passes the first `count` items, then closes the source and ends. A resumed run counts the items that
 * were taken before.
 *
 * @throws OptionError Immediately, when `count` is not a whole number of 0 or more, or Infinity.
 *
 * @example
 * pipeline(search(account(), query), take(1000), files({ path: 'sample.jsonl' }));
 */
export function take<T>(count: number): Operator<T, T> {
  checkValue('take', 'count', COUNT, count);
  return ownOperator(
    async function* (_, { resume, progress }, open) {
      const { state = 0, inner } = unwrapCursor('take', resume);
      if (!Number.isSafeInteger(state))
        throw cursorError('is damaged: it does not have the count of take()');
      let taken = state as number;
      if (taken >= count) return;
      let last: Batch<T> | undefined;
      for await (const batch of open(inner)) {
        const items = batch.items.slice(0, count - taken);
        taken += items.length;
        progress?.drop('take', batch.items.length - items.length);
        const cursor = batch.cursor && wrapCursor('take', taken, batch.cursor);
        last = { ...batch, items, cursor };
        if (taken >= count) break;
        yield last;
        last = undefined;
      }
      // The source is closed before the consumer gets to work on the last items.
      if (last !== undefined) yield last;
    },
    { step: { step: 'take', count: Number.isFinite(count) ? count : null } },
  );
}
