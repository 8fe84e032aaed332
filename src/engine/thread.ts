import { Worker } from 'node:worker_threads';
import type { ThreadCommand, ThreadReply, WorkerStart } from './messages.js';

/** Limits of a worker's heap; the content of files is outside of it. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 };

/**
 * A thread that has not ended after this time hangs, and is terminated. Its commands take milliseconds, but on a busy
 * machine a thread can take seconds to start.
 */
const HUNG_MS = 30_000;

interface Waiting {
  resolve(reply: ThreadReply): void;
  reject(error: unknown): void;
}

/** One worker thread, and the replies that it owes. It keeps the process alive only while it owes some. */
export class EngineThread {
  /** Files that it decodes or holds. */
  files = 0;
  readonly #worker: Worker;
  readonly #ended: Promise<void>;
  /** In the order of the commands, which is that of the replies. */
  readonly #waiting: Waiting[] = [];
  #failure: Error | undefined;
  #isEnding = false;

  /** @throws Where no thread can be started. */
  constructor(script: URL, start: WorkerStart) {
    const worker = new Worker(script, {
      workerData: start,
      resourceLimits: RESOURCE_LIMITS,
      // Hooks and flags of the main thread only make the start slower.
      execArgv: [],
    });
    this.#worker = worker;
    worker.unref();
    worker.on('message', (reply: ThreadReply) => this.#settle(reply));
    worker.on('messageerror', error => this.#fail(error));
    worker.on('error', error => this.#fail(error));
    this.#ended = new Promise(resolve => {
      worker.on('exit', code => {
        this.#fail(new Error(`it ended with code ${code}`));
        resolve();
      });
    });
  }

  /** Commands that it has not answered yet. */
  get load(): number {
    return this.#waiting.length;
  }

  get failed(): boolean {
    return this.#failure !== undefined;
  }

  /** Rejects when the thread ends before it replies. */
  ask(command: ThreadCommand, transfer: ArrayBuffer[] = []): Promise<ThreadReply> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      if (this.#waiting.push({ resolve, reject }) === 1) this.#worker.ref();
      this.#worker.postMessage(command, transfer);
    });
  }

  /** Sends a command that has no reply. */
  tell(command: ThreadCommand): void {
    this.#worker.postMessage(command);
  }

  /**
   * Ends the thread after the commands before this one. `terminate` would abort the whole process if it came while the
   * thread creates a decoder: Node 20 then fails with "close before init".
   */
  async end(): Promise<void> {
    this.#isEnding = true;
    this.#worker.ref();
    this.tell({ kind: 'end' });
    const hung = setTimeout(() => void this.#worker.terminate(), HUNG_MS);
    await this.#ended;
    clearTimeout(hung);
  }

  #settle(reply: ThreadReply): void {
    this.#waiting.shift()?.resolve(reply);
    // While it ends, the caller waits: the process must not exit before.
    if (this.#waiting.length === 0 && !this.#isEnding) this.#worker.unref();
  }

  #fail(error: unknown): void {
    this.#failure ??= error instanceof Error ? error : new Error(String(error));
    for (const { reject } of this.#waiting.splice(0)) reject(this.#failure);
  }
}
