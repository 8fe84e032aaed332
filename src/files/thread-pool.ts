import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { DataError } from '../base/errors.js';
import { inflateWhole } from '../gzip/inflate-whole.js';
import { releaseMemory } from '../gzip/release-memory.js';
import { decodeFile, type ReadColumn } from './decode-file.js';
import { DecodedFile } from './decoded-file.js';
import type { RowEncoding } from './encode-rows.js';
import { FileRecords } from './file-records.js';
import type { Decoder, StoredFile } from './file-source.js';
import type { Decoding } from './plan.js';
import type { RecordColumn, ThreadTask } from './record-columns.js';
import type { ThreadStart } from './thread-calls.js';
import { answerOfThread, EngineThread } from './worker-thread.js';

const MAX_THREADS = 16;
/**
 * The input size from which threads are used. For smaller inputs, starting threads and optimising their code
 * takes longer than the threads save.
 */
const MIN_INPUT_BYTES = 32 * 1024 * 1024;

/** A reader of the rows of a plan, such as a sink. */
export interface PlanReader {
  /**
   * The maximum number of threads that decode files, for small inputs too. If several `PlanReader`s set it,
   * the lowest number applies. By default, inputs of `MIN_INPUT_BYTES` or more get one thread per core, up to
   * 16, and smaller inputs get none.
   */
  readonly workers?: number | undefined;
  /**
   * Whether this reader only reads posts on the main thread. If this is true for all readers, no threads
   * start.
   */
  readonly isHere?: boolean;
  readonly columns?: readonly RecordColumn[] | undefined;
  readonly encoding?: RowEncoding | undefined;
}

export interface ChosenThreads {
  /** The number of threads; 0 if the main thread does all work. */
  readonly size: number;
  readonly minBytes: number;
}

export function chooseThreads(readers: readonly PlanReader[]): ChosenThreads {
  if (readers.every(({ isHere }) => isHere)) return { size: 0, minBytes: 0 };
  const wanted = readers.flatMap(({ workers }) => workers ?? []);
  if (wanted.length > 0) return { size: Math.min(...wanted), minBytes: 0 };
  return { size: Math.min(availableParallelism(), MAX_THREADS), minBytes: MIN_INPUT_BYTES };
}

/**
 * How many files are decoded ahead of the reader if there are no threads. `MAX_CONTENT_BYTES` is the maximum
 * inflated size of each file.
 */
const AHEAD = 2;
const MAX_CONTENT_BYTES = 16 * 1024 * 1024;

/**
 * Decodes the files of a run, on the main thread until enough input is expected, and then in threads. Never
 * uses threads if `workers` is 0, if all readers read posts only on the main thread (`isHere`), or if the
 * script for the threads is missing.
 */
export class FileDecoder implements Decoder {
  threads: Threads | undefined;
  readonly #setup: FileSetup;
  /** The functions that read columns on the main thread. Created for the first file that is decoded there. */
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

/**
 * How many files each thread decodes or holds at a time. With 2 files, the next file is ready when the first
 * has been written.
 */
const FILES_A_THREAD = 2;
/** The estimated memory on the main thread, in bytes, for each post whose content is on another thread. */
const BYTES_A_POST = 64;
/**
 * If the files of all threads together hold more bytes than this, the next file only goes to a thread that
 * has no files. The total includes `BYTES_A_POST` for each post.
 */
const MAX_HELD_BYTES = 96 * 1024 * 1024;

interface Waiting {
  readonly input: StoredFile;
  resolve(file: DecodedFile | undefined | Promise<DecodedFile | undefined>): void;
}

/**
 * Worker threads that decode whole files. They hold the content of each file until it is written or moved to
 * the main thread. They start when `start` is called or when the first file is decoded.
 */
export class Threads {
  readonly #script: URL;
  readonly #size: number;
  readonly #setup: FileSetup;
  readonly #threads: EngineThread[] = [];
  /**
   * Files that wait for a thread, in order. A later file must not overtake an earlier file. The reader needs
   * the earlier file first, so later files could occupy all threads while it waits.
   */
  readonly #waiting: Waiting[] = [];
  #files = 0;
  /** The total number of files to decode, if known. After the last file, idle threads can end. */
  #expectedFiles: number | undefined;
  #heldBytes = 0;
  readonly #ending: Promise<void>[] = [];
  #closed = false;

  constructor(script: URL, size: number, setup: FileSetup) {
    this.#script = script;
    this.#size = size;
    this.#setup = setup;
  }

  get ahead(): number {
    return FILES_A_THREAD * this.#size;
  }

  /**
   * Starts the threads early, so that the first file does not have to wait for one. Once the last file has
   * been given to a thread, idle threads end, unless the output format needs them to assemble its files.
   *
   * @param files The number of expected files.
   */
  start(files: number): void {
    if (this.#closed) return;
    this.#expectedFiles = (this.#expectedFiles ?? this.#files) + files;
    const wanted = Math.min(this.#size, files);
    while (this.#threads.length < wanted) if (this.#start() === undefined) return;
  }

  decode(input: StoredFile): Promise<DecodedFile | undefined> {
    return new Promise(resolve => {
      this.#waiting.push({ input, resolve });
      this.#dispatch();
    });
  }

  /**
   * Runs a task in the least busy thread. Returns `undefined` if there are no threads.
   *
   * @param path The path of the file that the task is for, for errors.
   * @throws DataError if the task throws one; StorageError if the thread has ended.
   */
  run<In, Out>(task: ThreadTask<In, Out>, input: In, path: string): Promise<Out> | undefined {
    const [thread] = this.#closed ? [] : this.#alive().sort((a, b) => a.load - b.load);
    if (thread === undefined) return undefined;
    const running = thread.ask('run', [task.name, input], task.given(input));
    return answerOfThread(running, 'encoded rows of', path).then(result => {
      if ('problem' in result) throw new DataError(result.problem);
      return result.output as Out;
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#dispatch();
    for (const thread of this.#threads.splice(0)) this.#ending.push(thread.end());
    await Promise.all(this.#ending);
  }

  #dispatch(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const thread = this.#free();
      if (thread === undefined && this.#alive().length > 0 && !this.#closed) return;
      this.#waiting.shift();
      if (thread === undefined) next.resolve(undefined);
      else next.resolve(this.#decodeIn(thread, next.input));
    }
  }

  async #decodeIn(
    thread: EngineThread,
    { file: input, origin }: StoredFile,
  ): Promise<DecodedFile | undefined> {
    const file = this.#files++;
    thread.files++;
    let heldBytes = 0;
    const onFree = () => {
      thread.files--;
      this.#heldBytes -= heldBytes;
      this.#dispatch();
      const isLast = this.#files >= (this.#expectedFiles ?? Number.POSITIVE_INFINITY);
      if (isLast && !this.#setup.encodings.some(one => one?.kind?.hasTasks)) this.#endIdle();
    };
    try {
      const { input: back, decoded } = await ('path' in input
        ? thread.ask('decode', [file, input.path, input.size])
        : thread.ask('decode', [file, input.bytes, 0], [input.bytes]));
      if ('bytes' in input && back !== undefined)
        input.bytes = Buffer.from(back.buffer, back.byteOffset, back.byteLength);
      if (decoded !== undefined) {
        const { bytes, bounds, messages } = decoded;
        const rows = FileRecords.elsewhere(this.#setup.decoding.records, bounds);
        const columns = columnsOf(this.#setup, decoded.columns);
        heldBytes = bytes + rows.count * BYTES_A_POST;
        this.#heldBytes += heldBytes;
        return new DecodedFile(
          origin,
          { rows, columns, messages },
          { thread, file, bytes, onFree },
        );
      }
    } catch {
      // The thread has ended. The stages on the main thread process the file.
    }
    onFree();
    return undefined;
  }

  #alive(): EngineThread[] {
    return this.#threads.filter(({ failed }) => !failed);
  }

  #free(): EngineThread | undefined {
    if (this.#closed) return undefined;
    const [best] = this.#alive().sort((a, b) => a.files - b.files);
    if (best?.files === 0) return best;
    if (best !== undefined && this.#heldBytes > MAX_HELD_BYTES) return undefined;
    if (this.#threads.length < this.#size) return this.#start() ?? best;
    return best !== undefined && best.files < FILES_A_THREAD ? best : undefined;
  }

  #endIdle(): void {
    for (const thread of this.#threads.filter(({ files }) => files === 0)) {
      this.#threads.splice(this.#threads.indexOf(thread), 1);
      this.#ending.push(thread.end());
    }
  }

  #start(): EngineThread | undefined {
    try {
      // When this thread transfers its first buffer, V8 discards the optimised code that reads columns.
      // Therefore, a buffer is transferred here, before such code exists.
      if (this.#threads.length === 0) releaseMemory(Buffer.allocUnsafeSlow(1));
      const thread = new EngineThread(this.#script, threadStartOf(this.#setup));
      this.#threads.push(thread);
      return thread;
    } catch {
      // Starting a thread failed. Node's permission model may forbid threads.
      return undefined;
    }
  }
}

/**
 * Returns the URL of the script for threads, which the build creates. It is next to the compiled
 * file, or in `dist` if the sources run directly. Returns `undefined` in a user's bundle, which
 * does not contain the script.
 */
export function scriptOfThreads(): URL | undefined {
  for (const place of ['./engine-worker.cjs', '../../dist/engine-worker.cjs'])
    try {
      const script = new URL(place, import.meta.url);
      if (existsSync(script)) return script;
    } catch {
      // A bundle may have no `import.meta.url`.
    }
  return undefined;
}

export interface FileSetup {
  readonly decoding: Decoding;
  readonly columns: readonly RecordColumn[];
  readonly encodings: readonly (RowEncoding | undefined)[];
}

/**
 * Converts the setup to data that can be sent to a thread. Functions cannot be sent, so kinds are replaced
 * with their names.
 */
export function threadStartOf({ decoding, columns, encodings }: FileSetup): ThreadStart {
  return {
    decoding: { ...decoding, records: decoding.records.name },
    columns: columns.map(({ kind, options }) => ({ name: kind.name, options })),
    encodings: encodings.map(
      one =>
        one && {
          kind: one.kind && { name: one.kind.name, options: one.options },
          compression: one.compression,
        },
    ),
  };
}

export function columnsOf(
  { columns }: FileSetup,
  read: readonly unknown[],
): ReadonlyMap<RecordColumn, unknown> {
  return new Map(columns.map((column, index) => [column, read[index]]));
}
