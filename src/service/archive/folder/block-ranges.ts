import { DAY, floorTo, MINUTE, type Window } from '../../../time.js';

/**
 * The ranges of time of an index's blocks: one for each day with posts, and several, in whole minutes,
 * for a day with more than `maxPosts`. Only a single minute may have more.
 *
 * @param counts The number of posts of each minute.
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
