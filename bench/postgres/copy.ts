import { committed, pipeline, tables } from 'millrace';
import type { Work } from '../question.js';
import { intoPostgres } from './into-postgres.js';
import { postsOnce } from './posts-once.js';

export function run(work: Work): Promise<void> {
  return intoPostgres(({ copy, ...calls }) =>
    pipeline(postsOnce(work), committed({ ...calls, encode: tables.toCsv(), write: copy })),
  );
}
