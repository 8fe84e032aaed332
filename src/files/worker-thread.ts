import { Worker } from 'node:worker_threads';
import { StorageError } from '../base/errors.js';
import type { Memory } from './record-columns.js';
import type { ThreadCalls, ThreadStart } from './thread-calls.js';

/** The limits of a worker's heap. The contents of files are outside the heap. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 };

/**
 * If a thread takes longer than this to end, it is assumed to hang and is terminated. Each call takes only
 * milliseconds, but on a busy machine a thread can take seconds to start.
 */
const HUNG_MS = 30_000;

interface Waiting {
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

type Args<Name extends keyof ThreadCalls> = Parameters<ThreadCalls[Name]>;
type Result<Name extends keyof ThreadCalls> = Awaited<ReturnType<ThreadCalls[Name]>>['result'];

/**
 * A worker thread, and the calls that it has not answered yet. It keeps the process alive only while there
 * are unanswered calls.
 */
export class EngineThread {
  /** The number of files that this thread decodes or holds. */
  files = 0;
  readonly #worker: Worker;
  readonly #ended: Promise<void>;
  /** Calls without an answer. The thread answers calls in order. */
  readonly #waiting: Waiting[] = [];
  #failure: Error | undefined;

  /** @throws Error if the thread cannot be started */
  constructor(script: URL, start: ThreadStart) {
    const worker = new Worker(script, {
      workerData: start,
      resourceLimits: RESOURCE_LIMITS,
      // The import hooks and flags of the main thread are not needed in this thread and would slow down its
      // start.
      execArgv: [],
    });
    this.#worker = worker;
    worker.unref();
    worker.on('message', result => this.#settle(result));
    worker.on('messageerror', error => this.#fail(error));
    worker.on('error', error => this.#fail(error));
    this.#ended = new Promise(resolve => {
      worker.on('exit', code => {
        this.#fail(new Error(`it ended with code ${code}`));
        resolve();
      });
    });
  }

  get load(): number {
    return this.#waiting.length;
  }

  get failed(): boolean {
    return this.#failure !== undefined;
  }

  /**
   * Calls a function in the thread. Rejects if the thread ends before it answers.
   *
   * @param moved The arrays in `args` that are transferred to the thread. All other data is copied.
   */
  ask<Name extends keyof ThreadCalls>(
    name: Name,
    args: Args<Name>,
    moved: readonly Memory[] = [],
  ): Promise<Result<Name>> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      if (this.#waiting.push({ resolve, reject }) === 1) this.#worker.ref();
      this.#worker.postMessage(
        { name, args },
        moved.map(({ buffer }) => buffer as ArrayBuffer),
      );
    });
  }

  tell<Name extends keyof ThreadCalls>(name: Name, args: Args<Name>): void {
    this.ask(name, args).catch(() => {});
  }

  /**
   * Ends the thread after all earlier calls. Calls `terminate` only if the thread hangs. If
   * `terminate` ran while the thread creates a decoder, Node 20 would abort the whole process with
   * "close before init".
   */
  async end(): Promise<void> {
    // Sends the message directly instead of using `ask`. If an answer was unreadable, the thread counts as
    // failed and `ask` would reject, but the thread still runs.
    const end: keyof ThreadCalls = 'end';
    this.#worker.postMessage({ name: end, args: [] });
    const hung = setTimeout(() => void this.#worker.terminate(), HUNG_MS);
    await this.#ended;
    clearTimeout(hung);
  }

  #settle(result: unknown): void {
    this.#waiting.shift()?.resolve(result);
    if (this.#waiting.length === 0) this.#worker.unref();
  }

  #fail(error: unknown): void {
    this.#failure ??= error instanceof Error ? error : new Error(String(error));
    for (const { reject } of this.#waiting.splice(0)) reject(this.#failure);
  }
}

/**
 * Waits for the answer of a thread that holds rows in memory. If the thread ends, these rows are lost.
 *
 * @param did What the thread did, for the error message, such as `encoded rows of`. The message continues
 *   with `path`.
 * @throws StorageError if the thread has ended.
 */
export async function answerOfThread<T>(answer: Promise<T>, did: string, path: string): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    const { message } = cause as Error;
    throw new StorageError(
      `The thread that ${did} ${path} stopped before they were written (${message}). Run it again`,
      { path, cause },
    );
  }
}
