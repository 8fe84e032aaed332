import {
  type Activity,
  activities,
  compose,
  type Flow,
  gunzip,
  jsonLines,
  localFiles,
} from 'millrace';
import type { Work } from '../question.js';

export function readPosts({ files }: Work): Flow<Activity> {
  return compose(gunzip(), jsonLines(), activities())(localFiles(files));
}

export const TWELVE = [
  ...(['id', 'posted_at', 'text', 'lang', 'author_id', 'author_handle'] as const),
  ...(['author_followers', 'favorite_count', 'retweet_count'] as const),
  ...(['hashtags', 'replied_id', 'shared_id'] as const),
] as const;
