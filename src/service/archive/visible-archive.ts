import type { Compliance } from '../compliance/compliance-events.js';
import { Deadline } from '../deadline.js';
import type { Archive, ArchivedPost } from './archive.js';

/**
 * An archive without the posts that compliance events hide. Counts include hidden posts: the service
 * counts activity at the time it occurred and ignores later deletions.
 */
export function visibleArchive(
  archive: Archive,
  compliance: Compliance,
  now: () => number,
): Archive {
  const visible = (posts: readonly ArchivedPost[], asOf: number) =>
    compliance.hidesNothing ? posts : posts.filter(post => !compliance.hides(post, asOf));
  return {
    format: archive.format,
    author: archive.author && (handle => archive.author?.(handle)),
    post:
      archive.post &&
      (id => {
        const post = archive.post?.(id);
        return post && visible([post], now())[0];
      }),
    get reactionsMs() {
      return archive.reactionsMs;
    },
    async search(rule, window, { limit, after, deadlineMs, signal, asOf = now() }) {
      const found: ArchivedPost[] = [];
      const deadline = new Deadline(deadlineMs);
      let cursor = after;
      for (;;) {
        const missing = {
          limit: limit - found.length,
          after: cursor,
          deadlineMs: deadline.leftMs,
          signal,
        };
        const { posts, more, reached } = await archive.search(rule, window, missing);
        found.push(...visible(posts, asOf));
        if (!more || found.length === limit) return { posts: found, more, reached };
        cursor = posts.at(-1);
      }
    },
    counts: (...asked) => archive.counts(...asked),
    async *scan(window, options) {
      for await (const { segment, posts } of archive.scan(window, options)) {
        const left = visible(posts, now());
        if (left.length > 0) yield { segment, posts: left };
      }
    },
    close: () => archive.close(),
  };
}
