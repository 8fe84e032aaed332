import { Worker } from 'node:worker_threads';
import { StorageError } from '../base/errors.js';
import type { Memory } from './record-columns.js';
import type { ThreadCalls, ThreadStart } from './thread-calls.js';

/** Limits of a worker's heap; the content of files is outside of it. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 };

/**
 * A thread that has not ended after this time hangs, and is terminated. Its calls take milliseconds, but on a busy
 * machine a thread can take seconds to start.
 */
const HUNG_MS = 30_000;

interface Waiting {
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

type Args<Name extends keyof ThreadCalls> = Parameters<ThreadCalls[Name]>;
type Result<Name extends keyof ThreadCalls> = Awaited<ReturnType<ThreadCalls[Name]>>['result'];

/** One worker thread, and the answers that it owes. It keeps the process alive only while it owes some. */
export class EngineThread {
  /** Files that it decodes or holds. */
  files = 0;
  readonly #worker: Worker;
  readonly #ended: Promise<void>;
  /** In the order of the calls, which is also the order of the answers. */
  readonly #waiting: Waiting[] = [];
  #failure: Error | undefined;

  /** @throws If no thread can be started. */
  constructor(script: URL, start: ThreadStart) {
    const worker = new Worker(script, {
      workerData: start,
      resourceLimits: RESOURCE_LIMITS,
      // Hooks and flags of the main thread only make the start slower.
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

  /** Calls that it has not answered yet. */
  get load(): number {
    return this.#waiting.length;
  }

  get failed(): boolean {
    return this.#failure !== undefined;
  }

  /**
   * Makes a call. Rejects when the thread ends before it answers.
   *
   * @param moved Arrays among the arguments whose memory moves to the thread; others are copied.
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

  /** Makes a call whose outcome nobody needs, also where the thread has ended. */
  tell<Name extends keyof ThreadCalls>(name: Name, args: Args<Name>): void {
    this.ask(name, args).catch(() => {});
  }

  /**
   * Ends the thread after the calls before this one. `terminate` would abort the whole process if it came while the
   * thread creates a decoder: Node 20 then fails with "close before init".
   */
  async end(): Promise<void> {
    // Sent without `call`: a thread whose answer could not be read has failed, but still runs.
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
 * The answer of a thread that has what is to be written.
 *
 * @param did What the thread did with `path`.
 * @throws StorageError where the thread has ended.
 */
export async function answerOfThread<T>(answer: Promise<T>, did: string, path: string): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    const { message } = cause as Error;
    throw new StorageError(
      `The thread that ${did} ${path} ended before they were written (${message}). Run again`,
      { path, cause },
    );
  }
}
