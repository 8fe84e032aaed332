import { abortable } from '../../base/abortable.js';
import { OptionError } from '../../base/errors.js';
import { WakeUp } from '../../base/wait.js';
import { countOf, type EngineBatch } from '../../files/rows.js';
import type { Cursor, Run } from '../../flow/flow.js';
import { detached } from '../../post/detach-from-block.js';

/**
 * The maximum number of batches that the fastest branch may be ahead of the slowest branch. A branch whose
 * operators hold items back needs some more batches to reach the cursor at which the other branches wait.
 */
export const MAX_LEAD = 16;

/**
 * A placeholder that a branch gets instead of a cursor of the input. Operators in the branch wrap it like any
 * other cursor. `TeeInput.inputCursorIn` finds the real cursor again.
 */
export interface InputCursor extends Cursor {
  readonly tee: 'input';
}

/** A cursor of the input, and its sequence number. A later cursor has a higher number. */
export interface InputCursorOf {
  readonly number: number;
  readonly cursor: Cursor;
}

interface Reader {
  position: number;
  isWaiting: boolean;
  readonly wakeUp: WakeUp;
}

/**
 * Lets several branches read one input, as fast as the slowest branch. Each branch can read the input once.
 * After all branches have read a batch of rows, the file of these rows is released.
 */
export class TeeInput {
  readonly #iterator: AsyncIterator<EngineBatch>;
  readonly #onFull: () => void;
  readonly #cursors = new WeakMap<object, InputCursorOf>();
  readonly #readers = new Map<number, Reader>();
  /**
   * The batches that at least one branch has not read yet. `#first` is the index of the first batch, counted
   * from the start of the input.
   */
  #batches: EngineBatch[] = [];
  #first = 0;
  readonly #opened = new Set<number>();
  #number = 0;
  readonly #atEnd = new Set<number>();
  #started = false;
  #reading = false;
  #ended = false;
  #lastTaken: InputCursorOf | undefined;
  failure: { readonly error: unknown } | undefined;

  /**
   * @param branches The indices of the branches that read the input.
   * @param onFull Called while a branch waits for a batch that cannot be read before the slowest branch
   * continues.
   */
  constructor(input: AsyncIterable<EngineBatch>, branches: readonly number[], onFull: () => void) {
    this.#iterator = input[Symbol.asyncIterator]();
    this.#onFull = onFull;
    for (const branch of branches)
      this.#readers.set(branch, { position: 0, isWaiting: false, wakeUp: new WakeUp() });
  }

  /**
   * @param resumes Whether the checkpoint of `tee` has a cursor for this branch.
   * @throws OptionError if it has one but `run.resume` is absent, or the reverse.
   */
  read(branch: number, run: Run, { resumes }: { readonly resumes: boolean }) {
    if (this.#opened.has(branch))
      throw new Error('The input of a branch of tee() can be read only once');
    this.#opened.add(branch);
    if ((run.resume !== undefined) !== resumes) throw cannotResume();
    return this.#read(branch, run);
  }

  /**
   * Finds the cursor of the input inside a cursor of a branch, because operators in the branch may wrap the
   * cursors of their input.
   */
  inputCursorIn(cursor: unknown): InputCursorOf | undefined {
    if (typeof cursor !== 'object' || cursor === null || 'toJSON' in cursor) return undefined;
    const known = this.#cursors.get(cursor);
    if (known !== undefined) return known;
    for (const inner of Object.values(cursor)) {
      const found = this.inputCursorIn(inner);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Stops delivering the input to one branch. Closes the input if no branch is left. */
  leave(branch: number): void {
    const reader = this.#readers.get(branch);
    if (reader === undefined) return;
    this.#readers.delete(branch);
    reader.wakeUp.wake();
    this.check();
  }

  async close(): Promise<void> {
    this.#readers.clear();
    this.#batches = [];
    if (this.#ended) return;
    this.#ended = true;
    await this.#iterator.return?.();
  }

  tookAll(branch: number): boolean {
    return this.#atEnd.has(branch);
  }

  get lastTaken(): Cursor | undefined {
    return this.#lastTaken?.cursor;
  }

  /** Returns whether no other branch is behind this branch. Other branches may then have to wait for it. */
  isSlowest(branch: number): boolean {
    return this.#readers.get(branch)?.position === this.#slowest;
  }

  /** Lets the branches start to read. Until this call, they wait. */
  start(): void {
    this.#started = true;
    this.check();
  }

  /** Reads the next batch, if a branch waits for it and the slowest branch is not too far behind. */
  check(): void {
    this.#drop();
    if (this.#readers.size === 0) void this.close().catch(() => {});
    if (!this.#started || this.#reading || this.#ended) return;
    const head = this.#first + this.#batches.length;
    const wanted = [...this.#readers.values()].some(
      ({ position, isWaiting }) => isWaiting && position === head,
    );
    if (!wanted) return;
    if (head - this.#slowest < MAX_LEAD) void this.#readNext();
    else this.#onFull();
  }

  async *#read(
    branch: number,
    { signal, progress }: Run,
  ): AsyncGenerator<EngineBatch, void, undefined> {
    try {
      while (true) {
        const batch = await this.#next(branch, signal);
        if (batch === undefined) return;
        if (progress !== undefined) progress.received += countOf(batch);
        yield batch;
      }
    } finally {
      this.leave(branch);
    }
  }

  async #next(branch: number, signal: AbortSignal): Promise<EngineBatch | undefined> {
    while (true) {
      signal.throwIfAborted();
      const reader = this.#readers.get(branch);
      if (reader === undefined) return undefined;
      const next = this.#batches[reader.position - this.#first];
      if (next !== undefined) {
        reader.position++;
        const taken = this.inputCursorIn(next.cursor);
        if (taken !== undefined && taken.number > (this.#lastTaken?.number ?? 0))
          this.#lastTaken = taken;
        next.rows?.file.share();
        this.check();
        return next;
      }
      if (this.failure !== undefined) throw this.failure.error;
      if (this.#ended) {
        this.#atEnd.add(branch);
        return undefined;
      }
      const woken = reader.wakeUp.next();
      reader.isWaiting = true;
      this.check();
      await abortable(woken, signal);
      reader.isWaiting = false;
    }
  }

  async #readNext(): Promise<void> {
    this.#reading = true;
    try {
      const { done, value } = await this.#iterator.next();
      if (done === true) this.#ended = true;
      else if (!this.#ended) {
        const cursor = value.cursor && this.#inputCursor(value.cursor);
        const batch = value.rows === undefined ? { ...value, items: detached(value.items) } : value;
        this.#batches.push({ ...batch, cursor });
      }
    } catch (error) {
      if (!this.#ended) this.failure = { error };
      this.#ended = true;
    }
    this.#reading = false;
    for (const { wakeUp } of this.#readers.values()) wakeUp.wake();
  }

  #inputCursor(cursor: Cursor): InputCursor {
    const input: InputCursor = { tee: 'input' };
    this.#cursors.set(input, { number: ++this.#number, cursor });
    return input;
  }

  get #slowest(): number {
    return Math.min(...[...this.#readers.values()].map(({ position }) => position));
  }

  #drop(): void {
    const taken = Math.min(this.#slowest - this.#first, this.#batches.length);
    if (taken <= 0) return;
    for (const { rows } of this.#batches.slice(0, taken)) rows?.file.release();
    this.#batches = this.#batches.slice(taken);
    this.#first += taken;
  }
}

function cannotResume(): OptionError {
  return new OptionError(
    'resume',
    'A single branch of tee() cannot resume from a cursor: its sink must not have a checkpoint. Give tee() one, `tee(...branches, { checkpoint })`',
  );
}
