import { type Activity, dedupe, type Flow } from 'millrace';
import type { Work } from '../question.js';
import { readPosts } from '../tables/read-posts.js';

export function postsOnce(work: Work): Flow<Activity> {
  return dedupe()(readPosts(work));
}
