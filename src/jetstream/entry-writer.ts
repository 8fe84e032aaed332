import { publish } from '../base/diagnostics.js';
import type { Cursor } from '../flow/flow.js';
import type { PublisherEntry, PublisherState } from './publisher-entry.js';

/** How often a publisher that commits nothing shows that it is alive. */
const HEARTBEAT_MS = 1_000;

export interface EntryWriterOptions {
  /** The minimum time between two commits. */
  readonly commitIntervalMs: number;
  /**
   * Called at a commit. Resolves once the servers have acknowledged all items before the cursor, to what is written
   * with the cursor.
   */
  readonly acknowledged: () => Promise<Partial<PublisherState>>;
  /** Called with the error of a commit or of a sign of life. */
  readonly onFailure: (error: unknown) => void;
}

/** Writes the entry of a publisher during the run: commits of the cursor, and signs of life while there are none. */
export class EntryWriter {
  readonly #entry: PublisherEntry;
  readonly #options: EntryWriterOptions;
  /** The cursor after all items up to now; `undefined` where the flow cannot go on after the last item. */
  #cursor: Cursor | undefined;
  #committing: Promise<void> | undefined;
  #isShowingLife = false;
  #lastCommit = performance.now();
  #lastWrite = performance.now();
  #timer: NodeJS.Timeout | undefined;

  constructor(entry: PublisherEntry, options: EntryWriterOptions) {
    this.#entry = entry;
    this.#options = options;
  }

  start(): void {
    const everyMs = Math.max(10, Math.min(this.#options.commitIntervalMs, HEARTBEAT_MS));
    this.#timer = setInterval(() => this.#tick(), everyMs);
  }

  /** The flow can go on at this cursor, which is committed when a commit is due. */
  reached(cursor: Cursor): void {
    this.#cursor = cursor;
    if (this.#isDue) this.#commit(cursor);
  }

  /** The flow has delivered items after the cursor: it is not committed. */
  passed(): void {
    this.#cursor = undefined;
  }

  /** Writes no more signs of life, and begins no more commits by itself. */
  stop(): void {
    clearInterval(this.#timer);
  }

  /** Stops, and waits for the commit that is under way. */
  async end(): Promise<void> {
    this.stop();
    await this.#committing;
  }

  #tick(): void {
    if (this.#isDue && this.#cursor !== undefined) this.#commit(this.#cursor);
    // Signs of life are also written while a commit waits for acknowledgements: where the stream is full, it waits for minutes.
    else if (!this.#isShowingLife && performance.now() - this.#lastWrite >= HEARTBEAT_MS)
      void this.#showLife();
  }

  async #showLife(): Promise<void> {
    this.#isShowingLife = true;
    await this.#write().catch(this.#options.onFailure);
    this.#isShowingLife = false;
  }

  get #isDue(): boolean {
    const since = performance.now() - this.#lastCommit;
    return this.#committing === undefined && since >= this.#options.commitIntervalMs;
  }

  /** Commits the cursor once all items before it are acknowledged; meanwhile, the publisher sends more. */
  #commit(cursor: Cursor): void {
    this.#cursor = undefined;
    const started = performance.now();
    this.#lastCommit = started;
    const commit = async () => {
      const state = await this.#options.acknowledged();
      await this.#write({ ...state, cursor: JSON.parse(JSON.stringify(cursor)) as Cursor });
      const durationMs = performance.now() - started;
      publish('commit', () => ({ checkpoint: this.#entry.key, durationMs }));
    };
    this.#committing = commit()
      .catch(this.#options.onFailure)
      .finally(() => {
        this.#committing = undefined;
      });
  }

  #write(changes?: Partial<PublisherState>): Promise<void> {
    this.#lastWrite = performance.now();
    return this.#entry.write(changes);
  }
}
