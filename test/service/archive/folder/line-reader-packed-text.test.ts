import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { scanAll } from '../archive-folder.js';
import { folders, NOON, posts } from './noon-posts.js';

describe('LineReader, with a file that is too large to be inflated for each request,', () => {
  test('reads the lines of a gzip file', async () => {
    const all = posts(NOON, 120);
    // The text has about 17 MB. One line spans many chunks.
    const padded = all.map((post, i) => {
      const noise = i === 7 ? 'many '.repeat(1_000_000) : 'few '.repeat(15_000);
      return `${post.raw.toString().slice(0, -1)},"noise":"${noise}"}`;
    });
    const file = gzipSync(`\n${padded.join('\n')}\n`);
    const archive = await folders.open(await folders.make({ 'large.json.gz': file }));
    const found = await scanAll(archive);
    expect(
      found.map(({ activity }) => activity.raw.toString()).join('\n') === padded.join('\n'),
    ).toBe(true);
  });
});
