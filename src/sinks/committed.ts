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
import { type FlowIdentity, identityOf, type Sink } from '../flow/flow.js';
import { isIncremental } from '../flow/flow-identity.js';
import { withInternals } from '../flow/internals.js';
import type { Progress } from '../flow/progress.js';
import { type FileSystem, nodeFileSystem } from '../storage/file-system.js';
import { checkDamaged } from './commit/damaged-log.js';
import { changedFilesOf, type RunResult } from './commit/run-result.js';
import { runSinks } from './commit/run-sinks.js';
import type { TargetCalls, WriteRange } from './commit/transaction.js';
import { UncommittedRows } from './commit/uncommitted-rows.js';

export type { WriteRange };

/** How rows get into a target of the caller's, and how often. */
export interface CommittedOptions<T, Tx = void> {
  /**
   * Reads the text that `save` saved last, in the transaction of the rows that are about to be written; `undefined`
   * or `null` if none was saved yet. If the target supports it, lock the text until the transaction
   * ends (`SELECT ... FOR UPDATE`): of two concurrent runs, one then ends with an error.
   */
  readonly load: (tx: Tx) => string | null | undefined | PromiseLike<string | null | undefined>;
  /**
   * Writes rows, at most `rows` of them. Awaited. Several calls come in one transaction where the source has
   * cursors seldom.
   */
  readonly write: (rows: readonly T[], tx: Tx, range: WriteRange) => unknown;
  /** Replaces the saved text by this one, unchanged. Awaited. */
  readonly save: (text: string, tx: Tx) => unknown;
  /**
   * Makes all that `work` does durable, or nothing of it: begins a transaction, awaits `work(tx)`, and commits.
   * If `work` fails, rolls back and throws that error. `tx` is what the other functions get. It may call `work`
   * again after a rollback, which writes all rows again. If the rows came in parts, because the source had no cursor for more
   * than `rows` of them, they are gone then: the second call fails with a `StorageError`, and nothing is committed.
   *
   * Without this option, `save` is called before and after the rows are written. The first text names the rows. Rows that
   * may already be in the target are passed again with `again` and the same `token`: `write` must
   * then skip or replace what is there. The source must deliver the same rows again, as
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
  /**
   * Once this many rows are held, they are committed at the next cursor. Also the maximum number of rows in a call of
   * `write`. @default 5_000
   */
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
  /** With `damaged`: the number of records in that file, including earlier runs. */
  readonly damaged?: number | undefined;
  /** The time since which the saved checkpoint is complete, if this run found it complete and sent no request. */
  readonly completeSince?: Date | undefined;
  /** The number of rows that this run has written; set if the source is `incremental`. 0 means that nothing was new. */
  readonly added?: number | undefined;
  /** The number of changed files, like in the result of `files`. */
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
 * Writes every item exactly once into your own target, such as a database or an API. Your functions write rows, and
 * save a checkpoint with them in one transaction. The checkpoint is a string that holds the cursor to resume from; like
 * a checkpoint of `files`, it is refused for another flow. After a crash, the same script continues after the last
 * commit; after a complete run, it opens nothing.
 *
 * Takes any items: posts, or rows made by `map(tables.toRow(columns))`. If it ends a branch of `tee`, which requires
 * `transaction`, its checkpoint is also the checkpoint of the branches to files.
 *
 * @throws OptionError Immediately, if an option is invalid.
 * @throws StorageError If a commit fails after all tries, if the checkpoint belongs to another flow, and when
 * another run has written to the target during this one. `cause` has the error of your function.
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
  const sink: Sink<T, Committed> = async (input, run = {}) => {
    const { signal, progress } = run;
    const flow = identityOf(input);
    const owner = { sink: { step: 'committed' }, flow };
    const uncommitted = new UncommittedRows(checked, owner, run);
    const result = await runSinks<T>(fs, {
      sinks: [],
      checkpoint: async () => uncommitted,
      damaged: checked.damaged,
      owner,
      progress,
      signal,
      read: async ({ signal, before, committer, damaged }) =>
        uncommitted.write(input, {
          signal,
          resume: before?.cursor,
          progress,
          damaged,
          reached: cursor => committer?.reached(cursor),
          idle: async () => committer?.idle(),
          fail: error => committer?.fail(error),
          commitNow: async cursor => committer?.commitLast(cursor),
        }),
    });
    return committedResult(uncommitted, result, { flow, progress });
  };
  const branch = new CommittedSink(fs, checked as CheckedOptions<unknown, unknown>);
  return withInternals(sink, { counts: true, branch });
}

/** What a run of `committed` resolves to. */
export function committedResult(
  { rows, added }: { readonly rows: number; readonly added: number },
  { damaged, completeSince }: RunResult,
  { flow, progress }: { readonly flow: FlowIdentity; readonly progress: Progress | undefined },
): Committed {
  return {
    rows,
    ...(damaged !== undefined && { damaged }),
    ...(completeSince !== undefined && { completeSince }),
    ...(isIncremental(flow) && { added, ...changedFilesOf(progress) }),
  };
}

type CheckedOptions<T, Tx> = Checked<CommittedOptions<T, Tx>, typeof OPTIONS> & TargetCalls<T, Tx>;

/** `committed`, as `tee` sees it. */
export class CommittedSink {
  readonly fs: FileSystem;
  readonly options: CheckedOptions<unknown, unknown>;

  constructor(fs: FileSystem, options: CheckedOptions<unknown, unknown>) {
    this.fs = fs;
    this.options = options;
  }
}
