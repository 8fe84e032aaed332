import { type FileHandle, open, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, type ZlibOptions } from 'node:zlib';
import pLimit from 'p-limit';
import { StorageError } from '../../../errors.js';
import type { LinePlace } from './block-file.js';
import { fileBlocks } from './file-lines.js';
import type { ListedFile } from './list-files.js';

/** A file as it was when it was indexed. */
export interface IndexedFile extends ListedFile {
  readonly gzip: boolean;
  /** Its length, inflated where it is gzip. */
  readonly textBytes: number;
}

/** Bytes of inflated files that are kept. */
const KEPT_BYTES = 96 * 1024 * 1024;
/** Largest file, inflated, that is kept. */
const WHOLE_BYTES = 24 * 1024 * 1024;

/** Reads lines of an archive's files again. Inflated files are kept, the latest used, within bounds. */
export class LineReader {
  readonly #folder: string;
  readonly #files: readonly IndexedFile[];
  /** By number of the file; the latest used come last. */
  readonly #kept = new Map<number, Promise<Buffer>>();
  #keptBytes = 0;
  /** Files inflate side by side in the thread pool. */
  readonly #limit = pLimit(4);

  constructor(folder: string, files: readonly IndexedFile[]) {
    this.#folder = folder;
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
      if (!file.gzip) await this.#readPlain(file, ascending, lines);
      else if (file.textBytes <= WHOLE_BYTES)
        for (const { place, i } of ascending) lines[i] = lineOf(await this.#text(number), place);
      else await this.#readLarge(file, ascending, lines, signal);
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

  /** Goes through a file that is too large to keep, and picks the lines up on the way. */
  async #readLarge(
    file: IndexedFile,
    wanted: readonly Wanted[],
    lines: Buffer[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    let at = 0;
    let next = 0;
    for await (const block of fileBlocks(await this.#unchanged(file), signal)) {
      const end = at + block.length;
      for (let n = next; n < wanted.length; n++) {
        const { place, i } = wanted[n] as Wanted;
        if (place.offset >= end) break;
        const line = lines[i] ?? Buffer.alloc(place.bytes);
        block.copy(line, Math.max(at - place.offset, 0), Math.max(place.offset - at, 0));
        lines[i] = line;
        if (place.offset + place.bytes <= end && n === next) next++;
      }
      at = end;
      if (next === wanted.length) return;
    }
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
