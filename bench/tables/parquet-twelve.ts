import { parquet, pipeline } from 'millrace';
import type { Work } from '../question.js';
import { readPosts } from './read-posts.js';

export async function run(work: Work): Promise<void> {
  await pipeline(
    readPosts(work),
    parquet({
      path: `${work.out}/posts.parquet`,
      columns: [
        ...(['id', 'posted_at', 'text', 'lang', 'author_id', 'author_handle'] as const),
        ...(['author_followers', 'favorite_count', 'retweet_count'] as const),
        ...(['hashtags', 'replied_id', 'shared_id'] as const),
      ],
    }),
  );
}
