import type { Work } from '../question.js';
import { copyTwelve } from './duckdb-twelve.js';

export function run(work: Work): Promise<void> {
  return copyTwelve(work, 'csv');
}
