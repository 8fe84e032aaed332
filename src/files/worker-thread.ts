import { Worker } from 'node:worker_threads';
import { StorageError } from '../base/errors.js';
import type { Memory } from './record-columns.js';
import type { ThreadCalls, ThreadStart } from './thread-calls.js';

/** Limits of a worker's heap. The content of files is outside of the heap. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 };

/**
 * A thread that takes longer than this to end is terminated, because it hangs. Its calls take milliseconds,
 * but on a busy machine a thread can take seconds to start.
 */
const HUNG_MS = 30_000;

interface Waiting {
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

type Args<Name extends keyof ThreadCalls> = Parameters<ThreadCalls[Name]>;
type Result<Name extends keyof ThreadCalls> = Awaited<ReturnType<ThreadCalls[Name]>>['result'];

/**
 * A worker thread, with the calls that it has not answered yet. It keeps the process alive only while there
 * are such calls.
 */
export class EngineThread {
  /** The number of files that it decodes or holds. */
  files = 0;
  readonly #worker: Worker;
  readonly #ended: Promise<void>;
  /** Calls without an answer. Answers come in the order of the calls. */
  readonly #waiting: Waiting[] = [];
  #failure: Error | undefined;

  /** @throws If the thread cannot be started. */
  constructor(script: URL, start: ThreadStart) {
    const worker = new Worker(script, {
      workerData: start,
      resourceLimits: RESOURCE_LIMITS,
      // The hooks and flags of the main thread are not needed here and would only slow down the
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

  /** The number of calls that it has not answered yet. */
  get load(): number {
    return this.#waiting.length;
  }

  get failed(): boolean {
    return this.#failure !== undefined;
  }

  /**
   * Calls a function in the thread. Rejects if the thread ends before it answers.
   *
   * @param moved Arrays among the arguments that are transferred to the thread. Others are copied.
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

  /** Calls a function in the thread and ignores its outcome, even if the thread has ended. */
  tell<Name extends keyof ThreadCalls>(name: Name, args: Args<Name>): void {
    this.ask(name, args).catch(() => {});
  }

  /**
   * Ends the thread after all earlier calls. `terminate` would abort the whole process if it came while the
   * thread creates a decoder: Node 20 then fails with "close before init".
   */
  async end(): Promise<void> {
    // Does not use `call`, because a thread with an unreadable answer counts as failed but still
    // runs.
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
 * Waits for the answer of a thread that holds data to be written.
 *
 * @param did What the thread did with `path`, for the message.
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
