import { publish } from '../../base/diagnostics.js';
import { StorageError } from '../../base/errors.js';
import type { Cursor } from '../../flow/flow.js';
import type { FileCounts } from '../write/output-file.js';
import type { Outputs } from '../write/outputs.js';
import type { CallOnFile } from './call-on-file.js';
import type { CheckpointStore } from './checkpoint-file.js';
import {
  type Checkpoint,
  type CheckpointState,
  type CommittedFile,
  DAMAGED,
} from './checkpoint-text.js';
import type { DamagedLog } from './damaged-log.js';

/** The outputs of one sink. The sink commits alone or together with other sinks. */
export interface Member {
  readonly outputs: Outputs;
  /**
   * The minimum time between two commits in milliseconds. Absent if a commit is due only when files are full.
   */
  readonly everyMs: number | undefined;
  readonly branch: CommittedFile['branch'];
  readonly callOnFile?: CallOnFile | undefined;
}

export interface CommitterOptions {
  readonly store: CheckpointStore;
  readonly members: readonly Member[];
  /** The log of damaged records. It is committed together with the outputs, but never makes a commit due. */
  readonly damaged?: DamagedLog | undefined;
  readonly before: Checkpoint | undefined;
  /** The signal fires when the run ends. It also ends calls of `onFile`. */
  readonly signal?: AbortSignal | undefined;
  /** Called if a commit fails. Ends the run with the error of the commit. */
  fail(error: unknown): void;
}

/**
 * Commits the outputs together with a cursor: syncs the outputs, then replaces the checkpoint. Only one
 * commit runs at a time. New items are written while a commit runs.
 */
export class Committer {
  readonly #options: CommitterOptions;
  readonly #committed: Map<string, CommittedFile>;
  #cursor = 'null';
  /** The latest write of the checkpoint that stores results of `onFile`. */
  #recording: Promise<void> | undefined;
  /** The files for which this run has called `onFile`. */
  readonly #tried = new WeakSet<CommittedFile>();
  #pending: Promise<void> | undefined;
  /**
   * The first error that was passed to `fail`, for example by a failed commit. Nothing is committed after it,
   * because a later checkpoint would skip the items that were not written.
   */
  #failure: { readonly error: unknown } | undefined;
  /** Whether a checkpoint to resume from has been written. */
  #written: boolean;
  #last = performance.now();
  #notBefore = this.#last;

  constructor(options: CommitterOptions) {
    const { before } = options;
    this.#options = options;
    this.#written = before !== undefined;
    this.#committed = new Map(before?.files.map(counts => [counts.path, counts]));
  }

  /**
   * Commits at this cursor if a commit is due. Used if only one sink commits. Usually no commit is due. The
   * method then returns `undefined`, so that the caller does not have to await a promise.
   */
  reached(cursor: Cursor): Promise<void> | undefined {
    if (!this.#waitsForLast) return this.#takeDue() ? this.commit(cursor) : undefined;
    return this.due().then(due => (due ? this.commit(cursor) : undefined));
  }

  /**
   * Returns whether a commit is due: the checkpoint store is full, or each member has waited long enough or
   * has a full file. If the store is full, or if a member commits at every cursor, first waits for the
   * previous commit.
   */
  async due(): Promise<boolean> {
    if (this.#waitsForLast) await this.#pending;
    return this.#takeDue();
  }

  /** Starts to commit all items so far, together with the cursor after them. */
  async commit(cursor: Cursor): Promise<void> {
    // A cursor is serialised only when it is committed, because most cursors are never committed, and their
    // `toJSON` may be expensive.
    this.#cursor = JSON.stringify(cursor);
    this.#options.damaged?.reached(cursor);
    this.#pending = this.#commit('running').then(
      () => {
        this.#pending = undefined;
      },
      error => {
        this.#pending = undefined;
        this.fail(error);
        throw error;
      },
    );
    // The failure has already ended the run. It must not also become an unhandled rejection.
    this.#pending.catch(() => {});
    if (this.#atEach) await this.#pending;
  }

  /** Commits all items so far, even if no commit is due. Resolves once they are committed. */
  async commitLast(cursor: Cursor): Promise<void> {
    await this.#pending;
    await this.commit(cursor);
    await this.#pending;
  }

  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#options.fail(error);
  }

  /**
   * Waits for the running commit. Ignores its failure, because `commit` has already ended the run with that
   * error.
   */
  async idle(): Promise<void> {
    await this.#pending?.catch(() => {});
  }

  /**
   * Writes a checkpoint with the state `running` before this run adds to the files of earlier runs. `cursor`
   * is where this run starts.
   */
  async begin(cursor: Cursor | undefined): Promise<void> {
    this.#cursor = JSON.stringify(cursor ?? null);
    await this.#write('running');
  }

  /**
   * Commits the remaining items, gives the files their final names, and marks the checkpoint as complete.
   *
   * @param cursor The cursor after all items, as JSON. Given only if a later run continues from there.
   */
  async finish(cursor: string | undefined): Promise<CommittedFile[]> {
    await this.#pending;
    if (cursor !== undefined) this.#cursor = cursor;
    this.#options.damaged?.reached();
    const members = this.#all;
    // If only rows are committed, there are no files to rename, so a single commit is enough.
    await this.#commit(members.length === 0 ? 'complete' : 'finishing');
    if (members.length === 0) return [];
    for (const { outputs } of members) await outputs.finish();
    await this.#callOnFile('finishing');
    // The locks are released before the checkpoint is marked as complete. If the process were killed between
    // the two steps in the opposite order, the locks would remain: a run with a complete checkpoint opens no
    // output, and removes no lock.
    for (const { outputs } of members) await outputs.unlock();
    await this.#write('complete');
    return [...this.#committed.values()];
  }

  get #all(): readonly Member[] {
    const { members, damaged } = this.#options;
    return damaged === undefined ? members : [...members, damaged];
  }

  /**
   * Whether a commit is due because the store holds many rows. Always false if each commit ends the output
   * files, as with Parquet, because frequent commits would then create many small files.
   */
  get #isFull(): boolean {
    const { members, store } = this.#options;
    return store.isFull && !members.some(({ outputs }) => outputs.endsFiles);
  }

  get #waitsForLast(): boolean {
    return this.#atEach || this.#isFull;
  }

  /**
   * Returns whether a commit is due. Must be called only once for each cursor. A second call could miss a due
   * commit, because `takeFilled` does not count again until more items have arrived.
   */
  #takeDue(): boolean {
    if (this.#pending !== undefined) return false;
    if (this.#isFull) return true;
    const { members, store } = this.#options;
    const now = performance.now();
    const sinceMs = now - this.#last;
    return (
      now >= this.#notBefore &&
      sinceMs >= (store.everyMs ?? 0) &&
      members.every(member => isDue(member, sinceMs))
    );
  }

  get #atEach(): boolean {
    return this.#options.members.some(({ everyMs }) => everyMs === 0);
  }

  async #commit(state: CheckpointState): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.error;
    const started = performance.now();
    const { store, members, damaged } = this.#options;
    const { rows: before = 0 } = store;
    store.begin();
    const settled = damaged?.settled;
    const changed = await settleAndSync(this.#all);
    for (const file of changed) this.#committed.set(file.path, file);
    for (const { settled: _, ...file } of this.#committed.values())
      if (file.branch === DAMAGED)
        this.#committed.set(file.path, { ...file, settled: settled?.get(file.path) });
    await this.#write(state);
    const durationMs = performance.now() - started;
    publish('commit', () => ({
      checkpoint: store.name,
      ...(members.length > 0 && { files: changed.length }),
      ...(store.rows !== undefined && { rows: store.rows - before }),
      durationMs,
    }));
    for (const { outputs } of members) if (outputs.endsFiles) await outputs.nameFiles();
    // At most a quarter of the time is spent on commits, even if the disk is slow or the state is large. This
    // limit does not apply if only rows are committed, or if a member commits at every cursor.
    const now = performance.now();
    this.#last = started;
    const isLimited = members.length > 0 && !this.#atEach;
    this.#notBefore = isLimited ? started + 4 * (now - started) : now;
    if (state === 'running') await this.#callOnFile(state);
  }

  async #callOnFile(state: CheckpointState): Promise<void> {
    let writing: Promise<void> | undefined;
    // One write of the checkpoint stores the results of all `onFile` calls that ended before the write
    // started.
    const write = () => {
      writing ??= (this.#recording ?? Promise.resolve()).then(() => {
        writing = undefined;
        this.#recording = this.#write(state);
        return this.#recording;
      });
      return writing;
    };
    for (const { outputs, branch, callOnFile } of this.#options.members) {
      if (callOnFile === undefined) continue;
      const files = [...this.#committed.values()].filter(
        file =>
          file.branch === branch &&
          file.handedOn === undefined &&
          !this.#tried.has(file) &&
          outputs.isNamed(file.path),
      );
      for (const file of files) this.#tried.add(file);
      await callOnFile(files, this.#options.signal, (file, handedOn) => {
        const entry = this.#committed.get(file) as CommittedFile;
        this.#committed.set(file, { ...entry, handedOn });
        return write();
      });
    }
  }

  async #write(state: CheckpointState): Promise<void> {
    await this.#options.store.replace(
      {
        state,
        cursor: this.#cursor,
        files: [...this.#committed.values()],
        completed: state === 'complete' ? new Date() : undefined,
      },
      this.afterFailure(),
    );
    this.#written = true;
  }

  afterFailure(): string {
    // Only the store of `committed` has `rows`. It saves a checkpoint in its target before the first row, so
    // a later run always finds a checkpoint to continue from.
    if (this.#options.store.rows !== undefined) return AFTER_LAST_COMMIT;
    return this.#written ? `${AGAIN}: it continues from the checkpoint` : AGAIN;
  }
}

/**
 * If a sink has received no items since the last commit, it is ready for the next commit after this time, in
 * milliseconds. Such a commit is cheap, because it has no files to sync. This applies only if each commit
 * ends the output files, as with Parquet.
 */
const IDLE_MS = 1_000;

function isDue({ outputs, everyMs = Number.POSITIVE_INFINITY }: Member, sinceMs: number): boolean {
  if (sinceMs >= everyMs || outputs.takeFilled()) return true;
  return outputs.endsFiles && !outputs.hasChanges && sinceMs >= IDLE_MS;
}

/** Writes all items so far to disk. Returns the files that have changed, each with its posts and bytes. */
export async function settleAndSync(members: readonly Member[]): Promise<CommittedFile[]> {
  // Calls `settle` for all members at once. Items that arrive while it runs belong to the next commit of
  // every member.
  const settling = members.map(({ outputs }) => outputs.settle());
  await Promise.allSettled(settling);
  const files: CommittedFile[] = [];
  for (const [index, { outputs, branch }] of members.entries()) {
    const counts = await (settling[index] as Promise<FileCounts[]>);
    await outputs.sync(counts);
    for (const one of counts) files.push({ ...one, branch });
  }
  return files;
}

export const AGAIN = ', then run the same again';
const AFTER_LAST_COMMIT = `${AGAIN}: it continues after the last commit`;

/**
 * Returns the error of a run that ends without a cursor after its last items. A later run could not resume
 * after these items.
 *
 * @param path The path of the checkpoint.
 * @param shown The path as it appears in the message.
 */
export function withoutCursor(path: string, shown = path): StorageError {
  return new StorageError(
    `The flow has ended with items that no cursor follows, so the next run could not continue after them: ${shown} stays as it was. Use operators that forward cursors`,
    { path },
  );
}
