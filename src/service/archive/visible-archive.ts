import type { Window } from '../../time.js';
import type { Compliance } from '../compliance/compliance-events.js';
import type {
  Archive,
  ArchivedPost,
  ArchiveQuery,
  CountsResult,
  ScannedSegment,
  ScanOptions,
  SearchOptions,
  SearchResult,
} from './archive.js';

/**
 * An archive without the posts that compliance events hide. Counts include hidden posts: the service
 * counts activity at the time it occurred and ignores later deletions.
 */
export class VisibleArchive implements Archive {
  readonly #archive: Archive;
  readonly #compliance: Compliance;
  readonly #now: () => number;

  constructor(archive: Archive, compliance: Compliance, now: () => number) {
    this.#archive = archive;
    this.#compliance = compliance;
    this.#now = now;
  }

  get format(): Archive['format'] {
    return this.#archive.format;
  }

  get author(): Archive['author'] {
    const archive = this.#archive;
    return archive.author && (handle => archive.author?.(handle));
  }

  get post(): Archive['post'] {
    const archive = this.#archive;
    return (
      archive.post &&
      (id => {
        const post = archive.post?.(id);
        return post && this.#visible([post], this.#now())[0];
      })
    );
  }

  get reactionsMs(): number | undefined {
    return this.#archive.reactionsMs;
  }

  async search(
    rule: ArchiveQuery,
    window: Window,
    { limit, after, signal, asOf = this.#now() }: SearchOptions,
  ): Promise<SearchResult> {
    const visible: ArchivedPost[] = [];
    let cursor = after;
    for (;;) {
      const missing = { limit: limit - visible.length, after: cursor, signal };
      const { posts, more } = await this.#archive.search(rule, window, missing);
      visible.push(...this.#visible(posts, asOf));
      if (!more || visible.length === limit) return { posts: visible, more };
      cursor = posts.at(-1);
    }
  }

  counts(...asked: Parameters<Archive['counts']>): Promise<CountsResult> {
    return this.#archive.counts(...asked);
  }

  async *scan(window: Window, options?: ScanOptions): AsyncGenerator<ScannedSegment> {
    for await (const { segment, posts } of this.#archive.scan(window, options)) {
      const visible = this.#visible(posts, this.#now());
      if (visible.length > 0) yield { segment, posts: visible };
    }
  }

  close(): Promise<void> {
    return this.#archive.close();
  }

  #visible(posts: readonly ArchivedPost[], asOf: number): readonly ArchivedPost[] {
    if (this.#compliance.hidesNothing) return posts;
    return posts.filter(post => !this.#compliance.hides(post, asOf));
  }
}
