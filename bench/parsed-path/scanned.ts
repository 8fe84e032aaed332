import {
  type Activity,
  activities,
  collect,
  filter,
  gunzip,
  jsonLines,
  localFiles,
  map,
  type OriginalPost,
  pipeline,
} from 'millrace';
import type { Work } from '../question.js';
import { FOLLOWERS, tell } from './kept.js';

export async function run(work: Work): Promise<void> {
  const ids = await pipeline(
    localFiles(work.files),
    gunzip(),
    jsonLines(),
    activities(),
    filter(
      work.compared
        ? (activity: Activity) => (activity.post as OriginalPost).user.followers_count > FOLLOWERS
        : saysAll,
    ),
    map(activity => activity.id),
    collect(),
  );
  await tell(work, ids);
}

/** True of all: the result is used, so that nothing is left out. */
function saysAll({ id, postedAt, lang, author, matchingRules }: Activity): boolean {
  return (
    id.length + postedAt.getTime() + (lang?.length ?? 0) + author.handle.length > 0 &&
    matchingRules.length > 0
  );
}
