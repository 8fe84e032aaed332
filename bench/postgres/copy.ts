import type { Work } from '../question.js';
import { intoPostgres } from './into-postgres.js';

export function run(work: Work): Promise<void> {
  return intoPostgres(work, 'posts', '', '');
}
