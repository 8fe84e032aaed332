import { floorTo, SECOND, type Window } from '../../base/time.js';
import type { Activity, Author, Format } from '../../post/activity.js';
import {
  type Archive,
  type ArchivedPost,
  type ArchiveQuery,
  type CountsOptions,
  newestFirst,
  type ScannedSegment,
} from '../archive/archive.js';
import { type Block, type BlockStore, DocumentSet } from '../archive/block.js';
import { BlockArchive } from '../archive/block-archive.js';
import { queryOfId } from '../archive/look-up-post.js';
import { Deadline, EventLoopYield } from '../event-loop-yield.js';
import type { PostInFormat, Posts } from './posts.js';

/**
 * An archive of added posts: posts of the option `posts`, and posts that a test adds. A post is not served
 * before its time.
 */
export class PostsArchive extends BlockArchive {
  readonly #posts: Posts;

  constructor(posts: Posts, format: Format, now: () => number) {
    super(format, oneBlock(posts, format), now);
    this.#posts = posts;
  }

  post(id: string): ArchivedPost | undefined {
    return this.#served().find(post => post.id === id);
  }

  author(handle: string): Author | undefined {
    const wanted = handle.toLowerCase();
    return this.#served().find(({ activity }) => activity.author.handle.toLowerCase() === wanted)
      ?.activity.author;
  }

  get isEmpty(): boolean {
    return this.#posts.isEmpty;
  }

  within({ from, to }: Window): readonly ArchivedPost[] {
    return this.#served().filter(({ at }) => at >= from && at < to);
  }

  #served(): readonly ArchivedPost[] {
    return this.#posts.in(this.format).filter(({ at }) => at <= this.now());
  }
}

/**
 * Returns a block store with one block that contains all posts. Each call of `within` or `open` reads the
 * current posts again.
 */
function oneBlock(posts: Posts, format: Format): BlockStore {
  return {
    within({ from, to }) {
      const all = posts.in(format);
      const [newest, oldest] = [all[0]?.at, all.at(-1)?.at];
      return newest !== undefined && oldest !== undefined && oldest < to && newest >= from
        ? [{ from: oldest, to: newest + SECOND }]
        : [];
    },
    open: async () => blockOf(posts.in(format)),
    close: async () => {},
  };
}

/**
 * Creates a block of posts. To find a term, every post is tested, because there are only a few posts.
 *
 * @param posts The posts, newest first.
 */
function blockOf(posts: readonly PostInFormat[]): Block {
  const postAt = (document: number) => posts[document] as PostInFormat;
  return {
    count: posts.length,
    timeAt: document => postAt(document).at,
    idAt: document => postAt(document).id,
    postings(term) {
      const found = new DocumentSet(posts.length);
      for (const [document, { terms }] of posts.entries()) if (terms.has(term)) found.add(document);
      return found;
    },
    load: async documents => documents.map(document => postAt(document).activity),
  };
}

export function joinedArchive(exact: PostsArchive, archive: Archive): Archive {
  /** For the id of each added post, whether `archive` has a post with the same id. */
  const known = new Map<string, boolean>();

  const has = async (query: ArchiveQuery, at: number, signal: AbortSignal | undefined) => {
    const second = { from: at, to: at + SECOND };
    const { posts } = await archive.search(query, second, { limit: 1, signal });
    return posts.length > 0;
  };

  /**
   * Returns how the added posts of a window change the counts of `archive`. If `archive` has a post with the
   * same id, only the added post is counted. Also returns the part of the window that was read before the
   * deadline.
   */
  const changesOf = async (
    rule: ArchiveQuery,
    window: Window,
    { newestFirst: descending = false, deadlineMs, signal }: CountsOptions,
  ) => {
    const work = new EventLoopYield(signal);
    const deadline = new Deadline(deadlineMs);
    const changes: { readonly at: number; readonly by: number }[] = [];
    const posts = exact.within(window);
    let last: number | undefined;
    for (const { id, at, activity } of descending ? posts : posts.toReversed()) {
      if (at !== last && deadline.isPast)
        return {
          changes,
          part: descending ? { ...window, from: at + SECOND } : { ...window, to: at },
        };
      last = at;
      if (work.isDue) await work.pause();
      if (rule.matches(activity)) changes.push({ at, by: 1 });
      const byId = queryOfId(id);
      const isKnown = known.get(id) ?? (await has(byId, at, signal));
      known.set(id, isKnown);
      const matches = (post: Activity) => byId.matches(post) && rule.matches(post);
      if (isKnown && (await has({ ...byId, matches }, at, signal))) changes.push({ at, by: -1 });
    }
    return { changes, part: window };
  };

  return {
    format: archive.format,
    author: archive.author && (handle => exact.author(handle) ?? archive.author?.(handle)),
    post: id => exact.post(id) ?? archive.post?.(id),
    /**
     * The longest time between a post and its retweets and replies. If a test has added posts, there is no
     * maximum, because added posts can retweet or reply to a post of any age.
     */
    get reactionsMs() {
      return exact.isEmpty ? archive.reactionsMs : undefined;
    },
    async search(rule, window, options) {
      if (exact.isEmpty) return archive.search(rule, window, options);
      const [own, others] = await Promise.all([
        exact.search(rule, window, options),
        archive.search(rule, window, options),
      ]);
      const [reached] = [own, others].flatMap(result => result.reached ?? []).sort(newestFirst);
      const posts = distinct([...own.posts, ...others.posts].sort(newestFirst)).filter(
        post => reached === undefined || newestFirst(post, reached) <= 0,
      );
      const { limit } = options;
      const more = own.more || others.more;
      if (posts.length < limit) return { posts, more: more && reached === undefined, reached };
      return {
        posts: posts.slice(0, limit),
        more: more || posts.length > limit || reached !== undefined,
      };
    },
    async counts(rule, window, bucketMs, options = {}) {
      if (exact.isEmpty) return archive.counts(rule, window, bucketMs, options);
      const { deadlineMs = Number.POSITIVE_INFINITY } = options;
      const deadline = new Deadline(deadlineMs);
      const half = { ...options, deadlineMs: deadlineMs / 2 };
      const { changes, part } = await changesOf(rule, window, half);
      const rest = { ...options, deadlineMs: deadline.leftMs };
      const { buckets, counted } = await archive.counts(rule, part, bucketMs, rest);
      const counts = new Map(buckets.map(({ start, count }) => [start, count]));
      for (const { at, by } of changes) {
        const start = floorTo(bucketMs, at);
        if (at >= counted.from && at < counted.to)
          counts.set(start, (counts.get(start) as number) + by);
      }
      return { buckets: Array.from(counts, ([start, count]) => ({ start, count })), counted };
    },
    async *scan(window, options) {
      const own: ScannedSegment[] = [];
      for await (const segment of exact.scan(window, options)) own.push(segment);
      for await (const others of archive.scan(window, options)) {
        const { segment } = others;
        while (own[0] !== undefined && own[0].segment < segment)
          yield own.shift() as ScannedSegment;
        const same = own[0]?.segment === segment ? own.shift() : undefined;
        if (same === undefined) {
          yield others;
          continue;
        }
        const both = [...same.posts, ...others.posts];
        yield { segment, posts: distinct(both.sort((a, b) => newestFirst(b, a))) };
      }
      yield* own;
    },
    close: () => archive.close(),
  };
}

/**
 * Removes duplicates from the sorted posts of both archives. If an added post and a post of the other archive
 * have the same id, the added post comes first, so it is kept.
 */
function distinct(posts: readonly ArchivedPost[]): readonly ArchivedPost[] {
  return posts.filter((post, i) => posts[i - 1]?.id !== post.id);
}
