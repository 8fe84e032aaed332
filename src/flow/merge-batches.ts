import { cursorError } from '../base/check.js';
import { WakeUp } from '../base/wait.js';
import type { Cursor, Run } from './flow.js';
import { ProgressParts } from './progress.js';

/** One delivery of a source: a batch of items, or a whole file, for which `items` is absent. */
export interface SourcePart {
  readonly cursor?: Cursor | undefined;
  readonly items?: readonly unknown[];
}

export type OpenSource<Part extends SourcePart> = (pull: Run) => AsyncIterable<Part>;

/**
 * After this many batches without a cursor from one source, the other sources stop waiting for its next
 * cursor.
 */
const MAX_SEGMENT = 256;
/**
 * How long, in milliseconds, the other sources wait for the next cursor of a source that has no batch ready.
 */
const MAX_WAIT_MS = 50;
/** The number of batches after which the event loop gets a turn, so that waiting sources can continue. */
const BATCHES_PER_TURN = 16;

/**
 * The position at which a later run continues a source: a cursor, or `null` for the start. A source that is
 * `done` is not read again. An incremental source is never `done`.
 */
type Stand = Cursor | 'done' | null;

/**
 * Yields the batches or whole files of several sources as they arrive.
 *
 * @param end Creates a batch without items. It delivers the cursor after a source has ended.
 * @param incremental For each source, whether the next run continues where this run ends. By default, false
 *   for all sources.
 */
export async function* mergeBatches<Batch extends SourcePart>(
  sources: readonly OpenSource<Batch>[],
  run: Run,
  end: (cursor: Cursor) => Batch,
  incremental: readonly boolean[] = [],
): AsyncGenerator<Batch, void, undefined> {
  const progress = new ProgressParts(run.progress, sources.length);
  const parts = standsOf(run.resume, sources.length).map((stand, index) => {
    const resume = stand === null || stand === 'done' ? undefined : stand;
    const pull = { ...run, resume, progress: progress.of(index) };
    if (stand === 'done') progress.done(index);
    return new Part(stand, sources[index]!(pull), incremental[index]);
  });
  const turns = new Turns(parts);
  try {
    for (const part of parts) turns.read(part);
    while (true) {
      const part = await turns.next();
      if (part === undefined) return;
      const batch = part.take();
      if (batch === undefined) progress.done(parts.indexOf(part));
      else turns.read(part);
      const cursor = part.isBetween ? undefined : cursorOf(parts);
      if (batch === undefined) {
        if (cursor !== undefined) yield end(cursor);
      } else yield { ...batch, cursor: batch.cursor && cursor };
    }
  } finally {
    await Promise.allSettled(parts.map(part => part.close()));
  }
}

/** One of the merged sources. Its next batch is read ahead. */
class Part<Batch extends SourcePart> {
  /** The position at which a later run continues this source. Out of date while `isBetween` is true. */
  stand: Stand;
  isDone: boolean;
  readonly #incremental: boolean;
  /** Whether the source has delivered items since its last cursor. */
  isBetween = false;
  /** Whether the other sources have stopped waiting for the next cursor of this source. */
  isLate = false;
  isReady = false;
  error: { readonly cause: unknown } | undefined;
  readonly #iterator: AsyncIterator<Batch>;
  #next: Batch | undefined;
  #segment = 0;
  #isBytes = false;

  constructor(stand: Stand, batches: AsyncIterable<Batch>, incremental = false) {
    this.stand = stand;
    this.isDone = stand === 'done';
    this.#incremental = incremental;
    this.#iterator = batches[Symbol.asyncIterator]();
  }

  get goesFirst(): boolean {
    return this.isBetween && !this.isLate;
  }

  /** Reads the next batch. Never rejects: if reading fails, `take` throws the error. */
  async read(): Promise<void> {
    try {
      const { done, value } = await this.#iterator.next();
      this.#next = done === true ? undefined : value;
    } catch (cause) {
      this.error = { cause };
    }
    this.isReady = true;
  }

  take(): Batch | undefined {
    if (this.error !== undefined) throw this.error.cause;
    const batch = this.#next;
    this.#next = undefined;
    this.isReady = false;
    if (batch === undefined) {
      this.isDone = true;
      if (!this.#incremental) this.#standAt('done');
    } else if (batch.cursor !== undefined) this.#standAt(batch.cursor);
    else if (batch.items !== undefined && batch.items.length > 0) {
      this.isBetween = true;
      this.#isBytes = batch.items[0] instanceof Uint8Array;
      if (++this.#segment >= MAX_SEGMENT) this.giveUp();
    }
    return batch;
  }

  giveUp(): void {
    // A source of bytes is never late: the other sources always wait for its next cursor. Otherwise, parts of
    // different documents would be mixed.
    this.isLate = !this.#isBytes;
  }

  async close(): Promise<void> {
    await this.#iterator.return?.();
  }

  #standAt(stand: Stand): void {
    this.stand = stand;
    this.isBetween = false;
    this.isLate = false;
    this.#segment = 0;
  }
}

/**
 * Decides which source delivers the next batch. A failed source comes first. If some sources have
 * `goesFirst`, because the other sources wait for their next cursor, only such a source can be next.
 * Otherwise, the source that was ready first is next.
 */
class Turns<Batch extends SourcePart> {
  readonly #parts: readonly Part<Batch>[];
  /** Ready sources, in the order in which they became ready. */
  readonly #ready: Part<Batch>[] = [];
  readonly #wakeUp = new WakeUp();
  #unbroken = 0;

  constructor(parts: readonly Part<Batch>[]) {
    this.#parts = parts;
  }

  read(part: Part<Batch>): void {
    if (part.isDone) return;
    part.read().then(() => {
      this.#ready.push(part);
      this.#wakeUp.wake();
    });
  }

  /**
   * Returns the next source that has a batch or an error or has ended. Returns `undefined` when all sources
   * are complete.
   */
  async next(): Promise<Part<Batch> | undefined> {
    if (++this.#unbroken % BATCHES_PER_TURN === 0) await new Promise(setImmediate);
    let patience: NodeJS.Timeout | undefined;
    try {
      while (true) {
        const picked = this.#pick();
        if (picked !== undefined) return this.#ready.splice(this.#ready.indexOf(picked), 1)[0];
        if (this.#parts.every(({ isDone }) => isDone)) return undefined;
        if (this.#ready.length > 0) patience ??= setTimeout(() => this.#giveUp(), MAX_WAIT_MS);
        await this.#wakeUp.next();
      }
    } finally {
      clearTimeout(patience);
    }
  }

  #pick(): Part<Batch> | undefined {
    const failed = this.#ready.find(({ error }) => error !== undefined);
    if (failed !== undefined) return failed;
    const first = this.#parts.filter(({ goesFirst }) => goesFirst);
    return this.#ready.find(part => first.length === 0 || first.includes(part));
  }

  #giveUp(): void {
    for (const part of this.#parts) if (part.goesFirst && !part.isReady) part.giveUp();
    this.#wakeUp.wake();
  }
}

function cursorOf(parts: readonly Part<SourcePart>[]): Cursor | undefined {
  if (parts.some(({ isBetween }) => isBetween)) return undefined;
  return { merge: parts.map(({ stand }) => stand) };
}

function standsOf(resume: Cursor | undefined, count: number): Stand[] {
  if (resume === undefined) return Array.from({ length: count }, () => null);
  const { merge } = resume;
  const isStand = (stand: unknown) => stand === 'done' || typeof stand === 'object';
  if (!Array.isArray(merge) || merge.length !== count || !merge.every(isStand))
    throw cursorError(`is not one of merge() with these ${count} sources`);
  return merge as Stand[];
}
