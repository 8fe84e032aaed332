import type { Work } from '../question.js';
import { replayed } from './replayed.js';

export function run(work: Work): Promise<void> {
  return replayed(work, 256 * 2 ** 20);
}
