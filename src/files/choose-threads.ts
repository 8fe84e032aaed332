import { availableParallelism } from 'node:os';
import { inflateWhole } from '../gzip/inflate-whole.js';
import { decodeFile, type ReadColumn } from './decode-file.js';
import { DecodedFile } from './decoded-file.js';
import type { RowEncoding } from './encode-rows.js';
import type { Decoder, StoredFile } from './file-source.js';
import type { RecordColumn } from './record-columns.js';
import { columnsOf, type FileSetup, scriptOfThreads, Threads } from './thread-pool.js';

const MAX_THREADS = 16;
/** For a smaller input, starting threads and optimising their code takes longer than they save. */
const MIN_INPUT_BYTES = 32 * 1024 * 1024;

/** What reads the rows of a plan, besides its steps. */
export interface PlanReader {
  /**
   * Maximum number of threads; they then decode any input. Of several readers, the lowest counts. Default: one a core, for
   * large inputs.
   */
  readonly workers?: number | undefined;
  /** Whether it only reads posts on the main thread. No threads start where all readers do. */
  readonly isHere?: boolean;
  /** The columns that it reads. */
  readonly columns?: readonly RecordColumn[] | undefined;
  /** How it encodes the rows, where it does. */
  readonly encoding?: RowEncoding | undefined;
}

/** How many threads a run may have, and from how many bytes of expected input on they start. */
export interface ChosenThreads {
  /** 0 for none. */
  readonly size: number;
  readonly minBytes: number;
}

export function chooseThreads(readers: readonly PlanReader[]): ChosenThreads {
  if (readers.every(({ isHere }) => isHere)) return { size: 0, minBytes: 0 };
  const wanted = readers.flatMap(({ workers }) => workers ?? []);
  if (wanted.length > 0) return { size: Math.min(...wanted), minBytes: 0 };
  return { size: Math.min(availableParallelism(), MAX_THREADS), minBytes: MIN_INPUT_BYTES };
}

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
