import type { Format } from '../../activity/activity.js';
import { openSampleArchive } from '../sample/sample-archive.js';
import type { Archive } from './archive.js';
import { openFolderArchive } from './folder/folder-archive.js';
import type { IndexProgress } from './folder/folder-index.js';

export interface OpenArchiveOptions {
  /** A folder of job files; without one, the sample archive. */
  readonly folder?: string | undefined;
  /** The seed of the sample archive: the same seed gives the same posts. */
  readonly seed?: string | number | undefined;
  /** The format of the served posts. Required only for a folder with posts of both formats. */
  readonly format?: Format | undefined;
  /** The posts in an average minute of the sample archive. */
  readonly postsPerMinute?: number | undefined;
  /** The current time in epoch milliseconds, after which the sample archive has no posts. */
  now(): number;
  /** Called with the progress while the index of a folder is built. */
  readonly onProgress?: ((progress: IndexProgress) => void) | undefined;
}

/**
 * Opens a folder of job files, or without one the sample archive.
 *
 * @throws The errors of `openFolderArchive` and `openSampleArchive`.
 */
export async function openArchive({
  folder,
  onProgress,
  ...sample
}: OpenArchiveOptions): Promise<Archive> {
  if (folder === undefined) return openSampleArchive(sample);
  return openFolderArchive(folder, { format: sample.format, onProgress });
}
