import type { Batch, Cursor } from '../../flow/flow.js';
import { detached } from '../../post/detached.js';

/** Rows to be committed, and the cursor after them. */
export interface Taken<T> {
  readonly rows: readonly T[];
  /** Absent where they go on without one. */
  readonly cursor: Cursor | undefined;
}

export interface HeldRowsOptions {
  /** From this number of rows on, they are due. */
  readonly rows: number;
  /** From this age on, in milliseconds. */
  readonly waitMs: number;
}

/**
 * Rows that wait for their commit: those up to the last cursor, which can be committed, and those after it, which
 * wait for the next cursor.
 */
export class HeldRows<T> {
  readonly #options: HeldRowsOptions;
  #rows: T[] = [];
  /** The number of rows before the last cursor. */
  #reached = 0;
  #cursor: Cursor | undefined;
  /** When the first of what can be committed came, and the first after it. */
  #since: number | undefined;
  #behindSince: number | undefined;

  constructor(options: HeldRowsOptions) {
    this.#options = options;
  }

  /** @param now Of `performance.now()`. */
  add({ items, cursor }: Batch<T>, now: number): void {
    for (const item of detached(items)) this.#rows.push(item);
    if (items.length > 0) this.#behindSince ??= now;
    if (cursor === undefined) return;
    this.#reached = this.#rows.length;
    this.#cursor = cursor;
    // A cursor without rows is to be committed, too: the source need not deliver again what operators dropped.
    this.#since ??= this.#behindSince ?? now;
    this.#behindSince = undefined;
  }

  /** Whether a commit is due. */
  isDue(now: number): boolean {
    const { dueAt } = this;
    return dueAt !== undefined && now >= dueAt;
  }

  /** When a commit is due if nothing else comes; absent while nothing can be committed. */
  get dueAt(): number | undefined {
    const { rows, waitMs } = this.#options;
    if (this.#since === undefined) return undefined;
    return this.#reached >= rows ? this.#since : this.#since + waitMs;
  }

  /** Whether enough rows for a commit came without a cursor. */
  get isFullWithoutCursor(): boolean {
    return this.#since === undefined && this.#rows.length >= this.#options.rows;
  }

  /** Whether some came after the last cursor. */
  get isBehind(): boolean {
    return this.#rows.length > this.#reached;
  }

  get size(): number {
    return this.#rows.length;
  }

  /** What can be committed. */
  take(): Taken<T> {
    const rows =
      this.#reached === this.#rows.length ? this.#rows : this.#rows.slice(0, this.#reached);
    const cursor = this.#cursor;
    this.#rows = this.#rows.slice(this.#reached);
    this.#reached = 0;
    this.#cursor = undefined;
    this.#since = undefined;
    return { rows, cursor };
  }

  /** All rows, also those after the last cursor, which is returned. */
  takeAll(): Taken<T> {
    this.#reached = this.#rows.length;
    this.#behindSince = undefined;
    return this.take();
  }
}

/** In parts of at most `size` rows. */
export function* partsOf<T>(rows: readonly T[], size: number): Generator<readonly T[]> {
  if (rows.length <= size) {
    if (rows.length > 0) yield rows;
    return;
  }
  for (let at = 0; at < rows.length; at += size) yield rows.slice(at, at + size);
}
