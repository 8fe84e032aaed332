import { inflateWhole } from '../gzip/inflate-whole.js';
import { type ChosenThreads, chooseThreads, type PlanReader } from './choose-threads.js';
import { decodeFile, type ReadColumn } from './decode-file.js';
import { DecodedFile } from './decoded-file.js';
import { columnsOf, type FileSetup } from './file-setup.js';
import type { Decoder, StoredFile } from './file-source.js';
import { scriptOfThreads, Threads } from './threads.js';

/** Without threads: files that are decoded before they are read, and the maximum size of their contents. */
const AHEAD = 2;
const MAX_CONTENT_BYTES = 16 * 1024 * 1024;

/**
 * What decodes the files of a run: threads from the moment on when enough input is expected, the main thread before
 * that, or where `workers` is 0, all readers want posts on the main thread, or the script of the threads is missing.
 */
export class FileDecoder implements Decoder {
  /** Once they have started. */
  threads: Threads | undefined;
  readonly #setup: FileSetup;
  /** Created with the first file that is decoded here. */
  #readers: readonly ReadColumn[] | undefined;
  readonly #chosen: ChosenThreads;
  #expectedBytes = 0;

  constructor(setup: FileSetup, readers: readonly PlanReader[]) {
    this.#setup = setup;
    this.#chosen = chooseThreads(readers);
  }

  get ahead(): number {
    return this.threads?.ahead ?? AHEAD;
  }

  get inThreads(): boolean {
    return this.threads !== undefined;
  }

  expect({ count, bytes }: { readonly count: number; readonly bytes: number }): void {
    this.#expectedBytes += bytes;
    const { size, minBytes } = this.#chosen;
    if (this.threads === undefined && size > 0 && this.#expectedBytes >= minBytes) {
      const script = count === 0 ? undefined : scriptOfThreads();
      this.threads = script && new Threads(script, size, this.#setup);
    }
    this.threads?.start(count);
  }

  decode(file: StoredFile): Promise<DecodedFile | undefined> {
    return this.threads?.decode(file) ?? this.#decodeHere(file);
  }

  async #decodeHere({ file, origin }: StoredFile): Promise<DecodedFile | undefined> {
    const bytes = 'path' in file ? await file.read() : file.bytes;
    const { decoding, columns } = this.#setup;
    this.#readers ??= columns.map(({ kind, options }) => kind.create(options));
    const decoded = await decodeFile(bytes, decoding, this.#readers, (content, maxBytes) =>
      inflateWhole(content, Math.min(maxBytes, MAX_CONTENT_BYTES)),
    );
    if (decoded === undefined) return undefined;
    const { rows, messages } = decoded;
    const read = columnsOf(this.#setup, decoded.columns);
    return new DecodedFile(origin, { rows, columns: read, messages });
  }
}
