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
 * The databases that this process has open in one folder. LMDB opens the folder once for all of them, so a failure of
 * one is a failure of all.
 */
interface InProcess {
  readonly roots: Set<Root>;
  /** Writes one after the other. */
  readonly limit: LimitFunction;
}

const byFolder = new Map<string, InProcess>();

/**
 * An LMDB database that can be used again after a transaction could not be written. LMDB refuses all calls once it could
 * not write a root, and lmdb then waits without end for the next transaction, and for the database to close. So
 * transactions of one turn are written together, the next ones after them, and after a failure the database is opened again.
 */
export class LmdbDatabase {
  readonly #folder: string;
  readonly #inProcess: InProcess;
  #root: Root;
  /** Why LMDB refuses all calls, so that the database has to be opened again; `undefined` where it does not. */
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
   * @throws Error that says what to do, where the file is damaged or LMDB cannot be loaded.
   */
  static async open(
    folder: string,
    options?: { readonly readOnly?: boolean },
  ): Promise<LmdbDatabase> {
    return new LmdbDatabase(folder, await openLmdb(folder, options));
  }

  /** The root, for reads, and for writes within a transaction. */
  get root(): Root {
    if (this.#failure !== undefined) throw this.#failure;
    return this.#root;
  }

  /** Runs an action on the root. Resolves once what it has put or removed survives a power cut. */
  transaction<T>(action: (root: Root) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const count = this.#waiting.push({
        run: root => root.transaction(() => action(root)),
        resolve: resolve as (result: unknown) => void,
        reject,
      });
      // Transactions that are added before this write has its turn are written with it.
      if (count === 1) void this.#inProcess.limit(() => this.#write());
    });
  }

  /** Everything for which `transaction` has resolved is kept. */
  close(): Promise<void> {
    return this.#inProcess.limit(async () => {
      this.#closed = true;
      await this.#closeRoot();
    });
  }

  /** Does not throw. */
  async #write(): Promise<void> {
    const together = this.#waiting.splice(0);
    try {
      if (this.#closed) throw new Error('it is closed');
      // Another database of this process may have failed.
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
      // Where this fails, the next transaction tries to open the database again.
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
    // As long as another database of this process has the folder open, LMDB would give the same root that refuses.
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

/** Why LMDB refuses all calls, if it does. */
function whyRefused(root: Root): unknown {
  try {
    root.resetReadTxn();
    root.doesExist(Buffer.of(0));
    return undefined;
  } catch (error) {
    return error;
  }
}

/** The error of lmdb for each transaction whose commit has failed. `commitError` rejects with the reason. */
interface CommitError {
  readonly commitError: Promise<never>;
}

function isCommitError(error: unknown): error is CommitError {
  return typeof error === 'object' && error !== null && 'commitError' in error;
}

/** Why the commit has failed. Also handles the rejection of `commitError`, which would end the process. */
async function commitErrorOf(ended: readonly PromiseSettledResult<unknown>[]): Promise<unknown> {
  for (const result of ended)
    if (result.status === 'rejected' && isCommitError(result.reason))
      return result.reason.commitError.catch(error => error);
  return undefined;
}
