import { type FileHandle, open, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, type ZlibOptions } from 'node:zlib';
import pLimit from 'p-limit';
import { StorageError } from '../../../errors.js';
import type { LinePlace } from './block-file.js';
import type { ListedFile } from './list-files.js';
import { readPackedLines } from './packed-text.js';

/** A file as it was when it was indexed. */
export interface IndexedFile extends ListedFile {
  /** Read where it lies, inflated and kept, or from the index, which has large gzip files once more. */
  readonly form: 'plain' | 'gzip' | 'packed';
  /** Its length, inflated where it is gzip. */
  readonly textBytes: number;
}

/** Bytes of inflated files that are kept. */
const KEPT_BYTES = 96 * 1024 * 1024;

/** What the index calls its copy of a large file. */
export const packedName = (number: number): string => `${number}.text`;

/** Reads lines of an archive's files again. Inflated files are kept, the latest used, within bounds. */
export class LineReader {
  readonly #folder: string;
  readonly #index: string;
  readonly #files: readonly IndexedFile[];
  /** By number of the file; the latest used come last. */
  readonly #kept = new Map<number, Promise<Buffer>>();
  #keptBytes = 0;
  /** Files inflate side by side in the thread pool. */
  readonly #limit = pLimit(4);

  constructor(folder: string, index: string, files: readonly IndexedFile[]) {
    this.#folder = folder;
    this.#index = index;
    this.#files = files;
  }

  /**
   * The lines at these places, in their order.
   *
   * @throws StorageError when a file has changed since it was indexed.
   */
  async read(places: readonly LinePlace[], signal?: AbortSignal): Promise<readonly Buffer[]> {
    const lines = new Array<Buffer>(places.length);
    await this.#limit.map(byFile(places), async ([number, wanted]) => {
      signal?.throwIfAborted();
      const file = this.#files[number] as IndexedFile;
      const ascending = wanted.toSorted((a, b) => a.place.offset - b.place.offset);
      if (file.form === 'plain') await this.#readPlain(file, ascending, lines);
      else if (file.form === 'packed') await this.#readPacked(number, ascending, lines);
      else for (const { place, i } of ascending) lines[i] = lineOf(await this.#text(number), place);
    });
    return lines;
  }

  close(): void {
    this.#kept.clear();
    this.#keptBytes = 0;
  }

  /** The text of a file, kept while it is used. */
  #text(number: number): Promise<Buffer> {
    const file = this.#files[number] as IndexedFile;
    let text = this.#kept.get(number);
    if (text === undefined) {
      text = this.#inflate(file);
      this.#keptBytes += file.textBytes;
      text.catch(() => this.#forget(number));
    }
    this.#kept.delete(number);
    this.#kept.set(number, text);
    for (const key of this.#kept.keys()) {
      if (this.#keptBytes <= KEPT_BYTES || key === number) break;
      this.#forget(key);
    }
    return text;
  }

  #forget(number: number): void {
    if (this.#kept.delete(number)) this.#keptBytes -= this.#files[number]?.textBytes ?? 0;
  }

  async #inflate(file: IndexedFile): Promise<Buffer> {
    const path = await this.#unchanged(file);
    return inflate(await readFile(path), { chunkSize: Math.max(file.textBytes + 1024, 65_536) });
  }

  async #readPlain(file: IndexedFile, wanted: readonly Wanted[], lines: Buffer[]): Promise<void> {
    const handle = await open(await this.#unchanged(file), 'r');
    try {
      for (const { place, i } of wanted) lines[i] = await readLine(handle, place);
    } finally {
      await handle.close();
    }
  }

  async #readPacked(number: number, wanted: readonly Wanted[], lines: Buffer[]): Promise<void> {
    await this.#unchanged(this.#files[number] as IndexedFile);
    const path = join(this.#index, packedName(number));
    const places = wanted.map(({ place }) => place);
    const read = await readPackedLines(path, places).catch(cause => {
      throw new StorageError(`The index of the archive is damaged at ${path}`, { path, cause });
    });
    wanted.forEach(({ i }, n) => {
      lines[i] = read[n] as Buffer;
    });
  }

  /** The file's path, if it is as it was when it was indexed. */
  async #unchanged(file: IndexedFile): Promise<string> {
    const path = join(this.#folder, file.path);
    const now = await stat(path).catch(cause => {
      throw new StorageError(`The archive's file ${path} cannot be read any more`, { path, cause });
    });
    if (now.size !== file.bytes || now.mtimeMs !== file.modifiedMs)
      throw new StorageError(
        `The archive's file ${path} has changed since it was indexed. Open the archive again`,
        { path },
      );
    return path;
  }
}

const inflate = promisify<Buffer, ZlibOptions, Buffer>(gunzip);

interface Wanted {
  readonly place: LinePlace;
  /** Where in the answer the line belongs. */
  readonly i: number;
}

function byFile(places: readonly LinePlace[]): Map<number, Wanted[]> {
  const files = new Map<number, Wanted[]>();
  places.forEach((place, i) => {
    const wanted = files.get(place.file);
    if (wanted === undefined) files.set(place.file, [{ place, i }]);
    else wanted.push({ place, i });
  });
  return files;
}

/** A copy, so that one line does not hold a whole file in memory. */
function lineOf(text: Buffer, { offset, bytes }: LinePlace): Buffer {
  return Buffer.from(text.subarray(offset, offset + bytes));
}

async function readLine(handle: FileHandle, { offset, bytes }: LinePlace): Promise<Buffer> {
  const line = Buffer.alloc(bytes);
  for (let read = 0; read < bytes; ) {
    const { bytesRead } = await handle.read(line, read, bytes - read, offset + read);
    if (bytesRead === 0) break;
    read += bytesRead;
  }
  return line;
}
