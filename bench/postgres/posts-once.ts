import { type Activity, dedupe, type Flow, tables } from 'millrace';
import type { Work } from '../question.js';
import { readPosts } from '../tables/read-posts.js';

/** Delivers each post of the corpus once. */
export function postsOnce(work: Work): Flow<Activity> {
  return dedupe()(readPosts(work));
}

const lineOf = tables.toCsv();

export function toCsv(posts: readonly Activity[]): string {
  return posts.map(lineOf).join('').replaceAll('\0', '');
}
