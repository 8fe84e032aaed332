import { join } from 'node:path';
import { Activity, type Format } from '../../../activity/activity.js';
import { OptionError } from '../../../errors.js';
import type { Window } from '../../../time.js';
import type { Archive } from '../archive.js';
import type { Block, BlockDetails, Blocks } from '../block.js';
import { BlockArchive } from '../block-archive.js';
import type { Ordinals } from '../ordinals.js';
import { BlockFile } from './block-file.js';
import {
  type FolderIndex,
  type IndexedBlock,
  type IndexProgress,
  indexFolder,
} from './folder-index.js';
import { LineReader } from './line-reader.js';

export interface FolderArchiveOptions {
  /** Which posts to serve, where the folder has posts of both formats. */
  readonly format?: Format | undefined;
  /** Told of the progress while the index is made. */
  readonly onProgress?: ((progress: IndexProgress) => void) | undefined;
}

/**
 * An archive over a folder of job files, or of any other files with a post a line, gzip or not. Their
 * names mean nothing: posts are found by their own times. The index lies in `.millrace-index` in the
 * folder and is made again when files have come, gone or changed.
 *
 * @throws DataError for a damaged file; OptionError where the folder has posts of both formats and
 *   none is asked for, or none of the format that is; StorageError for a folder that cannot be read.
 */
export async function openFolderArchive(
  folder: string,
  { format, onProgress }: FolderArchiveOptions = {},
): Promise<Archive> {
  const index = await indexFolder(folder, onProgress);
  const served = chooseFormat(folder, index, format);
  return new BlockArchive(served, new FolderBlocks(folder, index, served));
}

function chooseFormat(folder: string, { formats }: FolderIndex, asked: Format | undefined): Format {
  const { original, activity_streams: streams } = formats;
  if (asked === undefined) {
    if (original.posts > 0 && streams.posts > 0)
      throw new OptionError(
        'format',
        `The archive folder ${folder} holds ${original.posts} posts of the format original and ` +
          `${streams.posts} of activity_streams. An archive has one format: say which as \`format\``,
      );
    return streams.posts > 0 ? 'activity_streams' : 'original';
  }
  const other = asked === 'original' ? streams : original;
  if (formats[asked].posts === 0 && other.posts > 0)
    throw new OptionError(
      'format',
      `The archive folder ${folder} holds no posts of the format ${asked}, only of the other`,
    );
  return asked;
}

/** Posts of blocks that are kept open, some 30 bytes each. */
const KEPT_POSTS = 1_500_000;

class FolderBlocks implements Blocks {
  readonly #path: string;
  readonly #blocks: ReadonlyMap<number, IndexedBlock>;
  readonly #lines: LineReader;
  /** By their start; the latest used come last. */
  readonly #recent = new Map<number, FolderBlock>();
  #kept = 0;

  constructor(folder: string, { path, files, formats }: FolderIndex, format: Format) {
    this.#path = path;
    this.#blocks = new Map(formats[format].blocks.map(block => [block.from, block]));
    this.#lines = new LineReader(folder, path, files);
  }

  *within({ from, to }: Window): Generator<Window> {
    for (const block of this.#blocks.values()) if (block.from < to && block.to > from) yield block;
  }

  async open({ from }: Window): Promise<Block> {
    const { name } = this.#blocks.get(from) as IndexedBlock;
    let block = this.#recent.get(from);
    if (block === undefined) {
      block = new FolderBlock(new BlockFile(join(this.#path, name), from), this.#lines);
      this.#kept += block.count;
    }
    this.#recent.delete(from);
    this.#recent.set(from, block);
    for (const [key, { count }] of this.#recent) {
      if (this.#kept <= KEPT_POSTS || key === from) break;
      this.#recent.delete(key);
      this.#kept -= count;
    }
    return block;
  }

  async close(): Promise<void> {
    this.#recent.clear();
    this.#kept = 0;
    this.#lines.close();
  }
}

class FolderBlock implements Block {
  readonly #file: BlockFile;
  readonly #lines: LineReader;

  constructor(file: BlockFile, lines: LineReader) {
    this.#file = file;
    this.#lines = lines;
  }

  get count(): number {
    return this.#file.count;
  }

  timeAt(ordinal: number): number {
    return this.#file.timeAt(ordinal);
  }

  idAt(ordinal: number): string {
    return this.#file.idAt(ordinal);
  }

  postings(term: string): Ordinals {
    return this.#file.postings(term);
  }

  get details(): BlockDetails {
    return this.#file;
  }

  async load(ordinals: readonly number[], signal?: AbortSignal): Promise<readonly Activity[]> {
    const places = ordinals.map(ordinal => this.#file.placeAt(ordinal));
    const lines = await this.#lines.read(places, signal);
    return lines.map(line => new Activity(line));
  }
}
