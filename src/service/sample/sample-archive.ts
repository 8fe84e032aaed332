import type { Author, Format } from '../../activity/activity.js';
import { checkOptions } from '../../check.js';
import type { Archive } from '../archive/archive.js';
import { BlockArchive } from '../archive/block-archive.js';
import { seedOf } from './random.js';
import { SampleAuthors } from './sample-authors.js';
import { SampleBlockStore } from './sample-blocks.js';
import { REACTIONS, SampleDrafts } from './sample-draft.js';
import { SAMPLE_OPTIONS, type SampleOptions } from './sample-options.js';

export interface SampleArchiveOptions extends SampleOptions {
  /** The current time in epoch milliseconds, after which posts do not exist. */
  now(): number;
}

/**
 * An archive of generated posts for any minute since 21 March 2006. Nothing is stored: posts are
 * generated for each request, and the terms of the last few hundred thousand posts are cached.
 *
 * @throws OptionError For an invalid option.
 */
export function openSampleArchive({ now, ...options }: SampleArchiveOptions): Archive {
  const checked = checkOptions('openSampleArchive', SAMPLE_OPTIONS, options);
  const { seed, format = 'original', postsPerMinute } = checked;
  return new SampleArchive(
    new SampleDrafts(seedOf(seed), postsPerMinute),
    format,
    postsPerMinute,
    now,
  );
}

/** Finds an author without a search: a handle ends in the number from which its author is generated. */
class SampleArchive extends BlockArchive {
  readonly reactionsMs = REACTIONS;
  readonly #authors: SampleAuthors;
  readonly #now: () => number;

  constructor(drafts: SampleDrafts, format: Format, postsPerMinute: number, now: () => number) {
    super(format, new SampleBlockStore(drafts, format, postsPerMinute), now);
    this.#authors = drafts.authors;
    this.#now = now;
  }

  author(handle: string): Author | undefined {
    const index = Number(/\d{1,6}$/.exec(handle)?.[0] ?? Number.NaN);
    if (!(index < SampleAuthors.countAt(this.#now()))) return undefined;
    const { id, handle: exact, name } = this.#authors.at(index);
    return exact.toLowerCase() === handle.toLowerCase() ? { id, handle: exact, name } : undefined;
  }
}
