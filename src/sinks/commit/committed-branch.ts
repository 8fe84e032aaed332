import { createHash } from 'node:crypto';
import path from 'node:path';
import { LinkedAbort } from '../../base/abortable.js';
import { batchesOf, type Cursor, type Pull, type SinkRun } from '../../flow/flow.js';
import type { Progress } from '../../flow/progress.js';
import { detached } from '../../post/detached.js';
import type { FileSystem } from '../../storage/file-system.js';
import { type Lock, takeLock } from '../../storage/lock.js';
import { type Checkpoint, type CheckpointText, prepareFolder } from './checkpoint.js';
import { type CheckpointStore, lockPaths } from './checkpoint-store.js';
import type { CheckpointOwner } from './checkpoint-text.js';
import { cursorOf } from './saved-text.js';
import { type OpenParts, Target, type TargetOptions } from './transaction.js';

/** The options of `committed`, as `tee` sees them. */
export interface CommittedBranchOptions<T, Tx> extends TargetOptions<T, Tx> {
  readonly waitMs: number;
  readonly damaged?: string | undefined;
}

/** How a branch takes part in the commits of all. */
export interface BranchRun extends Pull {
  readonly signal: AbortSignal;
  /** Called with each cursor, once the rows before it are held. */
  reached(cursor: Cursor): Promise<void>;
  /** Resolves when no commit is under way. */
  idle(): Promise<void>;
  /** Ends the run. */
  fail(error: unknown): void;
}

/** In multiples of `rows`: beyond that many held rows, further ones are written into an open transaction. */
const MAX_HELD = 4;

/**
 * The branch of `tee` that ends in `committed`. What its target saves with the rows is the checkpoint of all branches: a
 * transaction that commits the rows commits the cursor and the counts of the files, which are on disk then.
 *
 * Rows are held for their commit. Where many come before one, as between cursors that lie far apart, they go into a
 * transaction that is open until then, and such a commit cannot be tried again.
 */
export class CommittedBranch<T, Tx> implements CheckpointStore {
  readonly name: string;
  readonly everyMs: number;
  readonly #options: CommittedBranchOptions<T, Tx>;
  readonly #progress: Progress | undefined;
  /** Fires when the run is to end. */
  readonly #broken: LinkedAbort;
  readonly #target: Target<T, Tx>;
  #lock: { readonly paths: readonly string[]; readonly lock: Lock } | undefined;
  #rowsBefore = 0;
  /** Those since the last commit began. */
  #held: T[] = [];
  /** Those of the commit that has begun. */
  #taken: readonly T[] = [];
  #parts: OpenParts<T> | undefined;

  constructor(
    options: CommittedBranchOptions<T, Tx>,
    owner: CheckpointOwner,
    { signal, progress }: SinkRun,
  ) {
    this.name = options.name;
    this.everyMs = options.waitMs;
    this.#options = options;
    this.#progress = progress;
    this.#broken = new LinkedAbort(signal);
    this.#target = new Target(options, {
      owner,
      signal: this.#broken.signal,
      onWait: progress?.onWait,
    });
  }

  /**
   * Locks the files of the other branches against other runs: a checkpoint that is a file would be locked itself.
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

  /** Rows in the target, those of earlier runs included. */
  get rows(): number {
    return this.#target.saved.rows;
  }

  /** Those of this run. */
  get added(): number {
    return this.rows - this.#rowsBefore;
  }

  async read(): Promise<Checkpoint | undefined> {
    await this.#target.open();
    const { state, commits, cursor, completed, rows, files = [] } = this.#target.saved;
    this.#rowsBefore = rows;
    // Nothing is committed yet.
    if (commits === 0) return undefined;
    return { state, cursor: cursorOf(cursor), completed, files };
  }

  /**
   * Holds the rows of a flow for their commits.
   *
   * @returns The cursor after the last item; `undefined` where items came after the last cursor.
   */
  async write(input: AsyncIterable<T>, run: BranchRun): Promise<Cursor | undefined> {
    const { signal, reached, resume } = run;
    const onAbort = () => this.#broken.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    let end = resume;
    for await (const { items, cursor } of batchesOf(input, run)) {
      for (const item of detached(items)) this.#held.push(item);
      if (cursor !== undefined || items.length > 0) end = cursor;
      if (cursor !== undefined) await reached(cursor);
      if (this.#isOverfull) await this.#addPart(run);
    }
    return end;
  }

  begin(): void {
    this.#taken = this.#held;
    this.#held = [];
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

  get #isOverfull(): boolean {
    const most = this.#parts === undefined ? MAX_HELD : 1;
    return this.#held.length >= most * this.#options.rows;
  }

  /** Writes what is held into a transaction that the next commit ends. */
  async #addPart({ idle, fail, signal }: BranchRun): Promise<void> {
    // Until a commit that has begun is over, its transaction is the open one.
    await idle();
    signal.throwIfAborted();
    if (!this.#isOverfull) return;
    if (this.#parts === undefined) {
      this.#parts = this.#target.openParts();
      this.#parts.committing.catch(fail);
    }
    const rows = this.#held;
    this.#held = [];
    await this.#parts.queue.add([rows]);
    if (this.#progress !== undefined) this.#progress.written += rows.length;
  }
}
