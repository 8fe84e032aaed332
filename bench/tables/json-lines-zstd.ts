import { files, pipeline } from 'millrace';
import type { Work } from '../question.js';
import { readPosts } from './read-posts.js';

export async function run(work: Work): Promise<void> {
  await pipeline(readPosts(work), files({ path: `${work.out}/posts.jsonl.zst` }));
}
