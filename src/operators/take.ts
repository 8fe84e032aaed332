import { checkValue, cursorError, required, whole } from '../base/check.js';
import { stepOperator } from '../files/plan.js';
import type { Operator } from '../flow/flow.js';
import { unwrapCursor, wrapCursor } from '../flow/operator-state.js';

const COUNT = required(whole('the items to take', { orInfinity: true }));

/**
 * Passes the first `count` items, then closes the source and ends. After a resume, the items of earlier runs
 * count as well.
 *
 * @throws OptionError Immediately, if `count` is not a whole number of 0 or more, or Infinity.
 *
 * @example
 * pipeline(search(account(), query), take(1000), files({ path: 'sample.jsonl' }));
 */
export function take<T>(count: number): Operator<T, T> {
  checkValue('take', 'count', COUNT, count);
  return stepOperator<T, T>({
    identity: { step: 'take', count: Number.isFinite(count) ? count : null },
    start: ({ resume: cursor, progress }) => {
      const { state = 0, inner: resume } = unwrapCursor('take', cursor);
      if (!Number.isSafeInteger(state))
        throw cursorError('is damaged: it does not have the count of take()');
      let taken = state as number;
      const takenOf = (length: number) => {
        const some = Math.min(length, count - taken);
        taken += some;
        progress?.drop('take', length - some);
        return some;
      };
      return {
        resume,
        get isDone() {
          return taken >= count;
        },
        pass: rows => rows.slice(0, takenOf(rows.count)),
        cursor: inner => wrapCursor('take', taken, inner),
      };
    },
  });
}
