import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { Activity } from '../../../src/post/activity.js';
import type { ActivityStreamsPost } from '../../../src/post/activity-streams-post.js';
import type { OriginalPost } from '../../../src/post/original-post.js';
import { findPost } from '../../../src/service/archive/look-up-post.js';
import { engagementsOf } from '../../../src/service/users/engagement-counts.js';
import { archivedPost, archiveFolders } from '../archive/archive-folder.js';

const folder = process.env.MILLRACE_REAL_DATA;
const folders = archiveFolders();

describe.skipIf(folder === undefined)('real posts (needs MILLRACE_REAL_DATA)', () => {
  test.each(['original', 'activity_streams'] as const)(
    'of %s are found by id, with the numbers of likes and reposts that they state',
    async format => {
      const source = path.join(folder as string, 'posts');
      const files: Record<string, Buffer> = {};
      for (const name of await readdir(source))
        files[name] = await readFile(path.join(source, name));
      const archive = await folders.open(await folders.make(files), { format });
      const posts = Object.values(files)
        .flatMap(file => file.toString().split('\n'))
        .filter(line => line !== '')
        .map(line => new Activity(Buffer.from(line)))
        .filter(activity => activity.format === format)
        .map(archivedPost);
      expect(posts.length).toBeGreaterThan(20);
      const { signal } = new AbortController();
      for (const { id } of posts) {
        const found = await findPost(archive, id, Date.now(), { signal });
        expect(found?.activity.id).toBe(id);
      }
      const engagements = await engagementsOf(posts, archive, { signal });
      for (const { id, activity } of posts) {
        const { favorite_count, favoritesCount } = activity.post as OriginalPost &
          ActivityStreamsPost;
        const { favorites = -1, retweets = -1 } = engagements.get(id) ?? {};
        expect(favorites).toBeGreaterThanOrEqual(favorite_count ?? favoritesCount ?? 0);
        expect(retweets).toBeGreaterThanOrEqual(0);
      }
    },
  );
});
