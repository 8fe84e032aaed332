import type { Work } from '../question.js';
import { intoPostgres } from './into-postgres.js';
import { postsOnce, toCsv } from './posts-once.js';

export function run(work: Work): Promise<void> {
  return intoPostgres(postsOnce(work), toCsv);
}
