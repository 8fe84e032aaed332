import { describe, expect, it } from 'vitest';
import { openSampleArchive } from '../../../src/service/archive/sample/sample-archive.js';
import { samplePosts } from '../../../src/service/index.js';
import { HOUR, MINUTE } from '../../../src/time.js';

describe('made-up posts', () => {
  it('are nearly all reposted within the time for which the archive says that it pays to look', () => {
    const { reactionsMs = 0 } = openSampleArchive({ now: () => 0 });
    const start = Date.UTC(2024, 2, 5);
    const delays: number[] = [];
    for (let at = start; at < start + 4 * HOUR; at += MINUTE)
      for (const { retweeted, postedAt } of samplePosts(at))
        if (retweeted !== undefined) delays.push(postedAt.getTime() - retweeted.postedAt.getTime());
    expect(delays.length).toBeGreaterThan(100);
    expect(Math.min(...delays)).toBeGreaterThan(0);
    const late = delays.filter(delay => delay > reactionsMs);
    expect(late.length).toBeLessThan(delays.length / 100);
  });
});
