import { availableParallelism } from 'node:os';
import { inflateWhole } from '../gzip/inflate-whole.js';
import { decodeFile, type Fields } from './decode-file.js';
import { DecodedFile } from './decoded-file.js';
import type { RowEncoding } from './encode-rows.js';
import type { Decoder, StoredFile } from './file-source.js';
import { scriptOfThreads, Threads } from './threads.js';
import type { WorkerStart } from './worker.js';

const MAX_THREADS = 16;
/** For a smaller input, starting threads and optimising their code takes longer than they save. */
const MIN_INPUT_BYTES = 32 * 1024 * 1024;
/** Without threads: files that are decoded before they are read, and the maximum size of their contents. */
const AHEAD = 2;
const MAX_CONTENT_BYTES = 16 * 1024 * 1024;

/** What reads the rows of a plan, besides its steps. */
export interface PlanReader {
  /**
   * Maximum number of threads; they then decode any input. Of several readers, the lowest counts. Default: one a core, for
   * large inputs.
   */
  readonly workers?: number | undefined;
  /** Whether it only reads posts on the main thread. No threads start where all readers do. */
  readonly isHere?: boolean;
  /** The fields that it needs. */
  readonly fields?: Partial<Fields> | undefined;
  /** How it encodes the rows, where it does. */
  readonly encoding?: RowEncoding | undefined;
}

/**
 * What decodes the files of a run: threads from the moment on when enough input is expected, the main thread before
 * that, or where `workers` is 0, all readers want posts on the main thread, or the script of the threads is missing.
 */
export class FileDecoder implements Decoder {
  /** Once they have started. */
  threads: Threads | undefined;
  readonly #start: WorkerStart;
  readonly #size: number;
  readonly #minBytes: number;
  #expectedBytes = 0;

  constructor(start: WorkerStart, readers: readonly PlanReader[]) {
    const wanted = readers.flatMap(({ workers }) => workers ?? []);
    const size = wanted.length > 0 ? Math.min(...wanted) : undefined;
    this.#start = start;
    this.#size = readers.every(({ isHere }) => isHere)
      ? 0
      : (size ?? Math.min(availableParallelism(), MAX_THREADS));
    this.#minBytes = size === undefined ? MIN_INPUT_BYTES : 0;
  }

  get ahead(): number {
    return this.threads?.ahead ?? AHEAD;
  }

  get inThreads(): boolean {
    return this.threads !== undefined;
  }

  expect({ count, bytes }: { readonly count: number; readonly bytes: number }): void {
    this.#expectedBytes += bytes;
    if (this.threads === undefined && this.#size > 0 && this.#expectedBytes >= this.#minBytes) {
      const script = count === 0 ? undefined : scriptOfThreads();
      this.threads = script && new Threads(script, this.#size, this.#start);
    }
    this.threads?.start(count);
  }

  decode(file: StoredFile): Promise<DecodedFile | undefined> {
    return this.threads?.decode(file) ?? this.#decodeHere(file);
  }

  async #decodeHere({ file, origin }: StoredFile): Promise<DecodedFile | undefined> {
    const bytes = 'path' in file ? await file.read() : file.bytes;
    const { decoding, fields } = this.#start;
    const decoded = await decodeFile(bytes, decoding, fields, (content, maxBytes) =>
      inflateWhole(content, Math.min(maxBytes, MAX_CONTENT_BYTES)),
    );
    return decoded && new DecodedFile(origin, decoded, decoded.bytes);
  }
}
