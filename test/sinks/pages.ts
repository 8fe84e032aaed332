import { setTimeout as sleep } from 'node:timers/promises';
import { Flow } from '../../src/flow/flow.js';
import type { Activity } from '../../src/post/activity.js';
import { post } from './posts.js';

export const PAGES = 60;
const POSTS = 20;
const TAGS = ['snow', 'eis & schnee', '../hail'];

export function pages(): Flow<Activity> {
  return new Flow(async function* ({ resume }) {
    for (let page = resume === undefined ? 0 : Number(resume.page); page < PAGES; page++) {
      if (page % 8 === 0) await sleep(1);
      const items = pageOf(page);
      // Every third batch has no cursor, so a run cannot resume after it.
      yield page % 3 === 0 ? { items } : { items, cursor: { page: page + 1 } };
    }
  });
}

/**
 * Returns the posts of a page, which are the same in each call. Like a page of a search, it repeats
 * some posts of the previous page.
 */
export function pageOf(page: number): Activity[] {
  const repeated = page === 0 ? 0 : page % 4;
  return Array.from({ length: POSTS + repeated }, (_, n) => postAt(page * POSTS + n - repeated));
}

function postAt(n: number): Activity {
  const activity = post({
    id: String(9_007_199_254_740_993n + BigInt(n)),
    at: Date.UTC(2024, 0, 1) + n * 10_000,
    text: `${n} ${'snow and ice '.repeat(n % 120)}`,
  });
  return activity.withMatchingRules(
    TAGS.filter((_, index) => (n + index) % 3 > 0).map(tag => ({ tag, id: '1' })),
  );
}
