import type { Work } from '../question.js';
import { COLUMNS } from './columns.js';
import { intoPostgres } from './into-postgres.js';

const NEWER = COLUMNS.map(({ name }) => `${name} = EXCLUDED.${name}`).join();

export function run(work: Work): Promise<void> {
  return intoPostgres(
    work,
    'staging',
    'CREATE TEMP TABLE staging (LIKE posts)',
    `INSERT INTO posts SELECT * FROM staging ON CONFLICT (id) DO UPDATE SET ${NEWER}; TRUNCATE staging`,
  );
}
