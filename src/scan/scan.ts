import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import type { InflateLimits } from '../gzip/gzip-file.js';
import { releaseMemory } from '../gzip/release-memory.js';
import type { CheckedLimits } from '../json/record-limits.js';
import { HeldFile } from './held-file.js';
import type { ScanReply } from './messages.js';
import type { ScanFields, ScanStages, StoredFile } from './scan-task.js';
import { ScanThread } from './scan-thread.js';

/** Files that a thread scans or holds: the next is ready when one is written. */
const FILES_A_THREAD = 2;
const MAX_THREADS = 16;
/** What the main thread has of each post of a file that a thread holds: columns, rows and ranges. */
const BYTES_A_POST = 64;
/** Content of files that all threads may hold, and what belongs to its posts. A single file may be larger. */
const MAX_HELD_BYTES = 96 * 1024 * 1024;
/** For less, starting threads and optimising their code takes longer than they save. */
const MIN_INPUT_BYTES = 32 * 1024 * 1024;

export interface ScanOptions {
  /** Maximum number of threads; they then scan any input. Default: one a core, for large inputs. */
  readonly workers?: number | undefined;
  /** The script of the threads, for tests. */
  readonly script?: URL | undefined;
}

/**
 * Worker threads that inflate and scan whole files. A sink that can leave the content of posts with them
 * opens its input with a `Scan`. On the way to the source, each stage that reads a field of every post adds
 * it, and the stages that make posts of bytes add what they do; the source scans its files. The threads
 * start with `start` or the first file.
 */
export class Scan {
  readonly #fields: ScanFields;
  readonly #stages: Partial<ScanStages>;
  readonly #threads: ScanThreads;

  private constructor(fields: ScanFields, stages: Partial<ScanStages>, threads: ScanThreads) {
    this.#fields = fields;
    this.#stages = stages;
    this.#threads = threads;
  }

  /** `undefined` where there can be no threads. */
  static open(options: ScanOptions = {}): Scan | undefined {
    const script = options.script ?? scriptOfThreads();
    const size = options.workers ?? Math.min(availableParallelism(), MAX_THREADS);
    if (script === undefined || size === 0) return undefined;
    const minBytes = options.workers === undefined ? MIN_INPUT_BYTES : 0;
    const threads = new ScanThreads({ script, size, minBytes });
    return new Scan({ id: false, tags: false, keys: [] }, {}, threads);
  }

  /** The same threads, and more fields to read. */
  with(fields: Partial<ScanFields>): Scan {
    return new Scan({ ...this.#fields, ...fields }, this.#stages, this.#threads);
  }

  /** The same with records cut as `jsonLines` does; `undefined` where they are cut already. */
  framing(limits: CheckedLimits): Scan | undefined {
    if (this.#stages.limits !== undefined) return undefined;
    return new Scan(this.#fields, { limits }, this.#threads);
  }

  /** The same with files inflated as `gunzip` does; `undefined` where they cannot be, such as twice. */
  inflating(gunzip: InflateLimits): Scan | undefined {
    const { limits } = this.#stages;
    if (limits === undefined || this.#stages.gunzip !== undefined) return undefined;
    return new Scan(this.#fields, { limits, gunzip }, this.#threads);
  }

  /** Whether threads pay for an input of this many bytes, compressed. */
  pays(bytes: number): boolean {
    return this.#stages.limits !== undefined && bytes >= this.#threads.minBytes;
  }

  /**
   * Starts the threads before the first file, which otherwise waits for its thread. `files` is how many will come:
   * once the last has begun, a thread ends when it is idle, while the sink completes its outputs.
   */
  start(files: number): void {
    this.#threads.start(files, this.#fields);
  }

  /** Files to begin before the first of them is read. */
  get ahead(): number {
    return FILES_A_THREAD * this.#threads.size;
  }

  /**
   * Scans a file. Resolves to `undefined` where it must be read in another way. Files are scanned in the
   * order of the calls, which must be the one in which they are read: a thread holds each until it is
   * released.
   */
  async scan(input: StoredFile): Promise<HeldFile | undefined> {
    const { limits, gunzip } = this.#stages;
    if (limits === undefined) return undefined;
    return this.#threads.scan(input, { limits, gunzip }, this.#fields);
  }

  /** Ends the threads; what they hold is lost. */
  close(): Promise<void> {
    return this.#threads.close();
  }
}

interface Waiting {
  readonly input: StoredFile;
  readonly stages: ScanStages;
  readonly fields: ScanFields;
  resolve(file: HeldFile | undefined | Promise<HeldFile | undefined>): void;
}

class ScanThreads {
  readonly size: number;
  readonly minBytes: number;
  readonly #script: URL;
  readonly #threads: ScanThread[] = [];
  /**
   * In the order of the files. A later file never takes the place of an earlier one: the reader waits for
   * that before it frees others.
   */
  readonly #waiting: Waiting[] = [];
  #files = 0;
  /** How many files there will be, where that is known: no thread is needed after the last. */
  #expectedFiles: number | undefined;
  #heldBytes = 0;
  readonly #ending: Promise<void>[] = [];
  #closed = false;

  constructor({ script, size, minBytes }: { script: URL; size: number; minBytes: number }) {
    this.#script = script;
    this.size = size;
    this.minBytes = minBytes;
  }

  scan(input: StoredFile, stages: ScanStages, fields: ScanFields): Promise<HeldFile | undefined> {
    return new Promise(resolve => {
      this.#waiting.push({ input, stages, fields, resolve });
      this.#dispatch();
    });
  }

  start(files: number, fields: ScanFields): void {
    if (this.#closed) return;
    this.#expectedFiles = (this.#expectedFiles ?? this.#files) + files;
    const wanted = Math.min(this.size, files);
    while (this.#threads.length < wanted) if (this.#start(fields) === undefined) return;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#dispatch();
    for (const thread of this.#threads.splice(0)) this.#ending.push(thread.end());
    await Promise.all(this.#ending);
  }

  #dispatch(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const thread = this.#free(next.fields);
      if (thread === undefined && this.#alive().length > 0 && !this.#closed) return;
      this.#waiting.shift();
      if (thread === undefined) next.resolve(undefined);
      else next.resolve(this.#scanIn(thread, next));
    }
  }

  async #scanIn(thread: ScanThread, { input, stages }: Waiting): Promise<HeldFile | undefined> {
    const file = this.#files++;
    thread.files++;
    const free = (bytes: number) => {
      thread.files--;
      this.#heldBytes -= bytes;
      this.#dispatch();
      if (this.#files >= (this.#expectedFiles ?? Number.POSITIVE_INFINITY)) this.#endIdle();
    };
    try {
      const reply = await this.#ask(thread, file, input, stages);
      if (reply.kind === 'scanned') {
        const heldBytes = reply.bytes + reply.data.count * BYTES_A_POST;
        this.#heldBytes += heldBytes;
        return new HeldFile(thread, file, { ...reply, origin: input.origin }, () =>
          free(heldBytes),
        );
      }
    } catch {
      // The thread has ended: the stages of the main thread take the file.
    }
    free(0);
    return undefined;
  }

  async #ask(
    thread: ScanThread,
    file: number,
    { file: input, size }: StoredFile,
    stages: ScanStages,
  ): Promise<ScanReply> {
    if (typeof input === 'string')
      return thread.ask({ kind: 'scan', file, task: { ...stages, file: input, size } });
    const { bytes } = input;
    const moved = [bytes.buffer as ArrayBuffer];
    const reply = await thread.ask({ kind: 'scan', file, task: { ...stages, file: bytes } }, moved);
    if ('input' in reply && reply.input !== undefined) {
      const { buffer, byteOffset, byteLength } = reply.input;
      input.bytes = Buffer.from(buffer, byteOffset, byteLength);
    }
    return reply;
  }

  #alive(): ScanThread[] {
    return this.#threads.filter(({ failed }) => !failed);
  }

  /** A thread that can take a file now. */
  #free(fields: ScanFields): ScanThread | undefined {
    if (this.#closed) return undefined;
    const [best] = this.#alive().sort((a, b) => a.files - b.files);
    if (best?.files === 0) return best;
    if (best !== undefined && this.#heldBytes > MAX_HELD_BYTES) return undefined;
    if (this.#threads.length < this.size) return this.#start(fields) ?? best;
    return best !== undefined && best.files < FILES_A_THREAD ? best : undefined;
  }

  #endIdle(): void {
    for (const thread of this.#threads.filter(({ files }) => files === 0)) {
      this.#threads.splice(this.#threads.indexOf(thread), 1);
      this.#ending.push(thread.end());
    }
  }

  #start(fields: ScanFields): ScanThread | undefined {
    try {
      // As in the threads: before code that reads columns is optimised.
      if (this.#threads.length === 0) releaseMemory(Buffer.allocUnsafeSlow(1));
      const thread = new ScanThread(this.#script, { fields });
      this.#threads.push(thread);
      return thread;
    } catch {
      // Node's permission model may forbid threads.
      return undefined;
    }
  }
}

/**
 * The script that the build makes, beside the compiled file, or in `dist` where the sources are run directly; none
 * in a user's bundle.
 */
function scriptOfThreads(): URL | undefined {
  for (const place of ['./scan-worker.cjs', '../../dist/scan-worker.cjs'])
    try {
      const script = new URL(place, import.meta.url);
      if (existsSync(script)) return script;
    } catch {
      // A bundle may have no URL.
    }
  return undefined;
}
