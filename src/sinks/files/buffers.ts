/** The largest buffer: one write of this size costs the disk little more than a small one. */
export const MAX_BUFFER_BYTES = 1 << 20;
export const MIN_BUFFER_BYTES = 1 << 14;
/** What all outputs together may hold in memory, however many they are. */
const LIMIT = 16 << 20;
const SPARE = 16;

/** The memory that lines wait in for their way to disk: bounded in total, and used again. */
export class Buffers {
  #held = 0;
  readonly #spare: Buffer[] = [];
  #waiting: (() => void)[] = [];

  take(size: number): Buffer {
    this.#held += size;
    return (
      (size === MAX_BUFFER_BYTES ? this.#spare.pop() : undefined) ?? Buffer.allocUnsafeSlow(size)
    );
  }

  give(buffer: Buffer): void {
    this.#held -= buffer.length;
    if (buffer.length === MAX_BUFFER_BYTES && this.#spare.length < SPARE) this.#spare.push(buffer);
    if (this.#held <= LIMIT / 2) this.release();
  }

  /** Whether lines have to reach the disk before more are gathered. */
  get full(): boolean {
    return this.#held > LIMIT;
  }

  /** Waits until half of the memory is free again. */
  relief(): Promise<void> {
    if (this.#held <= LIMIT / 2) return Promise.resolve();
    return new Promise(resolve => this.#waiting.push(resolve));
  }

  /** Ends all waits: memory is free, or will never be. */
  release(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** The next size for an output that filled `used` of its last buffer: busy outputs get large ones. */
export function nextSize(last: number, used: number): number {
  if (used * 2 < last) return Math.max(MIN_BUFFER_BYTES, last / 4);
  return Math.min(MAX_BUFFER_BYTES, last * 4);
}
