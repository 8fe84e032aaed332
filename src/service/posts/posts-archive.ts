import type { Activity, Author, Format } from '../../activity/activity.js';
import { SECOND, type Window } from '../../time.js';
import type {
  Archive,
  ArchivedPost,
  ArchiveQuery,
  CountedBucket,
  CountsOptions,
  CountsResult,
  ScannedSegment,
  ScanOptions,
  SearchOptions,
  SearchResult,
  SortKey,
} from '../archive/archive.js';
import type { Block, BlockStore } from '../archive/block.js';
import { BlockArchive } from '../archive/block-archive.js';
import { type DocumentSet, TermDocuments } from '../archive/document-set.js';
import { queryOfId } from '../archive/find-posts.js';
import type { PostInFormat, Posts } from './posts.js';

/** An archive of exact posts. None is served before its time. */
export class PostsArchive extends BlockArchive {
  readonly #posts: Posts;
  readonly #now: () => number;

  constructor(posts: Posts, format: Format, now: () => number) {
    super(format, new PostBlock(posts, format), now);
    this.#posts = posts;
    this.#now = now;
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
    return this.#posts.in(this.format).filter(({ at }) => at <= this.#now());
  }
}

/** All posts as one block, which is indexed again after a change. */
class PostBlock implements BlockStore {
  readonly #posts: Posts;
  readonly #format: Format;
  #version = Number.NaN;
  #block: MemoryBlock = new MemoryBlock([]);

  constructor(posts: Posts, format: Format) {
    this.#posts = posts;
    this.#format = format;
  }

  *within({ from, to }: Window): Generator<Window> {
    const { newest, oldest } = this.#current();
    if (newest !== undefined && oldest !== undefined && oldest < to && newest >= from)
      yield { from: oldest, to: newest + SECOND };
  }

  async open(): Promise<Block> {
    return this.#current();
  }

  async close(): Promise<void> {}

  #current(): MemoryBlock {
    if (this.#version !== this.#posts.version) {
      this.#block = new MemoryBlock(this.#posts.in(this.#format));
      this.#version = this.#posts.version;
    }
    return this.#block;
  }
}

class MemoryBlock implements Block {
  readonly #posts: readonly PostInFormat[];
  #terms: TermDocuments | undefined;

  /** @param posts Newest first. */
  constructor(posts: readonly PostInFormat[]) {
    this.#posts = posts;
  }

  get count(): number {
    return this.#posts.length;
  }

  get newest(): number | undefined {
    return this.#posts[0]?.at;
  }

  get oldest(): number | undefined {
    return this.#posts.at(-1)?.at;
  }

  timeAt(document: number): number {
    return (this.#posts[document] as PostInFormat).at;
  }

  idAt(document: number): string {
    return (this.#posts[document] as PostInFormat).id;
  }

  postings(term: string): DocumentSet {
    this.#terms ??= this.#index();
    return this.#terms.of(term);
  }

  async load(documents: readonly number[]): Promise<readonly ArchivedPost['activity'][]> {
    return documents.map(document => (this.#posts[document] as PostInFormat).activity);
  }

  #index(): TermDocuments {
    const documents = new TermDocuments(this.count);
    for (const [document, { terms }] of this.#posts.entries())
      for (const term of terms) documents.add(term, document);
    return documents;
  }
}

/** An archive with the exact posts of a test in addition to its own. */
export class JoinedArchive implements Archive {
  readonly #posts: PostsArchive;
  readonly #archive: Archive;
  /** Whether the archive has a post too, by its id. */
  readonly #known = new Map<string, boolean>();

  constructor(posts: PostsArchive, archive: Archive) {
    this.#posts = posts;
    this.#archive = archive;
  }

  get format(): Format {
    return this.#archive.format;
  }

  get author(): Archive['author'] {
    const archive = this.#archive;
    if (archive.author === undefined) return undefined;
    return handle => this.#posts.author(handle) ?? archive.author?.(handle);
  }

  /** Posts of a test may be shared at any time. */
  get reactionsMs(): number | undefined {
    return this.#posts.isEmpty ? this.#archive.reactionsMs : undefined;
  }

  post(id: string): ArchivedPost | undefined {
    return this.#posts.post(id) ?? this.#archive.post?.(id);
  }

  async search(rule: ArchiveQuery, window: Window, options: SearchOptions): Promise<SearchResult> {
    if (this.#posts.isEmpty) return this.#archive.search(rule, window, options);
    const [own, others] = await Promise.all([
      this.#posts.search(rule, window, options),
      this.#archive.search(rule, window, options),
    ]);
    const posts = distinct([...own.posts, ...others.posts].sort(newestFirst));
    return {
      posts: posts.slice(0, options.limit),
      more: own.more || others.more || posts.length > options.limit,
    };
  }

  async counts(
    rule: ArchiveQuery,
    window: Window,
    bucketMs: number,
    options?: CountsOptions,
  ): Promise<CountsResult> {
    const others = await this.#archive.counts(rule, window, bucketMs, options);
    if (this.#posts.isEmpty) return others;
    const own = await this.#posts.counts(rule, window, bucketMs, { signal: options?.signal });
    const both = await this.#timesInBoth(rule, window, options?.signal);
    const buckets = others.buckets.map(
      ({ start, count }, i): CountedBucket => ({
        start,
        count:
          count +
          (own.buckets[i]?.count ?? 0) -
          both.filter(at => at >= start && at < start + bucketMs).length,
      }),
    );
    return { buckets, reached: others.reached };
  }

  /** Times of the matching posts that both archives have: they are served once, and counted once. */
  async #timesInBoth(
    rule: ArchiveQuery,
    window: Window,
    signal: AbortSignal | undefined,
  ): Promise<readonly number[]> {
    const times: number[] = [];
    for (const { id, at } of this.#posts.within(window)) {
      const has = async (query: ArchiveQuery) => {
        const second = { from: at, to: at + SECOND };
        const { posts } = await this.#archive.search(query, second, { limit: 1, signal });
        return posts.length > 0;
      };
      const byId = queryOfId(id);
      const isKnown = this.#known.get(id) ?? (await has(byId));
      this.#known.set(id, isKnown);
      const matches = (post: Activity) => byId.matches(post) && rule.matches(post);
      if (isKnown && (await has({ ...byId, matches }))) times.push(at);
    }
    return times;
  }

  async *scan(window: Window, options?: ScanOptions): AsyncGenerator<ScannedSegment> {
    const own = this.#posts.scan(window, options);
    let next = (await own.next()).value as ScannedSegment | undefined;
    for await (const others of this.#archive.scan(window, options)) {
      for (; next !== undefined && next.segment < others.segment; next = await following(own))
        yield next;
      if (next?.segment !== others.segment) {
        yield others;
        continue;
      }
      const posts = distinct([...next.posts, ...others.posts].sort((a, b) => newestFirst(b, a)));
      yield { segment: others.segment, posts };
      next = await following(own);
    }
    for (; next !== undefined; next = await following(own)) yield next;
  }

  close(): Promise<void> {
    return this.#archive.close();
  }
}

async function following(
  segments: AsyncGenerator<ScannedSegment>,
): Promise<ScannedSegment | undefined> {
  const { value, done } = await segments.next();
  return done === true ? undefined : (value as ScannedSegment);
}

function newestFirst(a: SortKey, b: SortKey): number {
  if (a.at !== b.at) return b.at - a.at;
  const [idOfA, idOfB] = [BigInt(a.id), BigInt(b.id)];
  return idOfA === idOfB ? 0 : idOfA < idOfB ? 1 : -1;
}

/** Sorted posts, each once. Where both archives have one, the first is the test's. */
function distinct(posts: readonly ArchivedPost[]): readonly ArchivedPost[] {
  return posts.filter((post, i) => posts[i - 1]?.id !== post.id);
}
