import { join } from 'node:path';
import { OptionError } from '../../../base/errors.js';
import type { Format } from '../../../post/activity.js';
import type { Archive } from '../archive.js';
import type { BlockStore } from '../block.js';
import { BlockArchive } from '../block-archive.js';
import { WeightedCache } from '../weighted-cache.js';
import { BlockFile } from './block-file.js';
import { type FolderIndex, type IndexedBlock, openFolderIndex } from './folder-index.js';
import { LineReader } from './line-reader.js';

/**
 * An archive over a folder of job files, or of any other files with one post a line, gzip, zstd or
 * plain. File names have no meaning: posts are found by their time. The index is in `.millrace-index` in the
 * folder and is rebuilt when files are added, removed or changed.
 *
 * @param format The format of the posts to serve, if the folder has posts of both formats.
 * @throws DataError for a damaged file, or a zstd file where Node has no zstd; OptionError if the folder has posts of both formats and
 *   `format` is not given, or none of `format`; StorageError for a folder that cannot be read.
 */
export async function openFolderArchive(
  folder: string,
  { format }: { readonly format?: Format | undefined } = {},
): Promise<Archive> {
  const index = await openFolderIndex(folder);
  const served = chooseFormat(folder, index, format);
  return new BlockArchive(served, blocksOf(folder, index, served));
}

function chooseFormat(folder: string, { formats }: FolderIndex, asked: Format | undefined): Format {
  const original = postsIn(formats.original);
  const streams = postsIn(formats.activity_streams);
  if (asked === undefined) {
    if (original > 0 && streams > 0)
      throw new OptionError(
        'format',
        `The archive folder ${folder} holds ${original} posts of the format original and ` +
          `${streams} of activity_streams. An archive has one format: say which as \`format\``,
      );
    return streams > 0 ? 'activity_streams' : 'original';
  }
  if (formats[asked].length === 0 && original + streams > 0)
    throw new OptionError(
      'format',
      `The archive folder ${folder} holds no posts of the format ${asked}, only of the other`,
    );
  return asked;
}

function postsIn(blocks: readonly IndexedBlock[]): number {
  return blocks.reduce((sum, { posts }) => sum + posts, 0);
}

/** The maximum number of posts of cached blocks, with about 30 bytes each. */
const MAX_CACHED_POSTS = 1_500_000;

function blocksOf(folder: string, index: FolderIndex, format: Format): BlockStore {
  const oldestFirst = index.formats[format];
  const blocks = new Map(oldestFirst.map(block => [block.from, block]));
  const lines = new LineReader(folder, index.path, index.files);
  /** By start of the block. */
  const opened = new WeightedCache<number, BlockFile>(MAX_CACHED_POSTS);
  return {
    within({ from, to }, newestFirst) {
      const found = oldestFirst.filter(block => block.from < to && block.to > from);
      return newestFirst ? found.reverse() : found;
    },
    open: async ({ from }) =>
      opened.get(from, () => {
        const { name } = blocks.get(from) as IndexedBlock;
        const value = new BlockFile(join(index.path, name), from, lines);
        return { value, weight: value.count };
      }),
    close: async () => {
      opened.clear();
      lines.close();
    },
  };
}
