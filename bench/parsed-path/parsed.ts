import type { Work } from '../question.js';
import { filtered, hasFollowers } from './filtered.js';

export function run(work: Work): Promise<void> {
  return filtered(work, hasFollowers);
}
