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
      (activity: Activity) => (activity.post as OriginalPost).user.followers_count > FOLLOWERS,
    ),
    map(activity => activity.id),
    collect(),
  );
  await tell(work, ids);
}
