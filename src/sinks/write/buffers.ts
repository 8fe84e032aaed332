/** Larger writes are not faster. */
export const MAX_BUFFER_BYTES = 1 << 20;
export const MIN_BUFFER_BYTES = 1 << 14;
/** The memory limit of all outputs together, where the format sets none. */
const LIMIT = 16 << 20;
const SPARE = 16;

/** The memory that items wait in before they are written: limited in total, and reused. */
export class Buffers {
  readonly #limit: number;
  #held = 0;
  readonly #spare: Buffer[] = [];
  /** The memory that was taken and not given back. */
  readonly #taken = new WeakSet<ArrayBufferLike>();
  #waiting: (() => void)[] = [];

  constructor(limit = LIMIT) {
    this.#limit = limit;
  }

  /** Memory to collect items in, which is not counted yet. */
  take(size: number): Buffer {
    const spare = size === MAX_BUFFER_BYTES ? this.#spare.pop() : undefined;
    const buffer = spare ?? Buffer.allocUnsafeSlow(size);
    this.#taken.add(buffer.buffer);
    return buffer;
  }

  /** The memory that a block takes until it is written: all of what it was collected in. */
  memoryOf({ buffer, byteLength }: Uint8Array): number {
    return this.#taken.has(buffer) ? buffer.byteLength : byteLength;
  }

  /** Takes back the memory of a block that is written. */
  give(block: Uint8Array): void {
    const bytes = this.memoryOf(block);
    const { buffer } = block;
    const isTaken = this.#taken.delete(buffer);
    if (isTaken && bytes === MAX_BUFFER_BYTES && this.#spare.length < SPARE)
      this.#spare.push(Buffer.from(buffer as ArrayBuffer));
    this.hold(-bytes);
  }

  /** Counts memory, in bytes; what is free again is negative. */
  hold(bytes: number): void {
    this.#held += bytes;
    if (bytes < 0 && this.#held <= this.half) this.release();
  }

  /** Whether items must be written before more are collected. */
  get full(): boolean {
    return this.#held > this.#limit;
  }

  /** Whether somebody waits for memory. */
  get awaited(): boolean {
    return this.#waiting.length > 0;
  }

  /** The maximum that is held after a wait for `relief`. */
  get half(): number {
    return this.#limit / 2;
  }

  /** Waits until half of the memory is free again. */
  relief(): Promise<void> {
    if (this.#held <= this.half) return Promise.resolve();
    return new Promise(resolve => this.#waiting.push(resolve));
  }

  /** Ends all waits, after a failure too. */
  release(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** The next buffer size of an output that filled `used` bytes of its last one: busy outputs get larger buffers. */
export function nextSize(last: number, used: number): number {
  if (used * 2 < last) return Math.max(MIN_BUFFER_BYTES, last / 4);
  return Math.min(MAX_BUFFER_BYTES, last * 4);
}
