import { compileRule } from '../../rules/match/compile-rule.js';
import type { RuleNode } from '../../rules/tree.js';
import { FIRST_POST } from '../../time.js';
import type { Archive } from '../archive/archive.js';
import type { User } from './grants.js';

/** The author with a handle, ignoring case, as the newest post of the archive shows them. */
export async function findAuthor(
  archive: Archive,
  handle: string,
  now: number,
): Promise<User | undefined> {
  const name = handle.replace(/^@/, '');
  if (!/^\w{1,50}$/.test(name)) return undefined;
  if (archive.author !== undefined) return archive.author(name);
  // A handle of digits could match an id instead; the last line compares the handle.
  const tree: RuleNode = { kind: 'operator', name: 'from', value: name, start: 0, end: 0 };
  const matches = compileRule(tree, { product: 'search' });
  const window = { from: FIRST_POST, to: now + 1 };
  const { posts } = await archive.search({ tree, matches }, window, { limit: 1 });
  const author = posts[0]?.activity.author;
  return author?.handle.toLowerCase() === name.toLowerCase() ? author : undefined;
}
