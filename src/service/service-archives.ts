import { OptionError } from '../base/errors.js';
import { DAY, datesOf, floorTo } from '../base/time.js';
import type { Format } from '../post/activity.js';
import type { Archive, ArchivedPost } from './archive/archive.js';
import { openFolderArchive } from './archive/folder/folder-archive.js';
import { newestPost } from './archive/look-up-post.js';
import type { Compliance } from './compliance/compliance-events.js';
import { Deadline } from './event-loop-yield.js';
import { joinedArchive, PostsArchive } from './posts/posts-archive.js';
import type { ServiceContext } from './service-context.js';
import type { ServiceSettings } from './service-options.js';

/**
 * The objects that an archive needs in addition to the settings. `posts` are posts that the caller or a test
 * has added. The archive joins them to its other posts.
 */
type ArchiveParts = Pick<ServiceContext, 'clock' | 'posts' | 'compliance'>;

/** The archives of a service, one for each format. Each is opened on first use. */
export class ServiceArchives {
  readonly #settings: ServiceSettings;
  readonly #parts: ArchiveParts;
  #archive: Promise<Archive> | undefined;
  /** The archive in the format that `#archive` does not have, once it was requested. */
  #other: Promise<Archive> | undefined;

  constructor(settings: ServiceSettings, parts: ArchiveParts) {
    this.#settings = settings;
    this.#parts = parts;
  }

  /**
   * Returns the archive without the posts that compliance events hide. The default format is the service's
   * own.
   */
  async visible(format?: Format): Promise<Archive> {
    const { clock, compliance } = this.#parts;
    return visibleArchive(await this.open(format), compliance, () => clock.now());
  }

  /**
   * Returns an archive with all posts.
   *
   * @throws OptionError for a format that the archive does not have.
   */
  async open(format?: Format): Promise<Archive> {
    this.#archive ??= this.#openArchive(this.#settings.format);
    const main = await this.#archive;
    if (format === undefined || format === main.format) return main;
    this.#parts.posts.in(format); // refuses a format that they do not have
    this.#other ??= this.#openArchive(format);
    return this.#other;
  }

  async firstSearch(): Promise<FirstSearch | undefined> {
    const { archive, postsPerMinute } = this.#settings;
    if (archive === undefined && postsPerMinute > 0) return GENERATED_SEARCH;
    return firstSearch(await this.visible(), this.#parts.clock.now());
  }

  /** Closes the archives. They can be opened again. */
  async close(): Promise<void> {
    const archives = [this.#archive, this.#other];
    this.#archive = undefined;
    this.#other = undefined;
    // The caller closes an archive that was passed in.
    if (typeof this.#settings.archive === 'object') return;
    for (const archive of archives)
      await archive?.then(
        opened => opened.close(),
        () => {}, // an archive that failed to open is not closed
      );
  }

  async #openArchive(asked: Format | undefined): Promise<Archive> {
    const { posts, clock } = this.#parts;
    const others = await this.#openOthers(asked);
    const format = others?.format ?? asked ?? posts.format;
    if (asked === this.#settings.format) posts.open(format);
    const exact = new PostsArchive(posts, format, () => clock.now());
    return others === undefined ? exact : joinedArchive(exact, others);
  }

  /**
   * Opens the archive of all posts except for posts that the caller or a test has added. Resolves to
   * `undefined` if the service has no other posts.
   */
  async #openOthers(asked: Format | undefined): Promise<Archive | undefined> {
    const { archive, seed, postsPerMinute } = this.#settings;
    if (typeof archive === 'string') return openFolderArchive(archive, { format: asked });
    if (archive === undefined) {
      if (postsPerMinute === 0) return undefined;
      const now = () => this.#parts.clock.now();
      const format = asked ?? this.#parts.posts.format;
      // Imported only here, because loading its vocabulary takes a fifth of the service's start time.
      const { openSampleArchive } = await import('./sample/sample-archive.js');
      return openSampleArchive({ seed, format, postsPerMinute, now });
    }
    if (asked === undefined || asked === archive.format) return archive;
    throw new OptionError('format', `The archive has posts of the format ${archive.format} only`);
  }
}

/**
 * Returns an archive without the posts that compliance events hide, and without the locations that they
 * remove. Only its method `counts` ignores these events, because the service counts each post when it is
 * posted.
 */
export function visibleArchive(
  archive: Archive,
  compliance: Compliance,
  now: () => number,
): Archive {
  const visible = (posts: readonly ArchivedPost[], asOf: number) =>
    compliance.hidesNothing
      ? posts
      : posts
          .filter(post => !compliance.hides(post, asOf))
          .map(post => compliance.scrubbed(post, asOf));
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
        const unchanged = new Set(posts);
        // If the location of a post was removed, the rule may no longer match the post. `counts` still
        // includes it.
        for (const post of visible(posts, asOf))
          if (unchanged.has(post) || rule.matches(post.activity)) found.push(post);
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

export interface FirstSearch {
  readonly product: '30day' | 'fullarchive';
  readonly parameters: Readonly<Record<string, string>>;
}

/**
 * Returns a search that finds the newest post: by its author and, if the post is older than 29 days, by its
 * day. Returns `undefined` for an empty archive.
 */
export async function firstSearch(archive: Archive, now: number): Promise<FirstSearch | undefined> {
  const newest = await newestPost(archive, now);
  if (newest === undefined) return undefined;
  const query = `from:${newest.activity.author.handle}`;
  if (newest.at > now - 29 * DAY)
    return { product: '30day', parameters: { query, maxResults: '10' } };
  const from = floorTo(DAY, newest.at);
  const dates = datesOf({ from, to: from + DAY });
  return { product: 'fullarchive', parameters: { query, ...dates, maxResults: '10' } };
}

/** The first search to suggest if the posts are generated. Many generated posts contain the word. */
const GENERATED_SEARCH: FirstSearch = {
  product: '30day',
  parameters: { query: 'coffee', maxResults: '10' },
};
