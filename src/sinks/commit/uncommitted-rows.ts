import { createHash } from 'node:crypto';
import path from 'node:path';
import { LinkedAbort } from '../../base/abortable.js';
import { isBudgetSpent, StorageError } from '../../base/errors.js';
import { DeadlineReader } from '../../flow/deadline-reader.js';
import { batchesOf, type Cursor, type Pull, type SinkRun } from '../../flow/flow.js';
import { isIncremental } from '../../flow/flow-identity.js';
import type { Progress } from '../../flow/progress.js';
import { detached } from '../../post/detach-from-block.js';
import type { FileSystem } from '../../storage/file-system.js';
import { type Lock, takeLock } from '../../storage/lock.js';
import { type CheckpointStore, lockPaths, prepareFolder } from './checkpoint-file.js';
import {
  type Checkpoint,
  type CheckpointOwner,
  type CheckpointText,
  type Pending,
  parseCursor,
} from './checkpoint-text.js';
import { type OpenParts, Target, type TargetOptions } from './transaction.js';

export interface UncommittedRowsOptions<T, Tx> extends TargetOptions<T, Tx> {
  readonly waitMs: number;
}

/** How the rows take part in the commits of a run. */
export interface RowsRun extends Pull {
  readonly signal: AbortSignal;
  /** Called with each cursor, once the rows before it are held. The next rows come when it has ended. */
  reached(cursor: Cursor): Promise<void> | undefined;
  /** Resolves when no commit is under way. */
  idle(): Promise<void>;
  /** Ends the run. */
  fail(error: unknown): void;
  /** Commits up to a cursor, due or not, and waits for it. Absent in `tee`, where a commit needs all branches. */
  readonly commitNow?: ((cursor: Cursor) => Promise<void>) | undefined;
}

/**
 * In multiples of `rows`: beyond that many held rows, further ones are written into an open transaction. Branches of `tee` have
 * to wait for each other before they commit, so more is held.
 */
const MAX_HELD = { alone: 1, inTee: 4 };

/**
 * The rows of `committed` that wait for their commit. What the target saves with them is the checkpoint of the run: a
 * transaction that commits the rows commits the cursor and the counts of files, which are on disk then.
 *
 * Where many rows come before a commit, as between cursors that lie far apart, they go into a transaction that is open until
 * then, and such a commit cannot be tried again.
 */
export class UncommittedRows<T, Tx> implements CheckpointStore {
  readonly name: string;
  readonly everyMs: number;
  readonly #options: UncommittedRowsOptions<T, Tx>;
  readonly #progress: Progress | undefined;
  /** Fires when the run is to end. */
  readonly #broken: LinkedAbort;
  readonly #target: Target<T, Tx>;
  /** True if the next run continues where this one ends. */
  readonly #incremental: boolean;
  #lock: { readonly paths: readonly string[]; readonly lock: Lock } | undefined;
  #rowsBefore = 0;
  /** The rows since the last commit began. */
  #held: T[] = [];
  /** How many of the held rows are before the last cursor. */
  #reached = 0;
  /** The last cursor since the last commit began, and when it is committed at the latest. */
  #cursor: Cursor | undefined;
  #dueAt: number | undefined;
  /** The rows of the commit under way. */
  #taken: readonly T[] = [];
  #parts: OpenParts<T> | undefined;

  constructor(
    options: UncommittedRowsOptions<T, Tx>,
    owner: CheckpointOwner,
    { signal, progress }: SinkRun,
  ) {
    this.name = options.name;
    this.everyMs = options.waitMs;
    this.#options = options;
    this.#progress = progress;
    this.#incremental = isIncremental(owner.flow);
    this.#broken = new LinkedAbort(signal);
    this.#target = new Target(options, {
      owner,
      signal: this.#broken.signal,
      onWait: progress?.onWait,
    });
  }

  /**
   * Locks the files of other branches against other runs: a checkpoint that is a file would be locked itself.
   *
   * @param paths The paths of the branches, as they were given.
   */
  async lock(fs: FileSystem, folder: string, paths: readonly string[]): Promise<void> {
    const [first] = paths;
    if (first === undefined) return;
    const name = createHash('sha256').update(JSON.stringify(paths)).digest('hex').slice(0, 16);
    // The folder that does not depend on the items.
    const file = path.join(path.dirname(`${first.split('{')[0]}x`), `.tee-${name}.lock`);
    await prepareFolder(fs, path.resolve(folder, file));
    this.#lock = { paths: lockPaths(file), lock: await takeLock(file, { fs }) };
  }

  get shownName(): string {
    return `of ${this.name}`;
  }

  get paths(): readonly string[] {
    return this.#lock?.paths ?? [];
  }

  get isFull(): boolean {
    return this.#parts !== undefined || this.#held.length >= this.#options.rows;
  }

  get hasNew(): boolean {
    return this.added > 0;
  }

  /** The number of rows in the target, including earlier runs. */
  get rows(): number {
    return this.#target.saved.rows;
  }

  /** The number of rows of this run. */
  get added(): number {
    return this.rows - this.#rowsBefore;
  }

  async read(): Promise<Checkpoint | undefined> {
    await this.#target.open();
    const { state, commits, cursor, completed, rows, files = [] } = this.#target.saved;
    this.#rowsBefore = rows;
    // Nothing is committed yet.
    if (commits === 0) return undefined;
    return { state, cursor: parseCursor(cursor), completed, files };
  }

  /**
   * Holds the rows of a flow for their commits.
   *
   * @returns The cursor after the last row; `null` if the flow had no rows and no cursors; `undefined` if rows came
   * after the last cursor.
   */
  async write(input: AsyncIterable<T>, run: RowsRun): Promise<Cursor | null | undefined> {
    const { signal, commitNow } = run;
    // Not only until all rows have come: the last commit is to end, too.
    signal.addEventListener('abort', () => this.#broken.abort(signal.reason), { once: true });
    const batches = new DeadlineReader(batchesOf(input, run));
    let { pending } = this.#target.saved;
    let end: Cursor | null | undefined = run.resume ?? null;
    try {
      while (true) {
        const isTimed = commitNow !== undefined && pending === undefined;
        const next = await batches.next(isTimed ? this.#dueAt : undefined);
        if (next === 'late') {
          await this.#commitReached(run);
          continue;
        }
        if (next.done === true) break;
        const { items, cursor } = next.value;
        for (const item of detached(items)) this.#held.push(item);
        if (cursor !== undefined || items.length > 0) end = cursor;
        if (cursor !== undefined) this.#reach(cursor);
        if (pending !== undefined) {
          if (await this.#isRepeated(pending, cursor, run)) pending = undefined;
          continue;
        }
        if (cursor !== undefined) {
          const committing = this.#fixesWindow ? this.#commitReached(run) : run.reached(cursor);
          // Each wait takes longer than holding a row.
          if (committing !== undefined) await committing;
        }
        if (this.#isOverfull(run)) await this.#addPart(run);
      }
      if (pending !== undefined && (!pending.isLast || this.#held.length !== pending.rows))
        throw this.#otherRows(pending);
      // What is behind the last cursor belongs to the last commit.
      this.#reached = this.#held.length;
      return end;
    } catch (error) {
      // What is held was paid for. Rows that may be in the target already are not told apart before all of them came.
      const isWhole = pending === undefined && this.#parts === undefined;
      if (isBudgetSpent(error) && isWhole) await this.#commitReached(run);
      throw error;
    } finally {
      await batches.close();
    }
  }

  begin(): void {
    const isAll = this.#reached === this.#held.length;
    this.#taken = isAll ? this.#held : this.#held.slice(0, this.#reached);
    this.#held = isAll ? [] : this.#held.slice(this.#reached);
    this.#reached = 0;
    this.#cursor = undefined;
    this.#dueAt = undefined;
  }

  async replace({ state, cursor, files }: Omit<CheckpointText, 'owner'>): Promise<void> {
    await this.#lock?.lock.check();
    const rows = this.#taken;
    this.#taken = [];
    const end = { state, cursor, files };
    if (this.#parts === undefined) await this.#target.commit(rows, end);
    else {
      await this.#parts.queue.add([rows]);
      await this.#parts.end(end);
      this.#parts = undefined;
    }
    if (this.#progress !== undefined) this.#progress.written += rows.length;
  }

  async close(): Promise<void> {
    if (this.#parts !== undefined) {
      const { queue, committing } = this.#parts;
      queue.fail(new Error('The run has ended'));
      // It is rolled back, or its failure has ended the run.
      await committing.catch(() => {});
    }
    this.#broken.unlink();
    await this.#lock?.lock.release();
  }

  #reach(cursor: Cursor): void {
    this.#reached = this.#held.length;
    this.#cursor = cursor;
    this.#dueAt ??= performance.now() + this.everyMs;
  }

  /** Commits the rows before the last cursor, due or not. */
  async #commitReached({ commitNow }: RowsRun): Promise<void> {
    if (this.#cursor !== undefined) await commitNow?.(this.#cursor);
  }

  /**
   * Whether there is nothing but the cursor that an incremental run begins with. Without transactions it is saved immediately:
   * until then, the next run may not deliver the same rows.
   */
  get #fixesWindow(): boolean {
    return this.#incremental && this.#held.length === 0 && !this.#target.hasTransactions;
  }

  /** Commits the rows that may be in the target already once all of them have come again. Returns whether they have. */
  async #isRepeated(pending: Pending, cursor: Cursor | undefined, run: RowsRun): Promise<boolean> {
    if (this.#held.length > pending.rows) throw this.#otherRows(pending);
    // Its cursor may be another string: page tokens depend on when they were requested. An incremental source may now
    // deliver more rows after them.
    const isEnd = cursor !== undefined && (this.#incremental || !pending.isLast);
    if (!isEnd || this.#held.length !== pending.rows) return false;
    await this.#commitReached(run);
    return true;
  }

  #isOverfull({ commitNow }: RowsRun): boolean {
    if (!this.#target.hasTransactions) return false;
    const max = commitNow === undefined ? MAX_HELD.inTee : MAX_HELD.alone;
    const most = this.#parts === undefined ? max : 1;
    // Rows that have a cursor need no open transaction where they can be committed.
    const rows = this.#held.length - (commitNow === undefined ? 0 : this.#reached);
    return rows >= most * this.#options.rows;
  }

  /** Writes what is held into a transaction that the next commit ends. */
  async #addPart(run: RowsRun): Promise<void> {
    const { idle, fail, signal } = run;
    await this.#commitReached(run);
    // The transaction of the commit under way is still open until that commit ends.
    await idle();
    signal.throwIfAborted();
    if (!this.#isOverfull(run)) return;
    if (this.#parts === undefined) {
      this.#parts = this.#target.openParts();
      this.#parts.committing.catch(fail);
    }
    const rows = this.#held;
    this.#held = [];
    this.#reached = 0;
    await this.#parts.queue.add([rows]);
    if (this.#progress !== undefined) this.#progress.written += rows.length;
  }

  #otherRows({ rows }: Pending): StorageError {
    return new StorageError(
      `The run before has begun to write ${rows} rows to ${this.name}, and the source does not deliver the same rows again, so it cannot be told which of them are there. Remove what was written last, and start again`,
      { path: this.name },
    );
  }
}
