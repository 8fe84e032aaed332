import { closeSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { isNodeError, OptionError, StorageError } from '../../../base/errors.js';
import { SECOND } from '../../../base/time.js';
import { Activity, type Format } from '../../../post/activity.js';
import { storageError } from '../../../storage/storage-error.js';
import { WeightedCache } from '../../cache.js';
import type { Archive } from '../archive.js';
import {
  type Block,
  type BlockDetails,
  type BlockStore,
  DocumentSet,
  type Occurrence,
  type PostLocation,
} from '../block.js';
import { BlockArchive } from '../block-archive.js';
import {
  BLOCK_PARTS,
  BUCKET_BYTES,
  bucketOf,
  HEADER_BYTES,
  ID_BYTES,
  LINE_BYTES,
  type LinePosition,
  MAGIC,
  readOccurrences,
  TIME_BYTES,
  VarintReader,
} from './block-layout.js';
import { type FolderIndex, type IndexedBlock, openFolderIndex } from './folder-index.js';
import { LineReader } from './line-reader.js';
import { indexTerm } from './read-post.js';

/**
 * Opens a folder of posts as an archive. The files are job files, or other files with one post per line, in
 * gzip, zstd or plain. File names have no meaning, because posts are found by their time. The index is in
 * `.millrace-index` in the folder. It is rebuilt when files are added, removed or changed.
 *
 * @param format The format of the posts to serve, if the folder has posts of both formats.
 * @throws DataError for a damaged file, or for a zstd file if Node does not support zstd.
 * @throws OptionError if the folder has posts of both formats and `format` is not given, or if it has no
 * posts of the given `format`.
 * @throws StorageError for a folder that cannot be read.
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

/** The maximum number of posts in cached blocks. Each post takes about 30 bytes. */
const MAX_CACHED_POSTS = 1_500_000;

function blocksOf(folder: string, index: FolderIndex, format: Format): BlockStore {
  const oldestFirst = index.formats[format];
  const blocks = new Map(oldestFirst.map(block => [block.from, block]));
  const lines = new LineReader(folder, index.path, index.files);
  /** The keys are the starts of the blocks. */
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

type Part = (typeof BLOCK_PARTS)[number];

/**
 * A block of the index on disk. Each lookup of a term reads a few bytes, usually from the system's page
 * cache. Ids and line positions stay in memory after their first use. No file stays open.
 */
export class BlockFile implements Block {
  readonly details: BlockDetails = this;
  readonly #path: string;
  readonly #from: number;
  readonly #reader: LineReader;
  readonly #starts: readonly number[];
  readonly #times: Buffer;
  #ids: Buffer | undefined;
  #lines: Buffer | undefined;
  #locations: readonly PostLocation[] | undefined;

  /** @throws StorageError If the file is missing or is not a block of the index. */
  constructor(path: string, from: number, reader: LineReader) {
    this.#path = path;
    this.#from = from;
    this.#reader = reader;
    const header = this.#read(0, HEADER_BYTES);
    if (header.toString('latin1', 0, MAGIC.length) !== MAGIC) throw this.#broken();
    this.#starts = BLOCK_PARTS.map((_, i) => header.readDoubleLE(MAGIC.length + 8 * i));
    this.#times = this.#part('times');
  }

  get count(): number {
    return this.#times.length / TIME_BYTES;
  }

  timeAt(document: number): number {
    return this.#from + this.#times.readUInt32LE(document * TIME_BYTES) * SECOND;
  }

  idAt(document: number): string {
    this.#ids ??= this.#part('ids');
    return this.#ids.readBigUInt64LE(document * ID_BYTES).toString();
  }

  postings(term: string): DocumentSet {
    const found = new DocumentSet(this.count);
    const numbers = new VarintReader(this.#find(term).postings);
    for (let document = 0; !numbers.atEnd; ) {
      document += numbers.next();
      found.add(document);
    }
    return found;
  }

  occurrences(term: string, among: DocumentSet): ReadonlyMap<number, readonly Occurrence[]> {
    const { postings, occurrences } = this.#find(term);
    const documents = new VarintReader(postings);
    const numbers = new VarintReader(occurrences);
    const found = new Map<number, readonly Occurrence[]>();
    // Only words have occurrences. For any other term, `numbers` is empty.
    for (let document = 0; !numbers.atEnd; ) {
      document += documents.next();
      const read: Occurrence[] | undefined = among.has(document) ? [] : undefined;
      readOccurrences(numbers, read);
      if (read !== undefined) found.set(document, read);
    }
    return found;
  }

  locations(): readonly PostLocation[] {
    this.#locations ??= JSON.parse(this.#part('locations').toString()) as PostLocation[];
    return this.#locations;
  }

  async load(documents: readonly number[], signal?: AbortSignal): Promise<readonly Activity[]> {
    this.#lines ??= this.#part('lines');
    const positions = documents.map(document => lineAt(this.#lines as Buffer, document));
    const lines = await this.#reader.read(positions, signal);
    return lines.map(line => new Activity(line));
  }

  /**
   * Returns the postings and the occurrences of a term. Both are empty if the block does not contain the
   * term.
   */
  #find(term: string): { readonly postings: Buffer; readonly occurrences: Buffer } {
    const asked = Buffer.from(indexTerm(term));
    const [table, termsAt] = [this.#startOf('table'), this.#startOf('terms')];
    const bucket = bucketOf(asked, (termsAt - table) / BUCKET_BYTES - 1);
    const terms = this.#with(file => {
      const ends = this.#readFrom(file, table + bucket * BUCKET_BYTES, 2 * BUCKET_BYTES);
      const start = ends.readUInt32LE(0);
      return this.#readFrom(file, termsAt + start, ends.readUInt32LE(BUCKET_BYTES) - start);
    });
    const numbers = new VarintReader(terms);
    const next = () => {
      const end = numbers.next() + numbers.at;
      const part = terms.subarray(numbers.at, end);
      numbers.at = end;
      return part;
    };
    while (!numbers.atEnd) {
      const [text, postings, occurrences] = [next(), next(), next()];
      if (text.equals(asked)) return { postings, occurrences };
    }
    return { postings: EMPTY, occurrences: EMPTY };
  }

  #startOf(part: Part): number {
    return this.#starts[BLOCK_PARTS.indexOf(part)] as number;
  }

  /** Reads a whole part. `terms`, the last and largest part, is never read as a whole. */
  #part(part: Exclude<Part, 'terms'>): Buffer {
    const start = this.#startOf(part);
    return this.#read(start, (this.#starts[BLOCK_PARTS.indexOf(part) + 1] as number) - start);
  }

  #read(position: number, length: number): Buffer {
    return this.#with(file => this.#readFrom(file, position, length));
  }

  #readFrom(file: number, position: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    for (let read = 0; read < length; ) {
      const count = readSync(file, bytes, read, length - read, position + read);
      if (count === 0) throw this.#broken();
      read += count;
    }
    return bytes;
  }

  #with<T>(read: (file: number) => T): T {
    let file: number | undefined;
    try {
      file = openSync(this.#path, 'r');
      return read(file);
    } catch (cause) {
      throw isNodeError(cause, 'ENOENT')
        ? this.#broken(cause)
        : storageError('read', this.#path, cause);
    } finally {
      if (file !== undefined) closeSync(file);
    }
  }

  #broken(cause?: unknown): StorageError {
    return new StorageError(
      `The index of the archive is damaged at ${this.#path}. Remove its folder: it will be rebuilt`,
      { path: this.#path, cause },
    );
  }
}

const EMPTY = Buffer.alloc(0);

function lineAt(lines: Buffer, document: number): LinePosition {
  const at = document * LINE_BYTES;
  return {
    file: lines.readUInt32LE(at),
    bytes: lines.readUInt32LE(at + 4),
    offset: lines.readDoubleLE(at + 8),
  };
}
