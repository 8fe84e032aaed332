import {
  checkOptions,
  checkValue,
  milliseconds,
  type OptionTable,
  required,
  whole,
} from '../base/check.js';
import { DeadlineReader } from '../flow/deadline-reader.js';
import { type Batch, type Batches, type Cursor, type Operator, ownOperator } from '../flow/flow.js';
import { detached } from '../post/detach-from-block.js';

/** Options of `chunk`: how long items wait until their chunk is full. */
export interface ChunkOptions {
  /**
   * The maximum time in milliseconds that an item waits for its chunk to fill. After that, the chunk is
   * forwarded with fewer items. Useful for sources that deliver slowly.
   * @default no limit
   */
  readonly waitMs?: number | undefined;
}

const OPTIONS = {
  waitMs: milliseconds('until a chunk is passed on that is not full'),
} satisfies OptionTable<ChunkOptions>;
const COUNT = required(whole('the items of a chunk', { min: 1 }));

/**
 * A checkpoint can be written only at a cursor at which no items wait for a full chunk. After this many full
 * chunks without such a cursor, the next cursor ends a chunk early.
 */
const FULL_IN_A_ROW = 16;

/**
 * Collects items into arrays of `count`, for consumers that take several items at a time, such as a database
 * or an API. At the end of the source and after `waitMs`, a chunk may have fewer items. In addition, at most
 * one chunk in 16 ends early at a cursor, because a checkpoint can be written only when no items are waiting.
 *
 * @throws OptionError Immediately, if `count` is not a whole number of 1 or more, or `waitMs` is invalid.
 * @example
 * await pipeline(
 *   search(account(), query),
 *   chunk(100, { waitMs: 1_000 }),
 *   mapAsync(posts => annotate(posts.map(({ text }) => text)), { concurrency: 4 }),
 *   files({ path: 'annotated.jsonl' }),
 * );
 */
export function chunk<T>(count: number, options: ChunkOptions = {}): Operator<T, readonly T[]> {
  checkValue('chunk', 'count', COUNT, count);
  const { waitMs } = checkOptions('chunk', OPTIONS, options);
  return ownOperator(input => chunks(input, count, waitMs), {
    step: { step: 'chunk' },
  });
}

async function* chunks<T>(
  input: Batches<T>,
  count: number,
  waitMs: number | undefined,
): Batches<readonly T[]> {
  const timed = new DeadlineReader(input);
  const held = new Held<T>(count);
  try {
    while (true) {
      const isWaiting = waitMs !== undefined && !held.isEmpty;
      const result = await timed.next(isWaiting ? held.since + waitMs : undefined);
      const ended = result !== 'late' && result.done === true;
      const batch = result === 'late' || ended ? held.rest() : held.add(result.value);
      if (batch.items.length > 0 || batch.cursor !== undefined) yield batch;
      if (ended) return;
    }
  } finally {
    await timed.close();
  }
}

class Held<T> {
  readonly #count: number;
  #items: T[] = [];
  #origin: string | undefined;
  #cursor: Cursor | undefined;
  #fullInARow = 0;
  /** When the first item of the chunk arrived, as a value of `performance.now()`. */
  since = 0;

  constructor(count: number) {
    this.#count = count;
  }

  get isEmpty(): boolean {
    return this.#items.length === 0;
  }

  /**
   * Adds a batch, and returns the chunks that have become full. The result has a cursor only if no items are
   * still waiting.
   */
  add({ items, cursor, origin }: Batch<T>): Batch<readonly T[]> {
    const full: (readonly T[])[] = [];
    if (items.length > 0)
      this.#origin = this.isEmpty || this.#origin === origin ? origin : undefined;
    const from = this.#origin;
    // Items that do not fill a chunk wait for the next batch. `detached` copies them, so that the memory of
    // this batch can be freed.
    const waiting = Math.min(items.length, (this.#items.length + items.length) % this.#count);
    const leaving = items.length - waiting;
    for (const item of [...items.slice(0, leaving), ...detached(items.slice(leaving))]) {
      if (this.isEmpty) this.since = performance.now();
      this.#items.push(item);
      if (this.#items.length === this.#count) full.push(this.#take());
    }
    if (items.length > 0 || cursor !== undefined) this.#cursor = cursor;
    this.#fullInARow += full.length;
    if (cursor !== undefined && !this.isEmpty && this.#fullInARow >= FULL_IN_A_ROW)
      full.push(this.#take());
    if (!this.isEmpty) return { items: full, origin: from };
    if (cursor !== undefined) this.#fullInARow = 0;
    return { items: full, cursor, origin: from };
  }

  rest(): Batch<readonly T[]> {
    const batch = { items: this.isEmpty ? [] : [this.#take()], origin: this.#origin };
    const cursor = batch.items.length === 0 ? undefined : this.#cursor;
    if (cursor !== undefined) this.#fullInARow = 0;
    return { ...batch, cursor };
  }

  #take(): readonly T[] {
    const items = this.#items;
    this.#items = [];
    return items;
  }
}
