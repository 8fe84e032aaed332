import type { Activity } from './activity.js';

/**
 * Reports the ids of a post, of its other versions, and of its author; and the same for the posts that it shares
 * and quotes.
 *
 * @throws DataError where one of them lacks what all posts have.
 */
export function eachShownId(
  activity: Activity,
  found: (of: 'post' | 'user', id: string) => void,
): void {
  const { id, versionIds, author, retweeted, quoted } = activity;
  found('post', id);
  for (const version of versionIds) found('post', version);
  found('user', author.id);
  if (retweeted !== undefined) eachShownId(retweeted, found);
  if (quoted !== undefined) eachShownId(quoted, found);
}
