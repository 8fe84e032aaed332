import { csv, pipeline } from 'millrace';
import type { Work } from '../question.js';
import { readPosts, TWELVE } from './read-posts.js';

export async function run(work: Work): Promise<void> {
  await pipeline(readPosts(work), csv({ path: `${work.out}/posts.csv`, columns: TWELVE }));
}
