import { checkOptions, type OptionTable, required, special, whole } from '../base/check.js';
import { stepOperator } from '../files/plan.js';
import type { RecordColumn, RecordColumnKind } from '../files/record-columns.js';
import type { Operator } from '../flow/flow.js';
import { checkActivities } from '../flow/wrong-item.js';
import type { Activity } from '../post/activity.js';
import { IdNumber } from '../post/bytes/ids.js';

/** Options of `sample`: what fraction of the posts passes, and the seed of the hash that chooses them. */
export interface SampleOptions {
  /** The fraction of all posts that passes, such as 0.1 for a tenth. */
  readonly ratio: number;
  /**
   * The seed of the hash. A different seed chooses a different sample of about the same size.
   * @default 0
   */
  readonly seed?: number | undefined;
}

const MAX_SEED = 2 ** 32 - 1;

const OPTIONS = {
  ratio: required(
    special<number>(
      'the part of the posts that pass',
      'a number from 0 to 1',
      value => typeof value === 'number' && value >= 0 && value <= 1,
    ),
  ),
  seed: whole('which posts they are', { max: MAX_SEED, default: 0 }),
} satisfies OptionTable<SampleOptions>;

/**
 * Passes a fixed fraction of all posts. A hash of the id chooses the posts, so they are the same in every
 * run, on every machine and in both formats. Duplicates of a post either all pass or are all dropped. With
 * the same `seed`, a sample with a smaller `ratio` is a subset of a sample with a larger `ratio`.
 *
 * @throws OptionError Immediately, if an option is invalid.
 * @throws DataError From the flow, if an item is not an activity or has no id. Without an id, nothing can
 *   tell whether a post belongs to the sample.
 *
 * @example
 * pipeline(localFiles('archive'), gunzip(), jsonLines(), activities(), sample({ ratio: 0.01 }), files({ path: 'some.jsonl' }));
 */
export function sample(options: SampleOptions): Operator<Activity, Activity> {
  const { ratio, seed } = checkOptions('sample', OPTIONS, options);
  const column: RecordColumn<Uint8Array, Sampling> = { kind: SAMPLED, options: { ratio, seed } };
  return stepOperator({
    identity: { step: 'sample', ratio, seed },
    columns: [column],
    check: batch => checkActivities('sample', batch),
    start: ({ resume, progress }) => ({
      resume,
      pass: rows => {
        const isSampled = rows.column(column);
        const passed = rows.filter(row => isSampled[row] === 1);
        progress?.drop('sample', rows.count - passed.count);
        return passed;
      },
    }),
  });
}

interface Sampling {
  readonly ratio: number;
  readonly seed: number;
}

/** For each row, 1 if the post belongs to the sample, otherwise 0. */
export const SAMPLED: RecordColumnKind<Uint8Array, Sampling> = {
  name: 'sampled',
  create: ({ ratio, seed }) => {
    const id = new IdNumber();
    return rows => {
      const { content, count, starts, lengths, marks } = rows;
      const sampled = new Uint8Array(count);
      for (let row = 0; row < count; row++) {
        if (lengths[row] === 0) continue;
        const digits = marks[row]!;
        const hash =
          digits !== 0 && id.parseDigits(content, starts[row]! + digits)
            ? hashOf(id, seed)
            : hashOfText((rows.item(row) as Activity).id, id, seed);
        if (hash < ratio * 2 ** 32) sampled[row] = 1;
      }
      return sampled;
    };
  },
  moved: sampled => [sampled],
};

/**
 * Returns a 32-bit hash of an id. The result for an id must never change. Otherwise, the next run of a
 * pipeline would choose different posts.
 */
function hashOf({ high, low }: { readonly high: number; readonly low: number }, seed: number) {
  return mixed(mixed(mixed(seed + 1) ^ high) ^ low);
}

function hashOfText(text: string, id: IdNumber, seed: number): number {
  if (id.parse(text)) return hashOf(id, seed);
  let hash = seed + 1;
  for (let at = 0; at < text.length; at++) hash = mixed(hash ^ text.charCodeAt(at));
  return mixed(hash);
}

/** The finalizer of MurmurHash3. Every bit of the value affects all bits of the result. */
function mixed(value: number): number {
  let hash = value | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
