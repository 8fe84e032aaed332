import type { RootDatabase } from 'lmdb';
import { openLmdb } from './open-lmdb.js';

type Root = RootDatabase<Buffer, Buffer>;

interface Waiting {
  run(root: Root): Promise<unknown>;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/**
 * An LMDB database that can be used again after a transaction could not be written. LMDB refuses all calls once it could
 * not write a root, and lmdb then waits without end for the next transaction, and for the database to close. So
 * transactions of one turn are written together, the next ones after them, and after a failure the database is opened again.
 */
export class LmdbDatabase {
  readonly #folder: string;
  #root: Root;
  /** Why it has to be opened again. */
  #failure: unknown;
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;
  #closed = false;

  private constructor(folder: string, root: Root) {
    this.#folder = folder;
    this.#root = root;
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

  /** For reads, and within a transaction for writes. */
  get root(): Root {
    if (this.#failure !== undefined) throw this.#failure;
    return this.#root;
  }

  /** Runs an action on the root. Resolves once what it has put or removed survives a power cut. */
  transaction<T>(action: (root: Root) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({
        run: root => root.transaction(() => action(root)),
        resolve: resolve as (result: unknown) => void,
        reject,
      });
      this.#writing ??= this.#write().finally(() => {
        this.#writing = undefined;
      });
    });
  }

  /** Everything for which `transaction` has resolved is kept. */
  async close(): Promise<void> {
    await this.#writing;
    this.#closed = true;
    await this.#root.close();
  }

  async #write(): Promise<void> {
    await undefined; // For the other transactions of this turn.
    while (this.#waiting.length > 0) {
      const together = this.#waiting;
      this.#waiting = [];
      try {
        if (this.#failure !== undefined) await this.#openAgain();
      } catch (error) {
        for (const { reject } of together) reject(error);
        continue;
      }
      const root = this.#root;
      const ended = await Promise.allSettled(together.map(async ({ run }) => run(root)));
      const commitError = await firstCommitError(ended);
      if (commitError !== undefined) {
        this.#failure = commitError;
        // With an error, it stays as it is, until the next transaction.
        await this.#openAgain().catch(() => {});
      }
      for (const [index, { resolve, reject }] of together.entries()) {
        const result = ended[index] as PromiseSettledResult<unknown>;
        if (result.status === 'fulfilled') resolve(result.value);
        else reject(isCommitError(result.reason) ? commitError : result.reason);
      }
    }
  }

  async #openAgain(): Promise<void> {
    if (this.#closed) throw new Error('it is closed');
    await this.#root.close();
    this.#root = await openLmdb(this.#folder);
    this.#failure = undefined;
  }
}

/** What lmdb rejects the transactions with whose commit has failed. The reason is another promise, which rejects with it. */
interface CommitError {
  readonly commitError: Promise<never>;
}

function isCommitError(error: unknown): error is CommitError {
  return typeof error === 'object' && error !== null && 'commitError' in error;
}

/** Why the commit has failed. Handles the rejection, too, which would end the process. */
async function firstCommitError(ended: readonly PromiseSettledResult<unknown>[]): Promise<unknown> {
  for (const result of ended)
    if (result.status === 'rejected' && isCommitError(result.reason))
      return result.reason.commitError.catch(error => error);
  return undefined;
}
