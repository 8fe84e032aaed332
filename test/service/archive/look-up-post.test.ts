import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { DAY, MINUTE } from '../../../src/base/time.js';
import { findPost } from '../../../src/service/archive/look-up-post.js';
import { createService, samplePosts } from '../../../src/service/index.js';
import { openSampleArchive } from '../../../src/service/sample/sample-archive.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { NOW } from '../local-service.js';
import { MemoryArchive } from '../memory-archive.js';
import { idOf, type PostOptions, post } from '../users/engagement-posts.js';

const MINE: PostOptions = { ago: 2 * DAY, favorites: 5, retweets: 1, replies: 2 };
const OTHER: PostOptions = { ago: 3 * DAY, low: 1, favorites: 7 };

describe('findPost', () => {
  const signal = new AbortController().signal;
  const now = Date.UTC(2024, 4, 15);

  it.each(['2006-03-22', '2008-07-01', '2010-11-04', '2010-11-05', '2015-01-01', '2024-05-14'])(
    'finds a generated post of %s by its id',
    async day => {
      const archive = openSampleArchive({ now: () => now });
      const at = Date.parse(`${day}T01:40:00Z`);
      const posts = [...samplePosts(at), ...samplePosts(at + MINUTE)];
      expect(posts.length).toBeGreaterThan(3);
      for (const { id } of posts)
        expect((await findPost(archive, id, now, { signal }))?.activity.id).toBe(id);
      for (const id of ['1', '29999999999', String(BigInt(posts[0]?.id ?? 0) + 11_000n)])
        expect(await findPost(archive, id, now, { signal })).toBe(undefined);
      await archive.close();
    },
  );

  it('finds the author of a stored post by handle, so that the author can sign in', async () => {
    const folder = await temporaryFolder();
    const lines = [post(MINE), post(OTHER)].map(({ activity }) => `${activity.raw}\n`);
    await mkdir(path.join(folder, '2024'), { recursive: true });
    await writeFile(path.join(folder, '2024', 'posts.json.gz'), gzipSync(lines.join('')));
    const service = createService({ archive: folder });
    service.clock.set(NOW);
    await service.start();
    try {
      expect(await service.oauth.signIn('ANN', 'local-service')).toEqual({
        id: '7',
        handle: 'ann',
        name: 'Ann',
      });
      expect(await service.oauth.signIn('bob', 'local-service')).toBe(undefined);
    } finally {
      await service.stop();
    }
  });

  it('does not find a post that is newer than the clock', async () => {
    const archive = new MemoryArchive([post(MINE)]);
    const id = idOf(MINE);
    expect(await findPost(archive, id, NOW, { signal })).toBeDefined();
    expect(await findPost(archive, id, NOW - 3 * DAY, { signal })).toBe(undefined);
  });
});
