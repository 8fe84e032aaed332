import type { RootDatabase } from 'lmdb';
import pLimit, { type LimitFunction } from 'p-limit';
import { openLmdb } from './open-lmdb.js';

type Root = RootDatabase<Buffer, Buffer>;

interface Waiting {
  run(root: Root): Promise<unknown>;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/**
 * The databases that this process has open in one folder. They share one LMDB environment, so if one of them
 * fails, all of them fail.
 */
interface InProcess {
  readonly roots: Set<Root>;
  /** Limits the writes to one at a time. */
  readonly limit: LimitFunction;
}

const byFolder = new Map<string, InProcess>();

/**
 * An LMDB database that keeps working after a write has failed. If LMDB cannot write the meta page of a
 * transaction, it refuses all later calls. The package `lmdb` then waits forever for the next transaction,
 * and for the database to close.
 *
 * To avoid this, a write starts only after the previous write has ended. A write commits all transactions
 * that wait when it starts. If a write fails, the database is reopened.
 */
export class LmdbDatabase {
  readonly #folder: string;
  readonly #inProcess: InProcess;
  #root: Root;
  /** The error after which LMDB refuses all calls. `undefined` again once the database has been reopened. */
  #failure: unknown;
  readonly #waiting: Waiting[] = [];
  #closed = false;

  private constructor(folder: string, root: Root) {
    this.#folder = folder;
    this.#root = root;
    this.#inProcess = byFolder.get(folder) ?? { roots: new Set(), limit: pLimit(1) };
    byFolder.set(folder, this.#inProcess);
    this.#inProcess.roots.add(root);
  }

  /**
   * @param folder an absolute path
   * @throws Error if the file is damaged or LMDB cannot be loaded. The message says what to do.
   */
  static async open(
    folder: string,
    options?: { readonly readOnly?: boolean },
  ): Promise<LmdbDatabase> {
    return new LmdbDatabase(folder, await openLmdb(folder, options));
  }

  /** The root database. It can be read at any time, and written within a transaction. */
  get root(): Root {
    if (this.#failure !== undefined) throw this.#failure;
    return this.#root;
  }

  /**
   * Runs an action on the root database. Resolves once everything that the action has put or removed would
   * survive a power failure.
   */
  transaction<T>(action: (root: Root) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const count = this.#waiting.push({
        run: root => root.transaction(() => action(root)),
        resolve: resolve as (result: unknown) => void,
        reject,
      });
      // Transactions that are added before this write starts are written together with this transaction.
      if (count === 1) void this.#inProcess.limit(() => this.#write());
    });
  }

  /** Closes the database. Transactions whose promises have resolved are kept. */
  close(): Promise<void> {
    return this.#inProcess.limit(async () => {
      this.#closed = true;
      await this.#closeRoot();
    });
  }

  /** Never throws: if a transaction fails, its promise rejects. */
  async #write(): Promise<void> {
    const together = this.#waiting.splice(0);
    try {
      if (this.#closed) throw new Error('it is closed');
      // If another database in this process has failed, LMDB also refuses calls for this database. It must
      // then be opened again.
      if (this.#failure === undefined) this.#failure = whyRefused(this.#root);
      if (this.#failure !== undefined) await this.#openAgain();
    } catch (error) {
      for (const { reject } of together) reject(error);
      return;
    }
    const root = this.#root;
    const ended = await Promise.allSettled(together.map(async ({ run }) => run(root)));
    const commitError = await commitErrorOf(ended);
    if (commitError !== undefined) {
      this.#failure = commitError;
      // If reopening fails, the next transaction tries again.
      await this.#openAgain().catch(() => {});
    }
    for (const [index, { resolve, reject }] of together.entries()) {
      const result = ended[index] as PromiseSettledResult<unknown>;
      if (result.status === 'fulfilled') resolve(result.value);
      else reject(isCommitError(result.reason) ? commitError : result.reason);
    }
  }

  async #openAgain(): Promise<void> {
    await this.#closeRoot();
    // If another database of this process has the folder open, LMDB would return the root of that database.
    // If that root has failed, reopening would not help, so this throws.
    for (const other of this.#inProcess.roots) {
      const reason = whyRefused(other);
      if (reason !== undefined) throw reason;
    }
    this.#root = await openLmdb(this.#folder);
    this.#inProcess.roots.add(this.#root);
    this.#failure = undefined;
  }

  async #closeRoot(): Promise<void> {
    await this.#root.close();
    this.#inProcess.roots.delete(this.#root);
  }
}

function whyRefused(root: Root): unknown {
  try {
    root.resetReadTxn();
    root.doesExist(Buffer.of(0));
    return undefined;
  } catch (error) {
    return error;
  }
}

/**
 * The error that `lmdb` throws for each transaction of a failed commit. The promise `commitError` rejects
 * with the reason.
 */
interface CommitError {
  readonly commitError: Promise<never>;
}

function isCommitError(error: unknown): error is CommitError {
  return typeof error === 'object' && error !== null && 'commitError' in error;
}

/**
 * Returns the reason of a failed commit; `undefined` if no commit has failed. Handles the rejection of
 * `commitError`, because an unhandled rejection would end the process.
 */
async function commitErrorOf(ended: readonly PromiseSettledResult<unknown>[]): Promise<unknown> {
  for (const result of ended)
    if (result.status === 'rejected' && isCommitError(result.reason))
      return result.reason.commitError.catch(error => error);
  return undefined;
}
