import { setImmediate } from 'node:timers/promises';
import { collectGarbage } from './collect-garbage.js';

/** The memory that this process has in use beyond what it had before: heap and buffers, after a collection. */
export class MemoryWatch {
  readonly #before: number;
  /** The most so far, in bytes. */
  grown = 0;

  private constructor(before: number) {
    this.#before = before;
  }

  static async start(): Promise<MemoryWatch> {
    return new MemoryWatch(await inUse());
  }

  /** Resolves to the most so far, this moment included. */
  async look(): Promise<number> {
    this.grown = Math.max(this.grown, (await inUse()) - this.#before);
    return this.grown;
  }

  /** Throws if there is more than `limitBytes` now. */
  async mustBeBelow(limitBytes: number): Promise<void> {
    if ((await this.look()) > limitBytes)
      throw new Error(`${this.grown} bytes more in memory than before, of at most ${limitBytes}`);
  }
}

async function inUse(): Promise<number> {
  // Buffers are freed after the collection that finds them unused.
  collectGarbage();
  await setImmediate();
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
