import { committed, pipeline, tables } from 'millrace';
import type { Work } from '../question.js';
import { COLUMNS } from './columns.js';
import { intoPostgres } from './into-postgres.js';
import { postsOnce } from './posts-once.js';

const NEWER = COLUMNS.map(({ name }) => `${name} = EXCLUDED.${name}`).join();

export function run(work: Work): Promise<void> {
  return intoPostgres(
    ({ copy, ...calls }) =>
      pipeline(postsOnce(work), committed({ ...calls, encode: tables.toCsv(), write: copy })),
    {
      table: 'staging',
      before: 'CREATE TEMP TABLE IF NOT EXISTS staging (LIKE posts)',
      after: `INSERT INTO posts SELECT * FROM staging ON CONFLICT (id) DO UPDATE SET ${NEWER}; TRUNCATE staging`,
    },
  );
}
