import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { Activity } from '../../src/post/activity.js';
import { completeness } from '../../src/sinks/completeness.js';
import { unchecked } from '../unchecked.js';

const START = Date.UTC(2024, 4, 15, 12);
const at = (seconds: number) =>
  new Activity(
    Buffer.from(
      `{"id":"tag:x,2005:1","postedTime":"${new Date(START + seconds * 1000).toISOString()}"}`,
    ),
  );

async function* flow<T>(items: readonly T[]) {
  yield* items;
}
/** Creates minutes with these counts, newest first, as some services order them. */
const minutes = (...counts: number[]) =>
  flow(
    counts
      .map((count, minute) => ({ start: new Date(START + minute * 60_000), count }))
      .toReversed(),
  );

describe('completeness', () => {
  it('resolves if every bucket contains as many posts as counts() returned', async () => {
    const posts = [at(0), at(59.999), at(120), at(179)];
    expect(await completeness(minutes(2, 0, 2))(flow(posts))).toEqual({
      complete: true,
      expected: 4,
      received: 4,
      outside: 0,
      differing: [],
    });
  });

  it('fails for minutes with too many or too few posts, and for posts outside the window', async () => {
    const posts = [at(-1), at(0), at(60), at(61), at(180)];
    expect(await completeness(minutes(2, 1, 0))(flow(posts))).toEqual({
      complete: false,
      expected: 3,
      received: 5,
      outside: 2,
      differing: [
        { start: new Date(START), expected: 2, received: 1 },
        { start: new Date(START + 60_000), expected: 1, received: 2 },
      ],
    });
  });

  it('throws an OptionError without counts', async () => {
    await expect(completeness(flow([]))(flow([at(0)]))).rejects.toThrow(OptionError);
    expect(() => completeness(unchecked(undefined))).toThrow(OptionError);
  });
});
