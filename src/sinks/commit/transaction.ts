import { randomUUID } from 'node:crypto';
import { Channel } from '../../base/channel.js';
import { optionError } from '../../base/check.js';
import { StorageError } from '../../base/errors.js';
import {
  type CheckpointOwner,
  type CheckpointPlace,
  type CommittedFile,
  parseSaved,
  printSaved,
  type Saved,
} from './checkpoint-text.js';
import { CommitRetries, type RetryOptions, type RetryRun } from './commit-retries.js';
import type { HeldRows } from './held-rows.js';

/** Identifies the rows of one call of `write`. */
export interface WriteRange {
  /**
   * A name for these rows. If the same rows are written again, they get the same name. The name is never used
   * for other rows. Use it for targets that ignore rows whose name they already have.
   */
  readonly token: string;
  /**
   * Whether these rows were passed to `write` before. Some or all of them may then already be in the target.
   * Always false with `transaction`, because failed transactions are rolled back.
   */
  readonly again: boolean;
}

/**
 * The caller's functions that write to a target. Their argument `tx` is the object that the caller's
 * `transaction` passes to `work`.
 */
export interface TargetCalls {
  readonly load: (tx: unknown) => unknown;
  readonly write: (rows: readonly unknown[], tx: unknown, range: WriteRange) => unknown;
  readonly save: (text: string, tx: unknown) => unknown;
  readonly transaction?: ((work: (tx: unknown) => Promise<void>) => unknown) | undefined;
}

export interface TargetOptions extends TargetCalls, RetryOptions {
  readonly rows: number;
}

export interface TargetRun extends RetryRun {
  readonly owner: CheckpointOwner;
}

export interface CommitEnd {
  readonly state: Saved['state'];
  /** The cursor after the rows, as JSON, or `null`. */
  readonly cursor: string;
  /**
   * The files of the other branches of `tee`, and the file of damaged records. These files are already on
   * disk.
   */
  readonly files: readonly CommittedFile[];
}

export interface OpenParts {
  readonly queue: Channel<HeldRows>;
  /** Settles when the rows are committed, or the commit has failed. */
  readonly committing: Promise<void>;
  end(end: CommitEnd): Promise<void>;
}

/**
 * Commits rows and the text of the checkpoint together, by calling the caller's functions. If a commit fails,
 * it may still have taken effect. Each retry therefore first reads the saved text, in the same transaction.
 */
export class Target {
  readonly #options: TargetOptions;
  readonly #run: TargetRun;
  readonly #place: CheckpointPlace;
  readonly #retries: CommitRetries;
  saved: Saved = {
    state: 'running',
    id: randomUUID(),
    commits: 0,
    rows: 0,
    cursor: 'null',
    files: [],
  };
  /** The text with which `save` was called last. */
  #text: string;
  /** The text of the running commit, once it is known. */
  #nextText: string | undefined;

  constructor(options: TargetOptions, run: TargetRun) {
    this.#options = options;
    this.#run = run;
    this.#retries = new CommitRetries(options, run);
    this.#place = { path: options.name, subject: `The checkpoint of ${options.name}` };
    this.#text = printSaved(this.saved, run.owner);
  }

  get hasTransactions(): boolean {
    return this.#options.transaction !== undefined;
  }

  /**
   * Reads the checkpoint that earlier runs have saved. If there is none, saves an initial checkpoint, so that
   * each commit replaces an existing one.
   */
  async open(): Promise<void> {
    let found: string | undefined;
    try {
      await this.#inTransaction(async tx => {
        found = await this.#load(tx);
        if (found === undefined) await this.#options.save(this.#text, tx);
      });
    } catch (error) {
      throw this.#retries.failure('read the checkpoint of', error);
    }
    if (found === undefined) return;
    this.saved = parseSaved(found, this.#place, this.#run.owner);
    this.#text = found;
  }

  async commit(rows: HeldRows, end: CommitEnd): Promise<void> {
    const next = this.#after(rows.count, end);
    const text = printSaved(next, this.#run.owner);
    this.#nextText = text;
    const tokens = `${next.id}-${next.commits}`;
    const parts = () => rows.parts(this.#options.rows);
    for (let failures = 0; ; ) {
      try {
        if (this.hasTransactions) await this.#writeInTransaction(parts, tokens, () => text);
        else await this.#writePending(parts, { tokens, next, text });
        break;
      } catch (error) {
        failures++;
        if (failures > this.#retries.max || !this.#retries.isRetryable(error))
          throw this.#retries.failure('commit to', error);
        await this.#retries.pause(failures, error);
      }
    }
    this.saved = next;
    this.#text = text;
  }

  /**
   * Starts a commit whose rows arrive in parts, because there are more rows than fit in memory. Such a commit
   * cannot be retried.
   */
  openParts(): OpenParts {
    const queue = new Channel<HeldRows>(1);
    const { rows } = this.#options;
    async function* read() {
      for await (const lists of queue.batches()) for (const list of lists) yield* list.parts(rows);
    }
    let last: CommitEnd | undefined;
    const committing = this.#commitParts(read(), () => last as CommitEnd);
    // After a failure, no one reads the queue, so a producer must not wait for space in the queue.
    committing.catch(() => queue.end());
    const end = async (end: CommitEnd) => {
      last = end;
      queue.end();
      await committing;
    };
    return { queue, committing, end };
  }

  /**
   * @param parts The parts of the rows, in order.
   * @param end Called after the last part. Returns the state and the cursor to record.
   */
  async #commitParts(parts: AsyncIterable<HeldRows>, end: () => CommitEnd): Promise<void> {
    const { id, commits } = this.saved;
    let next: Saved | undefined;
    let text: string | undefined;
    let rows = 0;
    let isTaken = false;
    const calledAgain = () => this.#calledAgain();
    async function* once() {
      // The previous call of `work` has already taken the parts out of the queue.
      if (isTaken) throw calledAgain();
      isTaken = true;
      for await (const part of parts) {
        rows += part.count;
        yield part;
      }
    }
    this.#nextText = undefined;
    try {
      await this.#writeInTransaction(once, `${id}-${commits + 1}`, () => {
        next = this.#after(rows, end());
        text = printSaved(next, this.#run.owner);
        this.#nextText = text;
        return text;
      });
    } catch (error) {
      // A retryable error may have come after the commit took effect. The commit took effect if the stored
      // text is now the text of this commit.
      if (
        text === undefined ||
        !this.#retries.isRetryable(error) ||
        (await this.#loaded(error)) !== text
      )
        throw this.#retries.failure('commit to', error);
    }
    this.saved = next as Saved;
    this.#text = text as string;
  }

  #after(rows: number, { state, cursor, files }: CommitEnd): Saved {
    const { id, commits, rows: before } = this.saved;
    return {
      state,
      id,
      commits: commits + 1,
      rows: before + rows,
      cursor,
      completed: state === 'complete' ? new Date() : undefined,
      files,
    };
  }

  async #writeInTransaction(
    parts: () => Iterable<HeldRows> | AsyncIterable<HeldRows>,
    tokens: string,
    textAfter: () => string,
  ): Promise<void> {
    await this.#inTransaction(async tx => {
      const found = await this.#load(tx);
      if (found !== this.#text) {
        // An earlier attempt of this commit has succeeded, but the response was lost.
        if (found !== undefined && found === this.#nextText) return;
        throw this.#anotherRun();
      }
      let number = 0;
      for await (const { rows } of parts()) {
        this.#run.signal.throwIfAborted();
        await this.#options.write(rows, tx, { token: `${tokens}.${++number}`, again: false });
      }
      await this.#options.save(textAfter(), tx);
    });
  }

  /**
   * Commits without transactions, in three steps. First saves which rows are about to be written, then writes
   * the rows, then saves that they are written.
   */
  async #writePending(
    parts: () => Iterable<HeldRows>,
    commit: { readonly tokens: string; readonly next: Saved; readonly text: string },
  ): Promise<void> {
    const { next, text, tokens } = commit;
    const { write, save } = this.#options;
    const rows = next.rows - this.saved.rows;
    const pending = { rows, cursor: next.cursor, isLast: next.state !== 'running' };
    const pendingText = printSaved({ ...this.saved, pending }, this.#run.owner);
    const found = await this.#load(undefined);
    if (found === text) return;
    const isPending = this.saved.pending !== undefined && found === this.#text;
    const again = isPending || found === pendingText;
    if (!again && found !== this.#text) throw this.#anotherRun();
    if (!again && rows > 0) await save(pendingText, undefined);
    let number = 0;
    for (const { rows } of parts()) {
      this.#run.signal.throwIfAborted();
      await write(rows, undefined, { token: `${tokens}.${++number}`, again });
    }
    await save(text, undefined);
  }

  async #inTransaction(work: (tx: unknown) => Promise<void>): Promise<void> {
    const { transaction } = this.#options;
    if (transaction === undefined) return await work(undefined);
    let running: Promise<void> | undefined;
    let ended = false;
    await transaction(tx => {
      ended = false;
      running = work(tx).finally(() => {
        ended = true;
      });
      return running;
    });
    if (running !== undefined && ended) return await running;
    running?.catch(() => {});
    throw optionError(
      'committed',
      'transaction',
      'must call the function that it gets, and wait for it before it commits: `async work => { begin(); await work(); commit(); }`',
    );
  }

  async #load(tx: unknown): Promise<string | undefined> {
    const found = await this.#options.load(tx);
    if (found === undefined || found === null) return undefined;
    if (typeof found === 'string') return found;
    throw optionError(
      'committed',
      'load',
      `must return the text that \`save\` got, or nothing if none was saved yet, got ${typeof found === 'object' ? 'an object' : typeof found}. Save it as a string: other types, such as json, change it`,
    );
  }

  /**
   * Reads the text that `save` has stored, after an error and with retries. Returns `undefined` if the text
   * cannot be read.
   */
  async #loaded(error: unknown): Promise<string | undefined> {
    for (let failures = 1; ; failures++) {
      await this.#retries.pause(failures, error);
      try {
        let found: string | undefined;
        await this.#inTransaction(async tx => {
          found = await this.#load(tx);
        });
        return found;
      } catch {
        if (failures >= this.#retries.max) return undefined;
      }
    }
  }

  #calledAgain(): StorageError {
    const { name } = this.#options;
    return new StorageError(
      `Nothing of the last rows was committed to ${name}: \`transaction\` called its function again, and they came in parts, which cannot be written twice. Run the same again: it continues after the last commit. A larger \`rows\` keeps more of them for another call`,
      { path: name, retryable: true },
    );
  }

  #anotherRun(): StorageError {
    const { name } = this.#options;
    return new StorageError(
      `Another run has committed to ${name} since this one began, or its checkpoint was changed. Let one run at a time write there, then run the same again`,
      { path: name },
    );
  }
}
