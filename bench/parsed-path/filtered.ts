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

export async function filtered(work: Work, passes: (activity: Activity) => boolean): Promise<void> {
  const ids = await pipeline(
    localFiles(work.files),
    gunzip(),
    jsonLines(),
    activities(),
    filter(passes),
    map(activity => activity.id),
    collect(),
  );
  await tell(work, ids);
}

/** Whether the author has more than `FOLLOWERS` followers. Reading `post` requires parsing it. */
export function hasFollowers({ post }: Activity): boolean {
  return (post as OriginalPost).user.followers_count > FOLLOWERS;
}
