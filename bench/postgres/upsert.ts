import type { Work } from '../question.js';
import { COLUMNS } from './columns.js';
import { intoPostgres } from './into-postgres.js';
import { postsOnce, toCsv } from './posts-once.js';

const NEWER = COLUMNS.map(({ name }) => `${name} = EXCLUDED.${name}`).join();

export function run(work: Work): Promise<void> {
  return intoPostgres(postsOnce(work), toCsv, {
    table: 'staging',
    before: 'CREATE TEMP TABLE IF NOT EXISTS staging (LIKE posts)',
    after: `INSERT INTO posts SELECT * FROM staging ON CONFLICT (id) DO UPDATE SET ${NEWER}; TRUNCATE staging`,
  });
}
