import type { Work } from '../question.js';
import { download } from './download.js';

export function run(work: Work): Promise<void> {
  return download(work, 8);
}
