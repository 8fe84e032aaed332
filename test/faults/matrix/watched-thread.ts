import path from 'node:path';
import workerThreads, {
  MessageChannel,
  type MessagePort,
  type WorkerOptions,
} from 'node:worker_threads';

export interface ThreadCall {
  readonly call: string;
  /** The descriptor of an open file. The main thread knows the path of the file. */
  readonly fd: number;
}

/** The error that a thread's write throws instead of writing. */
export interface ThreadFailure {
  readonly message: string;
  readonly code: string | undefined;
  readonly syscall: string | undefined;
}

/** The `watch` member of the thread's `workerData`. */
export interface ThreadWatch {
  readonly script: string;
  readonly port: MessagePort;
  /** The first element becomes 1 when an answer has arrived at the port. */
  readonly answered: Int32Array;
}

/** The path of the script, which is next to this file or next to the bundle. */
const SCRIPT = path.join(import.meta.dirname, 'watched-thread-child.js');

/**
 * Called before each write of a thread. If this function throws, the write throws the same error.
 * If it returns a promise, the write waits for it.
 */
type OnThreadCall = (call: ThreadCall) => void | Promise<void>;

export interface ThreadMessages {
  count: number;
  onMessage?: (thread: workerThreads.Worker) => void;
}

export const threadMessages: ThreadMessages = { count: 0 };

/**
 * Makes every new worker thread ask the main thread before it writes to a file.
 *
 * @param isWatched Returns whether a thread that is starting should ask.
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
  // The port must not keep the process alive. The thread itself keeps it alive as long as
  // necessary.
  port.unref();
}
