import { committed, pipeline, tables } from 'millrace';
import type { Work } from '../question.js';
import { intoPostgres } from './into-postgres.js';
import { postsOnce } from './posts-once.js';

/** The rows of the posts, encoded by threads. */
export function run(work: Work): Promise<void> {
  return intoPostgres(({ copy, ...calls }) =>
    pipeline(postsOnce(work), committed({ ...calls, encode: tables.toCsv(), write: copy })),
  );
}
