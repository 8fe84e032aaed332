import { createHash } from 'node:crypto';
import path from 'node:path';
import { LinkedAbort } from '../../base/abortable.js';
import { isBudgetSpent, StorageError } from '../../base/errors.js';
import type { Engine } from '../../files/engine.js';
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
import { HeldRows } from './held-rows.js';
import { RowEncoder } from './row-encoder.js';
import { type OpenParts, Target, type TargetOptions } from './transaction.js';

export interface UncommittedRowsOptions extends TargetOptions {
  readonly waitMs: number;
  /** Encodes a row. If absent, each item is a row. */
  readonly encode?: ((item: unknown) => unknown) | undefined;
  readonly workers?: number | undefined;
}

export interface RowsRun extends Pull {
  readonly signal: AbortSignal;
  /**
   * Called with each cursor once the rows before it are in memory. If it returns a promise, reading continues
   * when the promise resolves.
   */
  reached(cursor: Cursor): Promise<void> | undefined;
  /** Resolves once no commit is running. */
  idle(): Promise<void>;
  fail(error: unknown): void;
  /**
   * Commits the rows before a cursor, even if no commit is due, and resolves once they are committed. Absent
   * in `tee`, because a commit of `tee` needs all branches.
   */
  readonly commitNow?: ((cursor: Cursor) => Promise<void>) | undefined;
  /**
   * Called if the run ends because the source has spent its `budget`. The rows before this cursor can still
   * be committed.
   */
  spent(cursor: Cursor): Promise<void>;
}

/**
 * The maximum number of rows to hold in memory, as a multiple of the option `rows`. Further rows are written
 * into an open transaction. In `tee`, branches wait for each other before they commit, so the maximum is
 * higher.
 */
const MAX_HELD = { alone: 1, inTee: 4 };

/**
 * The rows of `committed` that wait to be committed. The target saves a string together with the rows. This
 * string is the checkpoint of the run, so the transaction that commits the rows also commits the cursor. In
 * `tee`, it also commits the counts of the files of other branches, which are already on disk by then.
 *
 * If cursors are far apart, many rows arrive before a commit. They are then written into a transaction that
 * stays open until the commit. Such a commit cannot be retried.
 */
export class UncommittedRows implements CheckpointStore {
  readonly name: string;
  readonly everyMs: number;
  readonly #options: UncommittedRowsOptions;
  readonly #progress: Progress | undefined;
  readonly #broken: LinkedAbort;
  readonly #target: Target;
  #encoder: RowEncoder | undefined;
  readonly #incremental: boolean;
  #lock: { readonly paths: readonly string[]; readonly lock: Lock } | undefined;
  #rowsBefore = 0;
  /**
   * The rows that have arrived since the last commit started: the rows before the last cursor, and the rows
   * after it.
   */
  #reached = new HeldRows();
  #rest = new HeldRows();
  /** The last cursor since the last commit started, and the latest time at which to commit it. */
  #cursor: Cursor | undefined;
  #dueAt: number | undefined;
  #taken = new HeldRows();
  #parts: OpenParts | undefined;
  /** Whether the open transaction contains rows that came after the last cursor. */
  #partsPassCursor = false;

  constructor(
    options: UncommittedRowsOptions,
    owner: CheckpointOwner,
    { signal, progress }: SinkRun,
  ) {
    this.name = options.name;
    this.everyMs = options.waitMs;
    this.#options = options;
    this.#progress = progress;
    this.#incremental = isIncremental(owner.flow);
    this.#broken = new LinkedAbort(signal);
    // Without transactions, a retry of `write` must pass the same rows with the same token. A retry may
    // divide encoded rows into different blocks. Therefore, one call of `write` gets all rows of the commit.
    const areWhole = options.encode !== undefined && options.transaction === undefined;
    const rows = areWhole ? Number.POSITIVE_INFINITY : options.rows;
    this.#target = new Target(
      { ...options, rows },
      {
        owner,
        signal: this.#broken.signal,
        onWait: progress?.onWait,
      },
    );
  }

  /** Must be called before the input is opened. */
  encodeOn(engine: Engine): void {
    const { encode, rows, workers } = this.#options;
    if (encode !== undefined) this.#encoder = new RowEncoder(engine, { encode, rows, workers });
  }

  /** Whether the posts of decoded files can be encoded directly, without creating an item for each post. */
  get takesRows(): boolean {
    return this.#encoder?.takesRows === true;
  }

  /**
   * Locks the files of the other branches of `tee` against other runs. Usually, the lock of the checkpoint
   * file does this, but the checkpoint of this run is in the target.
   *
   * @param paths The paths of the branches, as the caller gave them.
   */
  async lock(fs: FileSystem, folder: string, paths: readonly string[]): Promise<void> {
    const [first] = paths;
    if (first === undefined) return;
    const name = createHash('sha256').update(JSON.stringify(paths)).digest('hex').slice(0, 16);
    // The lock file is in the folder that all files of this path share: the part of the path before its first
    // placeholder, such as `{day}`.
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
    return this.#parts !== undefined || this.#held >= this.#options.rows;
  }

  get hasNew(): boolean {
    return this.added > 0;
  }

  /** The number of rows in the target, including rows of earlier runs. */
  get rows(): number {
    return this.#target.saved.rows;
  }

  get #held(): number {
    return this.#reached.count + this.#rest.count;
  }

  /** The number of rows that this run alone has committed. */
  get added(): number {
    return this.rows - this.#rowsBefore;
  }

  async read(): Promise<Checkpoint | undefined> {
    await this.#target.open();
    const { state, commits, cursor, completed, rows, files = [] } = this.#target.saved;
    this.#rowsBefore = rows;
    // No run has committed anything yet, so there is no checkpoint to resume from.
    if (commits === 0) return undefined;
    return { state, cursor: parseCursor(cursor), completed, files };
  }

  /**
   * Reads the rows of a flow, and holds each row until it is committed.
   *
   * @returns The cursor after the last row. `null` if the flow had no rows and no cursors. `undefined` if rows
   * came after the last cursor.
   */
  async write(input: AsyncIterable<unknown>, run: RowsRun): Promise<Cursor | null | undefined> {
    const { signal, commitNow } = run;
    // The listener stays after all rows have arrived, because an abort must also end the last commit.
    signal.addEventListener('abort', () => this.#broken.abort(signal.reason), { once: true });
    const batches = new DeadlineReader(this.#encoder?.batches(input, run) ?? batchesOf(input, run));
    let { pending } = this.#target.saved;
    let end: Cursor | null | undefined = run.resume ?? null;
    let last: Cursor | undefined;
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
        this.#rest.add(detached(items));
        if (cursor !== undefined || items.length > 0) end = cursor;
        if (cursor !== undefined) {
          last = cursor;
          this.#reach(cursor);
        }
        if (pending !== undefined) {
          if (await this.#isRepeated(pending, cursor, run)) pending = undefined;
          continue;
        }
        if (cursor !== undefined) {
          const committing = this.#fixesWindow ? this.#commitReached(run) : run.reached(cursor);
          // Awaited only if there is a commit, because even an immediate `await` takes longer than storing a
          // row.
          if (committing !== undefined) await committing;
        }
        if (this.#isOverfull(run)) await this.#addPart(run);
      }
      if (pending !== undefined && (!pending.isLast || this.#held !== pending.rows))
        throw this.#otherRows(pending);
      // The rows after the last cursor belong to the last commit.
      this.#reachAll();
      return end;
    } catch (error) {
      // If the budget is spent, the rows before the last cursor are committed before the run fails, because
      // the service has charged for them. They cannot be committed if rows of the last run have not all
      // arrived again (`pending`), or if the open transaction contains rows after the last cursor.
      const isWhole = pending === undefined && !this.#partsPassCursor;
      if (isBudgetSpent(error) && isWhole && last !== undefined) await run.spent(last);
      throw error;
    } finally {
      await batches.close();
    }
  }

  begin(): void {
    this.#taken = this.#reached;
    this.#reached = new HeldRows();
    this.#cursor = undefined;
    this.#dueAt = undefined;
  }

  async replace({ state, cursor, files }: Omit<CheckpointText, 'owner'>): Promise<void> {
    await this.#lock?.lock.check();
    const rows = this.#taken;
    this.#taken = new HeldRows();
    const end = { state, cursor, files };
    if (this.#parts === undefined) await this.#target.commit(rows, end);
    else {
      await this.#parts.queue.add([rows]);
      await this.#parts.end(end);
      this.#parts = undefined;
    }
    if (this.#progress !== undefined) this.#progress.written += rows.count;
  }

  async close(): Promise<void> {
    if (this.#parts !== undefined) {
      const { queue, committing } = this.#parts;
      queue.fail(new Error('The run has ended'));
      // This error is ignored. Either the open transaction was rolled back, or its failure has already ended
      // the run.
      await committing.catch(() => {});
    }
    this.#broken.unlink();
    await this.#lock?.lock.release();
  }

  #reach(cursor: Cursor): void {
    this.#reachAll();
    this.#partsPassCursor = false;
    this.#cursor = cursor;
    this.#dueAt ??= performance.now() + this.everyMs;
  }

  #reachAll(): void {
    this.#reached.append(this.#rest);
    this.#rest = new HeldRows();
  }

  /** Commits the rows before the last cursor, even if no commit is due. */
  async #commitReached({ commitNow }: RowsRun): Promise<void> {
    if (this.#cursor !== undefined) await commitNow?.(this.#cursor);
  }

  /**
   * Whether to save the cursor that an incremental run starts from, before any rows have arrived. Without
   * transactions, this is necessary, because a repeated run that starts from another cursor may deliver
   * different rows.
   */
  get #fixesWindow(): boolean {
    return this.#incremental && this.#held === 0 && !this.#target.hasTransactions;
  }

  /**
   * Commits the rows that may already be in the target, once all of them have arrived again. Returns whether
   * all of them have arrived.
   */
  async #isRepeated(pending: Pending, cursor: Cursor | undefined, run: RowsRun): Promise<boolean> {
    if (this.#held > pending.rows) throw this.#otherRows(pending);
    // The end of these rows is recognised by their number. The cursor cannot be compared with the saved
    // cursor, because page tokens depend on the time of the request. If these rows were the last, they must
    // be followed by the end of the input instead of a cursor, unless the source is incremental and may now
    // deliver more rows.
    const isEnd = cursor !== undefined && (this.#incremental || !pending.isLast);
    if (!isEnd || this.#held !== pending.rows) return false;
    await this.#commitReached(run);
    return true;
  }

  #isOverfull({ commitNow }: RowsRun): boolean {
    if (!this.#target.hasTransactions) return false;
    const max = commitNow === undefined ? MAX_HELD.inTee : MAX_HELD.alone;
    const most = this.#parts === undefined ? max : 1;
    // Rows before a cursor can be committed, so they need no open transaction.
    const rows = commitNow === undefined ? this.#held : this.#rest.count;
    return rows >= most * this.#options.rows;
  }

  /** Writes the rows in memory into a transaction that stays open until the next commit. */
  async #addPart(run: RowsRun): Promise<void> {
    const { idle, fail, signal } = run;
    await this.#commitReached(run);
    // A running commit has an open transaction. Waits until that commit has ended.
    await idle();
    signal.throwIfAborted();
    if (!this.#isOverfull(run)) return;
    if (this.#parts === undefined) {
      this.#parts = this.#target.openParts();
      this.#parts.committing.catch(fail);
    }
    this.#partsPassCursor ||= this.#rest.count > 0;
    this.#reachAll();
    const rows = this.#reached;
    this.#reached = new HeldRows();
    await this.#parts.queue.add([rows]);
    if (this.#progress !== undefined) this.#progress.written += rows.count;
  }

  #otherRows({ rows }: Pending): StorageError {
    return new StorageError(
      `The run before has begun to write ${rows} rows to ${this.name}, and the source does not deliver the same rows again, so it cannot be told which of them are there. Remove what was written last, and start again`,
      { path: this.name },
    );
  }
}
