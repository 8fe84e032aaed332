import path from 'node:path';
import workerThreads, {
  MessageChannel,
  type MessagePort,
  type WorkerOptions,
} from 'node:worker_threads';

/** A call that a thread is about to make. */
export interface ThreadCall {
  readonly call: string;
  /** The open file; its name is known to the main thread. */
  readonly fd: number;
}

/** What the call throws, in place of being made. */
export interface ThreadFailure {
  readonly message: string;
  readonly code: string | undefined;
  readonly syscall: string | undefined;
}

/** In the data of the thread. */
export interface ThreadWatch {
  /** The script that the thread runs. */
  readonly script: string;
  readonly port: MessagePort;
  /** Its first number is 1 once an answer is at the port. */
  readonly answered: Int32Array;
}

/** Beside this file, or beside the bundle. */
const SCRIPT = path.join(import.meta.dirname, 'watched-thread-child.js');

/** Called before a call. What it throws, the call throws; where it returns a promise, the call waits for that. */
type OnThreadCall = (call: ThreadCall) => void | Promise<void>;

/** The messages of watched threads to the main one. */
export interface ThreadMessages {
  /** How many there were. */
  count: number;
  /** Called with the thread of each, after it was received. */
  onMessage?: (thread: workerThreads.Worker) => void;
}

/** Those of the threads that start from now on. */
export const threadMessages: ThreadMessages = { count: 0 };

/**
 * Lets every worker thread ask this one before it writes to a file.
 *
 * @param isWatched Whether a thread that starts now asks.
 */
export function watchThreads(isWatched: () => boolean, onCall: OnThreadCall): void {
  workerThreads.Worker = new Proxy(workerThreads.Worker, {
    construct(Worker, [script, options]: [script: URL | string, options: WorkerOptions]) {
      if (!isWatched()) return new Worker(script, options);
      const { port1, port2 } = new MessageChannel();
      const answered = new Int32Array(new SharedArrayBuffer(4));
      const watch: ThreadWatch = { script: String(script), port: port2, answered };
      answer(port1, answered, onCall);
      const thread = new Worker(SCRIPT, {
        ...options,
        workerData: { ...(options.workerData as object), watch },
        transferList: [port2],
      });
      return thread.on('message', () => {
        threadMessages.count++;
        threadMessages.onMessage?.(thread);
      });
    },
  });
}

function answer(port: MessagePort, answered: Int32Array, onCall: OnThreadCall): void {
  port.on('message', async (call: ThreadCall) => {
    let failure: ThreadFailure | undefined;
    try {
      await onCall(call);
    } catch (error) {
      const { message, code, syscall } = error as NodeJS.ErrnoException;
      failure = { message, code, syscall };
    }
    port.postMessage(failure);
    Atomics.store(answered, 0, 1);
    Atomics.notify(answered, 0);
  });
  // The thread keeps the process alive while it has to.
  port.unref();
}
