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
import { RowEncoder } from './row-encoder.js';
import { RowList } from './row-list.js';
import { type OpenParts, Target, type TargetOptions } from './transaction.js';

export interface UncommittedRowsOptions extends TargetOptions {
  readonly waitMs: number;
  /** Encodes the rows. If absent, the rows are the items. */
  readonly encode?: ((item: unknown) => unknown) | undefined;
  /** The maximum number of threads that encode rows. */
  readonly workers?: number | undefined;
}

/** The parts of a run that the rows need for its commits. */
export interface RowsRun extends Pull {
  readonly signal: AbortSignal;
  /** Called with each cursor once the rows before it are held. Reading continues when the promise resolves. */
  reached(cursor: Cursor): Promise<void> | undefined;
  /** Resolves when no commit is running. */
  idle(): Promise<void>;
  /** Ends the run. */
  fail(error: unknown): void;
  /**
   * Commits up to a cursor, even if no commit is due, and waits for it. Absent in `tee`, where a commit needs
   * all branches.
   */
  readonly commitNow?: ((cursor: Cursor) => Promise<void>) | undefined;
  /** Called if the source has spent its budget and the rows before this cursor can be committed. */
  spent(cursor: Cursor): Promise<void>;
}

/**
 * Maximum number of held rows, in multiples of the option `rows`. Any more rows are written into an open
 * transaction. In `tee`, branches wait for each other before they commit, so the limit is higher.
 */
const MAX_HELD = { alone: 1, inTee: 4 };

/**
 * The rows of `committed` that wait for their commit. The text that the target saves with them is the
 * checkpoint of the run: the transaction that commits the rows also commits the cursor and the counts of
 * files, which are already on disk.
 *
 * If many rows arrive before a commit, for example because cursors are far apart, they are written into a
 * transaction that stays open until the commit. Such a commit cannot be retried.
 */
export class UncommittedRows implements CheckpointStore {
  readonly name: string;
  readonly everyMs: number;
  readonly #options: UncommittedRowsOptions;
  readonly #progress: Progress | undefined;
  /** Fires when the run must end. */
  readonly #broken: LinkedAbort;
  readonly #target: Target;
  #encoder: RowEncoder | undefined;
  /** True if the next run continues where this one ends. */
  readonly #incremental: boolean;
  #lock: { readonly paths: readonly string[]; readonly lock: Lock } | undefined;
  #rowsBefore = 0;
  /** The rows since the start of the last commit: the ones before the last cursor, and the ones after it. */
  #reached = new RowList();
  #rest = new RowList();
  /** The last cursor since the start of the last commit, and the latest time to commit it. */
  #cursor: Cursor | undefined;
  #dueAt: number | undefined;
  /** The rows of the running commit. */
  #taken = new RowList();
  #parts: OpenParts | undefined;
  /** Whether the open transaction has rows that came after the last cursor. */
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
    // Without transactions, the same rows must be written again with the same token. Only all rows of a commit are
    // known to be the same: blocks of them may then be divided in another way.
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

  /** Called before the input is opened, with the engine that reads stored files. */
  encodeOn(engine: Engine): void {
    const { encode, rows, workers } = this.#options;
    if (encode !== undefined) this.#encoder = new RowEncoder(engine, { encode, rows, workers });
  }

  /** Whether rows of decoded files are encoded as rows, instead of as items. */
  get takesRows(): boolean {
    return this.#encoder?.takesRows === true;
  }

  /**
   * Locks the files of other branches against other runs. A checkpoint file would have its own lock, but this
   * checkpoint is in the target.
   *
   * @param paths The paths of the branches, as the caller gave them.
   */
  async lock(fs: FileSystem, folder: string, paths: readonly string[]): Promise<void> {
    const [first] = paths;
    if (first === undefined) return;
    const name = createHash('sha256').update(JSON.stringify(paths)).digest('hex').slice(0, 16);
    // The part of the folder's path that is the same for all items.
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

  /** The number of rows in the target, including earlier runs. */
  get rows(): number {
    return this.#target.saved.rows;
  }

  /** The number of rows since the start of the last commit. */
  get #held(): number {
    return this.#reached.count + this.#rest.count;
  }

  /** The number of rows that this run has committed. */
  get added(): number {
    return this.rows - this.#rowsBefore;
  }

  async read(): Promise<Checkpoint | undefined> {
    await this.#target.open();
    const { state, commits, cursor, completed, rows, files = [] } = this.#target.saved;
    this.#rowsBefore = rows;
    // No run has committed anything yet.
    if (commits === 0) return undefined;
    return { state, cursor: parseCursor(cursor), completed, files };
  }

  /**
   * Reads the rows of a flow and holds them until they are committed.
   *
   * @returns The cursor after the last row; `null` if the flow had no rows and no cursors; `undefined` if
   * rows came after the last cursor.
   */
  async write(input: AsyncIterable<unknown>, run: RowsRun): Promise<Cursor | null | undefined> {
    const { signal, commitNow } = run;
    // The listener is not removed when all rows have arrived, because an abort must also end the
    // last commit.
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
          // Awaited only if there is a commit, because a wait takes longer than holding a row.
          if (committing !== undefined) await committing;
        }
        if (this.#isOverfull(run)) await this.#addPart(run);
      }
      if (pending !== undefined && (!pending.isLast || this.#held !== pending.rows))
        throw this.#otherRows(pending);
      // Rows after the last cursor belong to the last commit.
      this.#reachAll();
      return end;
    } catch (error) {
      // The service charged for these rows, so they are committed. This is not possible if some of
      // them may already be in the target, because these can be recognised only after all of them
      // have arrived.
      const isWhole = pending === undefined && !this.#partsPassCursor;
      if (isBudgetSpent(error) && isWhole && last !== undefined) await run.spent(last);
      throw error;
    } finally {
      await batches.close();
    }
  }

  begin(): void {
    this.#taken = this.#reached;
    this.#reached = new RowList();
    this.#cursor = undefined;
    this.#dueAt = undefined;
  }

  async replace({ state, cursor, files }: Omit<CheckpointText, 'owner'>): Promise<void> {
    await this.#lock?.lock.check();
    const rows = this.#taken;
    this.#taken = new RowList();
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
      // The open transaction is rolled back, or its failure has already ended the run.
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
    this.#rest = new RowList();
  }

  /** Commits the rows before the last cursor, even if no commit is due. */
  async #commitReached({ commitNow }: RowsRun): Promise<void> {
    if (this.#cursor !== undefined) await commitNow?.(this.#cursor);
  }

  /**
   * Whether an incremental run has only the cursor that it starts from. Without transactions, this cursor is
   * saved immediately: until then, another run may not deliver the same rows.
   */
  get #fixesWindow(): boolean {
    return this.#incremental && this.#held === 0 && !this.#target.hasTransactions;
  }

  /**
   * Commits the rows that may already be in the target, once all of them have arrived again. Returns whether
   * they have.
   */
  async #isRepeated(pending: Pending, cursor: Cursor | undefined, run: RowsRun): Promise<boolean> {
    if (this.#held > pending.rows) throw this.#otherRows(pending);
    // The cursor after them cannot be compared, because page tokens depend on the time of the
    // request. An incremental source may now deliver more rows after them.
    const isEnd = cursor !== undefined && (this.#incremental || !pending.isLast);
    if (!isEnd || this.#held !== pending.rows) return false;
    await this.#commitReached(run);
    return true;
  }

  #isOverfull({ commitNow }: RowsRun): boolean {
    if (!this.#target.hasTransactions) return false;
    const max = commitNow === undefined ? MAX_HELD.inTee : MAX_HELD.alone;
    const most = this.#parts === undefined ? max : 1;
    // Rows before a cursor need no open transaction if they can be committed.
    const rows = commitNow === undefined ? this.#held : this.#rest.count;
    return rows >= most * this.#options.rows;
  }

  /** Writes the held rows into a transaction, which the next commit ends. */
  async #addPart(run: RowsRun): Promise<void> {
    const { idle, fail, signal } = run;
    await this.#commitReached(run);
    // The transaction of a running commit stays open until that commit has ended.
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
    this.#reached = new RowList();
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
