import { setImmediate } from 'node:timers/promises';
import { collectGarbage } from './collect-garbage.js';

/**
 * Measures how much memory the heap and the buffers of this process have gained since the call of
 * `start()`. Collects garbage before each measurement.
 */
export class MemoryWatch {
  readonly #before: number;
  /** The largest growth so far, in bytes. */
  grown = 0;

  private constructor(before: number) {
    this.#before = before;
  }

  static async start(): Promise<MemoryWatch> {
    return new MemoryWatch(await inUse());
  }

  async look(): Promise<number> {
    this.grown = Math.max(this.grown, (await inUse()) - this.#before);
    return this.grown;
  }

  async mustBeBelow(limitBytes: number): Promise<void> {
    if ((await this.look()) > limitBytes)
      throw new Error(`${this.grown} bytes more in memory than before, of at most ${limitBytes}`);
  }
}

async function inUse(): Promise<number> {
  // A buffer is freed only after the collection that finds it unused, so there are two collections.
  collectGarbage();
  await setImmediate();
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
