import { csv, dedupe, pipeline } from 'millrace';
import type { Work } from '../question.js';
import { readPosts } from '../tables/read-posts.js';

export async function run(work: Work): Promise<void> {
  await pipeline(readPosts(work), dedupe(), csv({ path: `${work.out}/own.csv` }));
}
