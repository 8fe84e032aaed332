import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import workerThreads from 'node:worker_threads';

/**
 * A `Worker` whose CommonJS script runs in this thread, so that the script's calls to `node:fs` can
 * be simulated. Messages are cloned and delivered later, in order.
 */
export class ThreadInPlace extends EventEmitter {
  readonly #port = Object.assign(new EventEmitter(), {
    postMessage: (message: unknown, transfer?: ArrayBuffer[]) =>
      this.#send(this, message, transfer),
    close: () => void this.terminate(),
  });
  #hasEnded = false;

  constructor(script: URL, workerData: unknown) {
    super();
    const require = createRequire(script);
    const run = new Function('require', 'exports', readFileSync(script, 'utf8'));
    const threads = { ...workerThreads, parentPort: this.#port, workerData };
    run((name: string) => (name === 'node:worker_threads' ? threads : require(name)), {});
  }

  postMessage(message: unknown, transfer?: ArrayBuffer[]): void {
    this.#send(this.#port, message, transfer);
  }

  ref(): void {}
  unref(): void {}

  async terminate(): Promise<number> {
    this.#hasEnded = true;
    this.emit('exit', 1);
    return 1;
  }

  #send(to: EventEmitter, message: unknown, transfer: ArrayBuffer[] = []): void {
    const cloned = structuredClone(message, { transfer });
    // In Node, a message that is sent just before the thread ends may or may not arrive.
    setImmediate(() => {
      if (!this.#hasEnded) to.emit('message', cloned);
    });
  }
}
