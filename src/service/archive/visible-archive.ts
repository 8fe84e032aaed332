import type { Window } from '../../time.js';
import type { Compliance } from '../compliance/compliance.js';
import type {
  Archive,
  ArchivedPost,
  ArchiveQuery,
  CountsAnswer,
  CountsOptions,
  ScannedSegment,
  SearchAnswer,
  SearchOptions,
} from './archive.js';

/**
 * An archive without what compliance events hide. Counts are those of the archive: they "reflect
 * activity at the time it occurred and ignore later deletions" (service.md 4.2 rule 4).
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

  get reactionsMs(): number | undefined {
    return this.#archive.reactionsMs;
  }

  async search(
    rule: ArchiveQuery,
    window: Window,
    { limit, after, signal, asOf = this.#now() }: SearchOptions,
  ): Promise<SearchAnswer> {
    const visible: ArchivedPost[] = [];
    let place = after;
    for (;;) {
      const wanted = limit - visible.length;
      const { posts, more } = await this.#archive.search(rule, window, {
        limit: wanted,
        after: place,
        signal,
      });
      visible.push(...this.#visible(posts, asOf));
      if (!more || visible.length === limit) return { posts: visible, more };
      place = posts.at(-1);
    }
  }

  counts(
    rule: ArchiveQuery,
    window: Window,
    bucketMs: number,
    options?: CountsOptions,
  ): Promise<CountsAnswer> {
    return this.#archive.counts(rule, window, bucketMs, options);
  }

  async *scan(
    window: Window,
    options?: { readonly signal?: AbortSignal | undefined },
  ): AsyncGenerator<ScannedSegment> {
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
