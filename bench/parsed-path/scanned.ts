import type { Activity } from 'millrace';
import type { Work } from '../question.js';
import { filtered, hasFollowers } from './filtered.js';

export function run(work: Work): Promise<void> {
  return filtered(work, work.compared ? hasFollowers : saysAll);
}

/**
 * Returns true for every post. The result depends on all values that are read, so that the compiler
 * cannot remove the reads.
 */
function saysAll({ id, postedAt, lang, author, matchingRules }: Activity): boolean {
  return (
    id.length + postedAt.getTime() + (lang?.length ?? 0) + author.handle.length > 0 &&
    matchingRules.length > 0
  );
}
