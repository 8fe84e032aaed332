import {
  type Checked,
  checkOptions,
  func,
  milliseconds,
  type OptionTable,
  optionError,
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
import { FILE_SINK_OPTIONS } from './commit/file-sink.js';
import { changedFilesOf, type RunResult } from './commit/run-result.js';
import { runSinks } from './commit/run-sinks.js';
import type { WriteRange } from './commit/transaction.js';
import { UncommittedRows } from './commit/uncommitted-rows.js';

export type { WriteRange };

interface CommitOptions<Tx> {
  /**
   * Reads the string that `save` saved last, in the same transaction as the rows that are about to be
   * written. Returns `undefined` or `null` if no string was saved yet. If the target supports it, lock the
   * string until the transaction ends (`SELECT ... FOR UPDATE`). If two runs write at the same time, the lock
   * makes one of them end with an error.
   */
  readonly load: (tx: Tx) => string | null | undefined | PromiseLike<string | null | undefined>;
  /**
   * Stores `text` instead of the string that was saved before. `load` must return exactly this string. If
   * `save` returns a promise, the run waits for it.
   */
  readonly save: (text: string, tx: Tx) => unknown;
  /**
   * Runs `work` in a transaction, so that either everything that `work` does becomes durable, or nothing.
   * Begin a transaction, await `work(tx)`, and commit; if `work` fails, roll back and throw its error. The
   * other functions get `tx`. After a rollback, you may call `work` again, which writes all rows again. If
   * more than `rows` rows arrived without a cursor, they were written in parts that are no longer in memory.
   * A second call then throws a `StorageError`, and nothing is committed.
   *
   * Without this option, `save` is called before and after the rows are written. The first string records
   * which rows are about to be written. After a failure, `write` gets rows again that may already be in the
   * target. They have the same `token` as before, and `again` is set. `write` must then skip or replace
   * existing rows. The source must deliver the same rows again, as searches, stored files and jobs do.
   */
  readonly transaction?: ((work: (tx: Tx) => Promise<void>) => unknown) | undefined;
  /**
   * The path of a file for records that cannot be used, as with the option `damaged` of `files`. The file
   * contains the damaged records that earlier stages find, and the items that `encode` cannot encode. Each of
   * them is in the file once. The file is on disk before `save` gets a string that includes the size of the
   * file.
   * @default the first such record ends the run
   */
  readonly damaged?: string | undefined;
  /** The name of the target in messages, such as `posts.sqlite`. @default 'the target of committed()' */
  readonly name?: string | undefined;
  /**
   * Once this many rows have arrived, they are committed at the next cursor. This is also the maximum number
   * of rows in one call of `write`. @default 5_000
   */
  readonly rows?: number | undefined;
  /** The longest time from a cursor to the commit of the rows before it, in milliseconds. @default 1000 */
  readonly waitMs?: number | undefined;
  /**
   * How often a failed commit is retried. Each retry first calls `load`, to find out whether the previous
   * attempt has succeeded.
   * @default 5
   */
  readonly retries?: number | undefined;
  /**
   * The maximum wait before the first retry, in milliseconds. Each retry doubles the maximum, up to 30 s.
   * @default 1000
   */
  readonly retryWaitMs?: number | undefined;
  /**
   * Returns whether to retry a commit that failed with this error.
   * @default retries all errors except programming errors such as `TypeError`, and SQLSTATE errors in data,
   * constraints, syntax and access
   */
  readonly isRetryable?: ((error: unknown) => boolean) | undefined;
}

/** Options of `committed`: your functions that write rows to a target, and how often they are called. */
export interface CommittedOptions<T, Tx = void> extends CommitOptions<Tx> {
  /**
   * Writes at most `rows` rows to the target. If there are more rows between two cursors of the source,
   * `write` is called several times in one transaction. If `write` returns a promise, the run waits for it.
   */
  readonly write: (rows: readonly T[], tx: Tx, range: WriteRange) => unknown;
  /** Must be absent, so that `write` gets items. To encode rows, see `EncodedCommittedOptions`. */
  readonly encode?: undefined;
  /** Must be absent, because threads are used only with `encode`. */
  readonly workers?: undefined;
}

/** Options of `committed` with `encode`. `write` then gets blocks of bytes. */
export interface EncodedCommittedOptions<T, Tx = void> extends CommitOptions<Tx> {
  /**
   * Converts an item to a row, as a string or as bytes, including a line end if the target needs one. `write`
   * then gets blocks of such rows instead of items. With `tables.toCsv(columns)`, posts of large stored files
   * are encoded in several threads; any other function runs on the main thread.
   */
  readonly encode: (item: T) => string | Uint8Array;
  /**
   * Writes the rows in these blocks, at most `rows` rows in all. A block has whole rows and no header. Its
   * size is at most about 1 MiB, unless a single row is larger. If `write` returns a promise, the run waits
   * for that promise. If the source delivers few cursors, `write` is called several times in one transaction.
   *
   * Without `transaction`, one call gets all rows of a commit, which may be more than `rows`. If the rows are
   * written again, their bytes are the same, but the bytes may be divided into different blocks.
   */
  readonly write: (blocks: readonly Buffer[], tx: Tx, range: WriteRange) => unknown;
  /**
   * The maximum number of threads that inflate stored files and encode their posts; 0 for none. Threads are
   * used only if `encode` was created by `tables.toCsv` with post columns only.
   * @default one for each core, up to 16, if there are 32 MiB or more to read
   */
  readonly workers?: number | undefined;
}

/**
 * The result of `committed`. If this run has resumed earlier runs, it includes what those runs have written.
 */
export interface Committed {
  readonly rows: number;
  /**
   * The number of records in the file of the option `damaged`, including earlier runs; absent without that
   * option.
   */
  readonly damaged?: number | undefined;
  /**
   * The time at which an earlier run completed the checkpoint. Set only if this run found the checkpoint
   * complete, and therefore sent no requests.
   */
  readonly completeSince?: Date | undefined;
  /**
   * The number of rows that this run alone has written. Set only if the source is `incremental`. 0 means that
   * there were no new rows.
   */
  readonly added?: number | undefined;
  /** The number of changed files, as in the result of `files`. */
  readonly changedFiles?: number | undefined;
}

interface AnyCommittedOptions extends CommitOptions<unknown> {
  readonly write: (rows: readonly unknown[], tx: unknown, range: WriteRange) => unknown;
  readonly encode?: ((item: unknown) => string | Uint8Array) | undefined;
  readonly workers?: number | undefined;
}

const ROWS = 5_000;
/**
 * The default of `rows` with `encode`. It is higher than without `encode`, because encoded rows take less
 * memory, and each commit saves a long string.
 */
const ENCODED_ROWS = 20_000;

const OPTIONS = {
  load: required(func('what reads the text that was saved')),
  encode: func('how an item becomes the bytes of a row'),
  workers: FILE_SINK_OPTIONS.workers,
  write: required(func('what writes rows')),
  save: required(func('what saves the text that `load` reads')),
  transaction: func('what runs a function in a transaction'),
  damaged: text('the file of the records that cannot be used'),
  name: text('what it writes to, for messages', 'the target of committed()'),
  rows: whole('rows in a commit', { min: 1 }),
  waitMs: milliseconds('until rows are committed', { min: 0, default: 1_000 }),
  retries: whole('tries of a commit after the first', { default: 5 }),
  retryWaitMs: milliseconds('before the first of them', { min: 0, default: 1_000 }),
  isRetryable: func('whether a commit is tried again'),
} satisfies OptionTable<AnyCommittedOptions>;

/**
 * Writes every item exactly once to your own target, such as a database or an API. Your functions write rows,
 * and save a checkpoint with them in one transaction. The checkpoint is a string with the cursor to resume
 * from. Like a checkpoint of `files`, it is refused if it belongs to another flow. After a crash, the same
 * script continues after the last commit. After a complete run, the same script writes nothing and sends no
 * requests.
 *
 * Accepts any items: posts, or rows created by `map(tables.toRow(columns))`. With `encode`, `write` gets blocks
 * of bytes instead, such as CSV for `COPY`. Posts of stored files are then encoded in several threads. With a
 * `transaction`, `committed` may end a branch of `tee`. Its checkpoint is then also the checkpoint of the
 * branches that write files.
 *
 * @throws OptionError Immediately, if an option is invalid.
 * @throws StorageError If a commit fails after all retries, if the checkpoint belongs to another flow, or if
 * another run has written to the target during this run. `cause` is the error of your function.
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
 *
 * @example
 * await pipeline(
 *   localFiles('archive'),
 *   gunzip(),
 *   jsonLines(),
 *   activities(),
 *   dedupe(),
 *   committed({
 *     transaction: (work: (tx: Transaction) => Promise<void>) => database.transaction(work),
 *     load: async tx => (await tx.query('SELECT saved FROM progress FOR UPDATE')).rows[0]?.saved,
 *     save: (text, tx) => tx.query('UPDATE progress SET saved = $1', [text]),
 *     encode: tables.toCsv(['id', 'posted_at', 'text']),
 *     write: (blocks, tx) => tx.copy('COPY posts FROM STDIN (FORMAT csv)', blocks),
 *   }),
 * );
 */
export function committed<T, Tx = void>(
  options: EncodedCommittedOptions<T, Tx>,
): Sink<T, Committed>;
/** Like the overload above, but without `encode`, so `write` gets items. */
export function committed<T, Tx = void>(options: CommittedOptions<T, Tx>): Sink<T, Committed>;
export function committed<T, Tx = void>(
  options: CommittedOptions<T, Tx> | EncodedCommittedOptions<T, Tx>,
): Sink<T, Committed> {
  return committedOn<T, Tx>(nodeFileSystem, options);
}

/**
 * Like `committed`, but writes the file of damaged records to the given file system. A test can thus make the
 * disk fail.
 */
export function committedOn<T, Tx = void>(
  fs: FileSystem,
  options: CommittedOptions<T, Tx> | EncodedCommittedOptions<T, Tx>,
): Sink<T, Committed> {
  const checked = checkOptions('committed', OPTIONS, options as AnyCommittedOptions);
  if (checked.workers !== undefined && checked.encode === undefined)
    throw optionError(
      'committed',
      'workers',
      'needs `encode`: threads only encode rows. Pass `encode: tables.toCsv(columns)`, or leave `workers` out',
    );
  if (checked.damaged !== undefined) checkDamaged('committed', checked.damaged);
  const { rows = checked.encode === undefined ? ROWS : ENCODED_ROWS } = checked;
  const config: CommittedConfig = { ...checked, rows };
  const sink: Sink<T, Committed> = async (input, run = {}) => {
    const { signal, progress } = run;
    const flow = identityOf(input);
    const owner = { sink: { step: 'committed' }, flow };
    const uncommitted = new UncommittedRows(config, owner, run);
    const result = await runSinks<T>(fs, {
      sinks: [],
      checkpoint: async () => uncommitted,
      damaged: config.damaged,
      owner,
      progress,
      signal,
      read: async ({ engine, signal, before, committer, damaged }) => {
        uncommitted.encodeOn(engine);
        return uncommitted.write(input, {
          signal,
          resume: before?.cursor,
          progress,
          damaged,
          reached: cursor => committer?.reached(cursor),
          idle: async () => committer?.idle(),
          fail: error => committer?.fail(error),
          commitNow: async cursor => committer?.commitLast(cursor),
          spent: async cursor => committer?.commitLast(cursor),
        });
      },
    });
    return committedResult(uncommitted, result, { flow, progress });
  };
  const branch = new CommittedSink(fs, config);
  return withInternals(sink, { counts: true, branch });
}

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

type CommittedConfig = Checked<AnyCommittedOptions, typeof OPTIONS> & { readonly rows: number };

/** The parts of a sink `committed` that `tee` needs if one of its branches ends in this sink. */
export class CommittedSink {
  readonly fs: FileSystem;
  readonly options: CommittedConfig;

  constructor(fs: FileSystem, options: CommittedConfig) {
    this.fs = fs;
    this.options = options;
  }
}
