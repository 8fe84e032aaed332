import { closeSync, openSync, readSync } from 'node:fs';
import { Activity } from '../../../activity/activity.js';
import { isNodeError, StorageError } from '../../../errors.js';
import { storageError } from '../../../storage/storage-error.js';
import { SECOND } from '../../../time.js';
import type { Block, BlockDetails, Occurrence, PostLocation, WordOccurrences } from '../block.js';
import { DocumentSet } from '../document-set.js';
import {
  BUCKET_BYTES,
  bucketOf,
  HEADER_BYTES,
  ID_BYTES,
  LINE_BYTES,
  type LinePosition,
  MAGIC,
  readLocation,
  readOccurrences,
  TIME_BYTES,
  VarintReader,
} from './block-layout.js';
import type { LineReader } from './line-reader.js';
import { indexTerm } from './read-post.js';

/**
 * A block of the index on disk. Each lookup of a term reads a few bytes, mostly from the system's page
 * cache; ids and line positions stay in memory after their first use. No file stays open.
 */
export class BlockFile implements Block {
  readonly count: number;
  readonly #path: string;
  readonly #from: number;
  readonly #reader: LineReader;
  readonly #buckets: number;
  readonly #idsAt: number;
  readonly #linesAt: number;
  readonly #locationsAt: number;
  readonly #tableAt: number;
  readonly #termsAt: number;
  readonly #times: Buffer;
  #ids: Buffer | undefined;
  #lines: Buffer | undefined;
  #locations: Buffer | undefined;

  /** @throws StorageError If the file is missing or is not a block. */
  constructor(path: string, from: number, reader: LineReader) {
    this.#path = path;
    this.#from = from;
    this.#reader = reader;
    const header = this.#read(0, HEADER_BYTES);
    if (header.toString('latin1', 0, 8) !== MAGIC) throw this.#broken();
    this.count = header.readUInt32LE(8);
    this.#buckets = header.readUInt32LE(12);
    this.#idsAt = header.readDoubleLE(16);
    this.#linesAt = header.readDoubleLE(24);
    this.#locationsAt = header.readDoubleLE(32);
    this.#tableAt = header.readDoubleLE(40);
    this.#termsAt = header.readDoubleLE(48);
    this.#times = this.#read(HEADER_BYTES, this.count * TIME_BYTES);
  }

  timeAt(document: number): number {
    return this.#from + this.#times.readUInt32LE(document * TIME_BYTES) * SECOND;
  }

  idAt(document: number): string {
    this.#ids ??= this.#read(this.#idsAt, this.count * ID_BYTES);
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

  occurrences(term: string): WordOccurrences {
    const { postings, occurrences } = this.#find(term);
    return new OccurrenceReader(postings, occurrences);
  }

  *locations(): Generator<PostLocation> {
    this.#locations ??= this.#read(this.#locationsAt, this.#tableAt - this.#locationsAt);
    for (let at = 0; at < this.#locations.length; ) {
      const document = this.#locations.readUInt32LE(at);
      const { location, end } = readLocation(this.#locations, at + 4);
      if (location !== undefined) yield { document, ...location };
      at = end;
    }
  }

  get details(): BlockDetails {
    return this;
  }

  async load(documents: readonly number[], signal?: AbortSignal): Promise<readonly Activity[]> {
    this.#lines ??= this.#read(this.#linesAt, this.count * LINE_BYTES);
    const positions = documents.map(document => lineAt(this.#lines as Buffer, document));
    const lines = await this.#reader.read(positions, signal);
    return lines.map(line => new Activity(line));
  }

  /** The postings and occurrences of a term; empty where the block does not have it. */
  #find(term: string): { readonly postings: Buffer; readonly occurrences: Buffer } {
    const asked = Buffer.from(indexTerm(term));
    const bucket = bucketOf(asked, this.#buckets);
    const terms = this.#with(file => {
      const ends = this.#readFrom(file, this.#tableAt + bucket * BUCKET_BYTES, 2 * BUCKET_BYTES);
      const start = ends.readUInt32LE(0);
      return this.#readFrom(file, this.#termsAt + start, ends.readUInt32LE(4) - start);
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

/** Reads the postings of a word and its occurrences in step. */
class OccurrenceReader implements WordOccurrences {
  readonly #postings: VarintReader;
  readonly #occurrences: VarintReader;
  /** The post with the next occurrences. */
  #document: number;

  constructor(postings: Uint8Array, occurrences: Uint8Array) {
    this.#postings = new VarintReader(postings);
    this.#occurrences = new VarintReader(occurrences);
    this.#document = this.#next(0);
  }

  in(document: number): readonly Occurrence[] {
    while (this.#document < document) {
      readOccurrences(this.#occurrences);
      this.#document = this.#next(this.#document);
    }
    const found: Occurrence[] = [];
    if (this.#document === document) {
      readOccurrences(this.#occurrences, found);
      this.#document = this.#next(document);
    }
    return found;
  }

  #next(after: number): number {
    // A term that is not a word has postings but no occurrences.
    return this.#postings.atEnd || this.#occurrences.atEnd
      ? Number.POSITIVE_INFINITY
      : after + this.#postings.next();
  }
}
