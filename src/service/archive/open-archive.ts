import type { Format } from '../../activity/activity.js';
import { openSampleArchive } from '../sample/sample-archive.js';
import type { Archive } from './archive.js';
import { openFolderArchive } from './folder/folder-archive.js';
import type { IndexProgress } from './folder/folder-index.js';

export interface OpenArchiveOptions {
  /** A folder of job files; without one, the sample archive. */
  readonly folder?: string | undefined;
  /** Of the sample archive: the same seed gives the same posts. */
  readonly seed?: string | number | undefined;
  /** Of the posts served. Required for a folder only where it has posts of both formats. */
  readonly format?: Format | undefined;
  /** Of the sample archive: posts in an average minute. */
  readonly postsPerMinute?: number | undefined;
  /** The present, in epoch milliseconds: the sample archive has no posts after it. */
  now(): number;
  /** Called with the progress while the index of a folder is made. */
  readonly onProgress?: ((progress: IndexProgress) => void) | undefined;
}

/**
 * Opens a folder of job files, or without one the sample archive.
 *
 * @throws What `openFolderArchive` and `openSampleArchive` throw.
 */
export async function openArchive({
  folder,
  onProgress,
  ...sample
}: OpenArchiveOptions): Promise<Archive> {
  if (folder === undefined) return openSampleArchive(sample);
  return openFolderArchive(folder, { format: sample.format, onProgress });
}
