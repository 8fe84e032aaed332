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
 * The databases that this process has open in one folder. LMDB opens the folder only once, so if one of them
 * fails, all fail.
 */
interface InProcess {
  readonly roots: Set<Root>;
  /** Limits the writes to one at a time. */
  readonly limit: LimitFunction;
}

const byFolder = new Map<string, InProcess>();

/**
 * An LMDB database that still works after the write of a transaction has failed. After LMDB could not write a
 * root, it refuses all calls, and lmdb waits forever for the next transaction and for the database to close.
 * Therefore, transactions of the same turn are written together, later ones wait for them, and after a
 * failure the database is reopened.
 */
export class LmdbDatabase {
  readonly #folder: string;
  readonly #inProcess: InProcess;
  #root: Root;
  /** The reason why LMDB refuses all calls, so that the database must be reopened; `undefined` if it does not. */
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
   * @throws Error that says what to do, if the file is damaged or LMDB cannot be loaded.
   */
  static async open(
    folder: string,
    options?: { readonly readOnly?: boolean },
  ): Promise<LmdbDatabase> {
    return new LmdbDatabase(folder, await openLmdb(folder, options));
  }

  /** The root database, for reads, and for writes within a transaction. */
  get root(): Root {
    if (this.#failure !== undefined) throw this.#failure;
    return this.#root;
  }

  /**
   * Runs an action on the root database. Resolves once everything that it has put or removed survives a power
   * failure.
   */
  transaction<T>(action: (root: Root) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const count = this.#waiting.push({
        run: root => root.transaction(() => action(root)),
        resolve: resolve as (result: unknown) => void,
        reject,
      });
      // Transactions that are added before this write starts are written together with it.
      if (count === 1) void this.#inProcess.limit(() => this.#write());
    });
  }

  /** Closes the database. Transactions whose promise has resolved are kept. */
  close(): Promise<void> {
    return this.#inProcess.limit(async () => {
      this.#closed = true;
      await this.#closeRoot();
    });
  }

  /** Writes the waiting transactions. Never throws: each failure rejects the promise of its transaction. */
  async #write(): Promise<void> {
    const together = this.#waiting.splice(0);
    try {
      if (this.#closed) throw new Error('it is closed');
      // LMDB also refuses calls after another database of this process has failed.
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
      // If this fails, the next transaction tries again to reopen the database.
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
    // LMDB would return the same failed root while another database of this process has the folder open.
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

/** The reason why LMDB refuses all calls, if it does. */
function whyRefused(root: Root): unknown {
  try {
    root.resetReadTxn();
    root.doesExist(Buffer.of(0));
    return undefined;
  } catch (error) {
    return error;
  }
}

/** The error that lmdb throws for each transaction of a failed commit. Its `commitError` rejects with the reason. */
interface CommitError {
  readonly commitError: Promise<never>;
}

function isCommitError(error: unknown): error is CommitError {
  return typeof error === 'object' && error !== null && 'commitError' in error;
}

/**
 * The reason why a commit has failed, if it has. Also handles the rejection of `commitError`, which would
 * otherwise end the process.
 */
async function commitErrorOf(ended: readonly PromiseSettledResult<unknown>[]): Promise<unknown> {
  for (const result of ended)
    if (result.status === 'rejected' && isCommitError(result.reason))
      return result.reason.commitError.catch(error => error);
  return undefined;
}
