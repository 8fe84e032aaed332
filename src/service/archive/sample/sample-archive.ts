import type { Archive } from '../archive.js';
import { BlockArchive } from '../block-archive.js';
import { SampleBlocks } from './sample-blocks.js';
import { DEFAULT_POSTS_PER_MINUTE, type SampleOptions, sampleDrafts } from './sample-posts.js';

export interface SampleArchiveOptions extends SampleOptions {
  /** The present, in epoch milliseconds: there are no posts after it. */
  now(): number;
}

/**
 * An archive of made-up posts for any minute since 21 March 2006. Nothing is stored: what is asked
 * for is made again each time, and the terms of the latest few hundred thousand posts are kept.
 *
 * @throws OptionError for a rate that is not one.
 */
export function openSampleArchive({ now, ...options }: SampleArchiveOptions): Archive {
  const { format = 'original', postsPerMinute = DEFAULT_POSTS_PER_MINUTE } = options;
  const blocks = new SampleBlocks(sampleDrafts(options), format, postsPerMinute);
  return new BlockArchive(format, blocks, now);
}
