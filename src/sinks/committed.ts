import { LinkedAbort } from '../base/abortable.js';
import {
  type Checked,
  checkOptions,
  func,
  milliseconds,
  type OptionTable,
  required,
  text,
  whole,
} from '../base/check.js';
import { publish } from '../base/diagnostics.js';
import { isBudgetSpent, StorageError } from '../base/errors.js';
import { DeadlineReader } from '../flow/deadline-reader.js';
import { batchesOf, type Cursor, identityOf, type Sink, type SinkRun } from '../flow/flow.js';
import { isIncremental } from '../flow/flow-difference.js';
import { withInternals } from '../flow/internals.js';
import { shownTime } from '../flow/progress-text.js';
import { type FileSystem, nodeFileSystem } from '../storage/file-system.js';
import type { CommittedBranchOptions } from './commit/committed-branch.js';
import { CommittedLog } from './commit/committed-log.js';
import { withoutCursor } from './commit/committer.js';
import { changedFilesOf } from './commit/completed-run.js';
import { checkDamaged } from './commit/damaged-log.js';
import { HeldRows, type Taken } from './commit/held-rows.js';
import { cursorOf } from './commit/saved-text.js';
import {
  type CommitEnd,
  type OpenParts,
  Target,
  type TargetCalls,
  type WriteRange,
} from './commit/transaction.js';

export type { WriteRange };

/** How rows get into a target of the caller's, and how often. */
export interface CommittedOptions<T, Tx = void> {
  /**
   * Reads the text that `save` saved last, in the transaction of the rows that are about to be written; `undefined`
   * or `null` where there is none yet. Where the target can, it locks the text until the transaction
   * ends (`SELECT ... FOR UPDATE`): of two runs at a time, one ends then with an error.
   */
  readonly load: (tx: Tx) => string | null | undefined | PromiseLike<string | null | undefined>;
  /**
   * Writes rows, at most `rows` of them. Awaited. Several calls come in one transaction where the source has
   * cursors seldom.
   */
  readonly write: (rows: readonly T[], tx: Tx, range: WriteRange) => unknown;
  /** Saves the text in place of the one before, exactly as it is. Awaited. */
  readonly save: (text: string, tx: Tx) => unknown;
  /**
   * Makes what `work` does durable as a whole, or not at all: begins a transaction, awaits `work(tx)`, and commits;
   * where `work` fails, it rolls back and throws that error. `tx` is what the other functions get. It may call `work`
   * again after a rollback, which writes all rows again. If they came in parts, as where the source has no cursor for more
   * than `rows` of them, they are gone then: the second call fails with a `StorageError`, and nothing is committed.
   *
   * Without it, `save` is called before the rows are written, with a text that says which, and after. Rows that
   * may be in the target already are passed again with `again` and the same `token`: `write` must
   * then leave out or replace what is there. The source must deliver the same rows again, as
   * searches, stored files and jobs do.
   */
  readonly transaction?: ((work: (tx: Tx) => Promise<void>) => unknown) | undefined;
  /**
   * A file of the records that cannot be used: each that `onDamaged` of a stage before the sink would get is in it once,
   * as with the option of `files`. It is on disk before `save` gets the text that counts it.
   * @default the first such record ends the run
   */
  readonly damaged?: string | undefined;
  /** What it writes to, for messages: `posts.sqlite`. @default 'the target of committed()' */
  readonly name?: string | undefined;
  /** From this number of rows on, they are committed at the next cursor; `write` gets no more at a time. @default 5_000 */
  readonly rows?: number | undefined;
  /** The longest time that rows with a cursor wait for their commit, in milliseconds. @default 1000 */
  readonly waitMs?: number | undefined;
  /**
   * How often a commit is tried again after an error. Each try begins with `load`, which says whether the one before
   * has succeeded.
   * @default 5
   */
  readonly retries?: number | undefined;
  /** The longest wait before the first of them, in milliseconds; it doubles with each, up to 30 s. @default 1000 */
  readonly retryWaitMs?: number | undefined;
  /**
   * Whether a commit that failed with this error is tried again.
   * @default all but errors of code (`TypeError`), and of data, constraints and syntax by their SQLSTATE
   */
  readonly isRetryable?: ((error: unknown) => boolean) | undefined;
}

/** What `committed` has written, including earlier runs that this one resumed. */
export interface Committed {
  readonly rows: number;
  /** With `damaged`: the records in its file, those of earlier runs included. */
  readonly damaged?: number | undefined;
  /** Where the text said that all is written, so that nothing was asked: since when. */
  readonly completeSince?: Date | undefined;
  /** Of a flow with an `incremental` source: the rows of this run alone. 0 says that nothing was new. */
  readonly added?: number | undefined;
  /** As in the result of `files`. */
  readonly changedFiles?: number | undefined;
}

const OPTIONS = {
  load: required(func('what reads the text that was saved')),
  write: required(func('what writes rows')),
  save: required(func('what saves the text that `load` reads')),
  transaction: func('what runs a function in a transaction'),
  damaged: text('the file of the records that cannot be used'),
  name: text('what it writes to, for messages', 'the target of committed()'),
  rows: whole('rows in a commit', { min: 1, default: 5_000 }),
  waitMs: milliseconds('until rows are committed', { min: 0, default: 1_000 }),
  retries: whole('tries of a commit after the first', { default: 5 }),
  retryWaitMs: milliseconds('before the first of them', { min: 0, default: 1_000 }),
  isRetryable: func('whether a commit is tried again'),
} satisfies OptionTable<CommittedOptions<unknown, unknown>>;

/**
 * Writes into a target of your own, a database or an API, every item exactly once: you say how rows are
 * written and how a text is saved with them in one transaction. The text is a checkpoint: it has the
 * cursor to go on from, and refuses another flow, as the checkpoint of `files` does. After a crash, the
 * same script goes on after the last commit; once it is complete, it opens nothing.
 *
 * Takes any items: posts, or rows made by `map(tables.toRow(columns))`. At the end of a branch of `tee`, which needs
 * `transaction`, its text is the checkpoint of the branches to files, too.
 *
 * @throws OptionError Immediately, when an option is invalid.
 * @throws StorageError When a commit fails after all tries, when the text belongs to another flow, and when another
 * run has written to the target meanwhile. `cause` has the error of your function.
 * @example
 * const { rows } = await pipeline(
 *   search(account(), { product: '30day', query: 'snow' }),
 *   dedupe(),
 *   committed({
 *     transaction: (work: (tx: Transaction) => Promise<void>) => database.transaction(work),
 *     load: async tx => (await tx.query('SELECT saved FROM progress FOR UPDATE')).rows[0]?.saved,
 *     write: async (posts: readonly Activity[], tx) => {
 *       for (const { id, text } of posts) await tx.query('INSERT INTO posts VALUES ($1, $2)', [id, text]);
 *     },
 *     save: (text, tx) => tx.query('UPDATE progress SET saved = $1', [text]),
 *   }),
 * );
 */
export function committed<T, Tx = void>(options: CommittedOptions<T, Tx>): Sink<T, Committed> {
  return committedOn(nodeFileSystem, options);
}

/** `committed` with damaged records on another file system, so that a test can make the disk fail. */
export function committedOn<T, Tx = void>(
  fs: FileSystem,
  options: CommittedOptions<T, Tx>,
): Sink<T, Committed> {
  const checked = checkOptions(
    'committed',
    OPTIONS,
    options as CommittedOptions<unknown, unknown>,
  ) as CheckedOptions<T, Tx>;
  if (checked.damaged !== undefined) checkDamaged('committed', checked.damaged);
  const sink: Sink<T, Committed> = (input, run = {}) => new Run(fs, checked, input, run).result();
  const branch = new CommittedSink(fs, checked as CheckedOptions<unknown, unknown>);
  return withInternals(sink, { counts: true, branch });
}

/** `committed`, as `tee` sees it. */
export class CommittedSink {
  readonly fs: FileSystem;
  readonly options: CommittedBranchOptions<unknown, unknown>;

  constructor(fs: FileSystem, options: CommittedBranchOptions<unknown, unknown>) {
    this.fs = fs;
    this.options = options;
  }
}

type CheckedOptions<T, Tx> = Checked<CommittedOptions<T, Tx>, typeof OPTIONS> & TargetCalls<T, Tx>;

/** One run. While rows are being committed, the next are read. */
class Run<T, Tx> {
  readonly #input: AsyncIterable<T>;
  readonly #run: SinkRun;
  readonly #options: CheckedOptions<T, Tx>;
  /** Fires also when a commit has failed: this ends the source immediately. */
  readonly #broken: LinkedAbort;
  readonly #target: Target<T, Tx>;
  readonly #held: HeldRows<T>;
  /** Whether the next run goes on where this one ends. */
  readonly #goesOn: boolean;
  readonly #fs: FileSystem;
  #log: CommittedLog | undefined;
  #committing: Promise<void> = Promise.resolve();
  #parts: OpenParts<T> | undefined;

  constructor(
    fs: FileSystem,
    options: CheckedOptions<T, Tx>,
    input: AsyncIterable<T>,
    run: SinkRun,
  ) {
    this.#fs = fs;
    this.#options = options;
    this.#input = input;
    this.#run = run;
    this.#broken = new LinkedAbort(run.signal);
    this.#held = new HeldRows(options);
    this.#goesOn = isIncremental(identityOf(input));
    this.#target = new Target(options, {
      owner: { sink: { step: 'committed' }, flow: identityOf(input) },
      signal: this.#broken.signal,
      onWait: run.progress?.onWait,
    });
  }

  async result(): Promise<Committed> {
    try {
      await this.#target.open();
      const { state, rows: before, completed } = this.#target.saved;
      const { progress } = this.#run;
      this.#log = await this.#openLog();
      if (state === 'complete' && !this.#goesOn) {
        progress?.tell(`complete since ${shownTime(completed)}, nothing asked`);
        return { rows: before, ...this.#damaged, completeSince: completed };
      }
      await this.#read();
      await this.#log?.finish();
      const { rows } = this.#target.saved;
      if (!this.#goesOn) return { rows, ...this.#damaged };
      if (rows === before) progress?.tell('nothing new');
      return { rows, ...this.#damaged, added: rows - before, ...changedFilesOf(progress) };
    } finally {
      this.#broken.unlink();
      await this.#log?.close();
    }
  }

  #openLog(): Promise<CommittedLog | undefined> {
    const { damaged, name } = this.#options;
    return CommittedLog.open(this.#fs, this.#target.saved, {
      path: damaged,
      name,
      goesOn: this.#goesOn,
      onFailure: error => this.#broken.abort(error),
    });
  }

  get #damaged(): Pick<Committed, 'damaged'> {
    return this.#log === undefined ? {} : { damaged: this.#log.records };
  }

  async #read(): Promise<void> {
    const { progress } = this.#run;
    const { signal } = this.#broken;
    const resume = cursorOf(this.#target.saved.cursor);
    const damaged = this.#options.damaged === undefined ? undefined : this.#log?.log;
    const input = new DeadlineReader(batchesOf(this.#input, { signal, resume, progress, damaged }));
    let isRepeating = true;
    try {
      const isComplete = await this.#repeatPending(input);
      isRepeating = false;
      if (!isComplete) await this.#commitAll(input);
      await this.#committing;
    } catch (error) {
      this.#parts?.queue.fail(error);
      // Its failure is the one that ended the run, or the second.
      const isCommitted = await this.#committing.then(
        () => true,
        () => false,
      );
      // What is held was paid for. Rows that may be in the target already are not told apart before all of them came.
      const isWhole = isCommitted && !isRepeating && this.#parts === undefined;
      if (isBudgetSpent(error) && isWhole && this.#held.dueAt !== undefined)
        await this.#commit(this.#held.take(), false);
      throw error;
    } finally {
      await input.close();
    }
  }

  /** Writes the rows again that may be in the target, if there are any. Returns whether they were the last. */
  async #repeatPending(input: Input<T>): Promise<boolean> {
    const { pending } = this.#target.saved;
    if (pending === undefined) return false;
    const held = this.#held;
    while (true) {
      const result = await input.next();
      if (result === 'late') continue;
      if (result.done === true) break;
      const { cursor } = result.value;
      held.add(result.value, performance.now());
      // Its cursor may have another text: tokens of pages depend on when they were requested. An incremental source
      // goes on after what were the last rows.
      const isThere = (this.#goesOn || !pending.isLast) && cursor !== undefined;
      if (held.size > pending.rows) throw this.#otherRows(pending.rows);
      if (!isThere || held.size !== pending.rows) continue;
      await this.#commit(held.take(), false);
      return false;
    }
    if (!pending.isLast || held.size !== pending.rows) throw this.#otherRows(pending.rows);
    await this.#commit(this.#takeLast(), true);
    return true;
  }

  async #commitAll(input: Input<T>): Promise<void> {
    const held = this.#held;
    while (true) {
      const result = await input.next(held.dueAt);
      if (result !== 'late') {
        if (result.done === true) break;
        held.add(result.value, performance.now());
        if (await this.#goOnWithParts(result.value.cursor)) continue;
      }
      if (held.isDue(performance.now()) || (!this.#target.hasTransactions && this.#fixesWindow())) {
        await this.#committing;
        this.#begin(this.#commit(held.take(), false));
      } else if (held.isFullWithoutCursor && this.#target.hasTransactions) {
        await this.#committing;
        await this.#beginParts();
      }
    }
    if (this.#parts !== undefined) {
      if (this.#goesOn) throw withoutCursor(this.#options.name);
      return await this.#endParts(undefined, true);
    }
    await this.#committing;
    await this.#commit(this.#takeLast(), true);
  }

  /**
   * Whether there is nothing but the cursor that an incremental run begins with: until it is saved, the next run may
   * not deliver the same rows.
   */
  #fixesWindow(): boolean {
    return this.#goesOn && this.#held.size === 0 && this.#held.dueAt !== undefined;
  }

  /** What is left at the end. */
  #takeLast(): Taken<T> {
    if (this.#goesOn && this.#held.isBehind) throw withoutCursor(this.#options.name);
    return this.#held.takeAll();
  }

  async #commit(taken: Taken<T>, isLast: boolean): Promise<void> {
    const started = performance.now();
    const damaged = await this.#log?.commit(isLast ? undefined : taken.cursor);
    await this.#target.commit(taken.rows, this.#endOf(taken.cursor, { isLast, damaged }));
    const [rows, durationMs] = [taken.rows.length, performance.now() - started];
    publish('commit', () => ({ checkpoint: this.#options.name, rows, durationMs }));
    if (this.#run.progress !== undefined) this.#run.progress.written += taken.rows.length;
  }

  #begin(committing: Promise<void>): void {
    this.#committing = committing;
    committing.catch(error => this.#broken.abort(error));
  }

  #endOf(
    cursor: Cursor | undefined,
    { isLast, damaged }: { readonly isLast: boolean; readonly damaged: CommitEnd['damaged'] },
  ): CommitEnd {
    return {
      state: isLast ? 'complete' : 'running',
      cursor: cursor && JSON.stringify(cursor),
      damaged,
    };
  }

  /** Begins a transaction whose rows come in parts, before there is a cursor. */
  async #beginParts(): Promise<void> {
    this.#parts = this.#target.openParts();
    this.#begin(this.#parts.committing);
    await this.#addPart();
  }

  async #addPart(): Promise<void> {
    const { rows } = this.#held.takeAll();
    await this.#parts?.queue.add([rows]);
    if (this.#run.progress !== undefined) this.#run.progress.written += rows.length;
  }

  /** Adds what came to the transaction that is open, if there is one, and ends it at a cursor. */
  async #goOnWithParts(cursor: Cursor | undefined): Promise<boolean> {
    if (this.#parts === undefined) return false;
    if (cursor !== undefined) await this.#endParts(cursor, false);
    else if (this.#held.isFullWithoutCursor) await this.#addPart();
    return true;
  }

  async #endParts(cursor: Cursor | undefined, isLast: boolean): Promise<void> {
    await this.#addPart();
    const damaged = await this.#log?.commit(isLast ? undefined : cursor);
    await this.#parts?.end(this.#endOf(cursor, { isLast, damaged }));
    this.#parts = undefined;
  }

  #otherRows(expected: number): StorageError {
    const { name } = this.#options;
    return new StorageError(
      `The run before has begun to write ${expected} rows to ${name}, and the source does not deliver the same rows again, so it cannot be told which of them are there. Remove what was written last, and start again`,
      { path: name },
    );
  }
}

type Input<T> = DeadlineReader<{
  readonly items: readonly T[];
  readonly cursor?: Cursor | undefined;
}>;
