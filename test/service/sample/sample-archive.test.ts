import { setImmediate } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { DAY, SEGMENT } from '../../../src/base/time.js';
import { openSampleArchive } from '../../../src/service/sample/sample-archive.js';

it('a scan of generated posts lets other requests run between the posts of a segment', async () => {
  const from = Date.UTC(2024, 4, 1);
  const archive = openSampleArchive({ postsPerMinute: 20, now: () => from + 10 * SEGMENT });
  // On this clock, each post takes longer than the archive may work without a pause.
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 100;
    return now;
  });
  onTestFinished(() => void clock.mockRestore());
  const [turns, ended] = [{ count: 0 }, new AbortController()];
  const counting = (async () => {
    for (; !ended.signal.aborted; turns.count++) await setImmediate();
  })();
  let posts = 0;
  for await (const segment of archive.scan({ from, to: from + SEGMENT }))
    posts += segment.posts.length;
  ended.abort();
  await counting;
  expect(posts).toBeGreaterThan(50);
  expect(turns.count).toBeGreaterThanOrEqual(posts);
});

it('generated posts have the format of their archive, even if another archive has the same seed', async () => {
  const from = Date.UTC(2024, 4, 1);
  for (const format of ['original', 'activity_streams'] as const) {
    const archive = openSampleArchive({ seed: 'formats', format, now: () => from + DAY });
    for await (const { posts } of archive.scan({ from, to: from + SEGMENT }))
      expect(new Set(posts.map(({ activity }) => activity.format))).toEqual(new Set([format]));
  }
});
