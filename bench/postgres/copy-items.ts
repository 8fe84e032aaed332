import { type Activity, committed, pipeline, tables } from 'millrace';
import type { Work } from '../question.js';
import { intoPostgres } from './into-postgres.js';
import { postsOnce } from './posts-once.js';

const lineOf = tables.toCsv();

/**
 * Writes posts with the option `write` of `committed`, which formats their rows on the main thread.
 */
export function run(work: Work): Promise<void> {
  return intoPostgres(({ copy, ...calls }) =>
    pipeline(
      postsOnce(work),
      committed({
        ...calls,
        write: (posts: readonly Activity[], client) =>
          copy([Buffer.from(posts.map(lineOf).join(''))], client),
      }),
    ),
  );
}
