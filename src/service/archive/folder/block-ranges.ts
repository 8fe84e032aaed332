import { DAY, floorTo, MINUTE, type Window } from '../../../time.js';

/**
 * The ranges of time that blocks are of: days with posts, and days with many in pieces of whole
 * minutes. `counts` says how many posts each minute has; only a minute with more than `most` makes a
 * block with more.
 */
export function* blockRanges(
  counts: ReadonlyMap<number, number>,
  maxPosts: number,
): Generator<Window> {
  const minutes = [...counts].sort(([a], [b]) => a - b);
  let from = Number.NaN;
  let posts = 0;
  let last = Number.NaN;
  for (const [minute, count] of minutes) {
    const isNewDay = floorTo(DAY, minute) !== floorTo(DAY, last);
    if (posts > 0 && (isNewDay || posts + count > maxPosts)) {
      yield { from, to: isNewDay ? last + MINUTE : minute };
      posts = 0;
    }
    if (posts === 0) from = minute;
    posts += count;
    last = minute;
  }
  if (posts > 0) yield { from, to: last + MINUTE };
}
