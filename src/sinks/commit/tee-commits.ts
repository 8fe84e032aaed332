import { abortable } from '../../base/abortable.js';
import type { Cursor } from '../../flow/flow.js';
import type { Committer } from './committer.js';
import type { InputCursorOf, TeeInput } from './tee-input.js';

/** Recorded instead of a cursor for a branch that has stopped before the end of its input. */
export const ENDED = 'ended';

/** How long a branch waits for other branches if none of them makes progress, in milliseconds. */
const STUCK_MS = 200;
/** The time between abandoning a commit and trying to commit again, in milliseconds. */
const PAUSE_MS = 10 * STUCK_MS;

interface BranchState {
  reached: Cursor | undefined;
  /** Set while the branch waits: the cursor at which it waits, and the function that lets it continue. */
  waiting: { readonly cursor: Cursor; readonly go: () => void } | undefined;
  ended: boolean;
  /**
   * The end of the branch:
   * - a cursor if no item came after it;
   * - `null` if the branch had no items and no cursors;
   * - `ENDED` if the branch has stopped before the end of its input;
   * - `undefined` if items came after the last cursor, or if the branch has not ended yet.
   */
  end?: Cursor | typeof ENDED | null | undefined;
}

/**
 * Commits several branches together, at a cursor of the input at which all branches have processed exactly
 * the same items. When a commit is due, a branch that reaches the next cursor waits there for the other
 * branches. A branch may skip this cursor if one of its operators holds items back or drops cursors. All
 * branches then wait at the next cursor of this branch instead.
 */
export class TeeCommits {
  readonly #committer: Committer;
  readonly #feed: TeeInput;
  readonly #signal: AbortSignal;
  readonly #branches: readonly BranchState[];
  /** The cursor of the input that all branches must reach for the commit. */
  #target: InputCursorOf | undefined;
  #stuck: NodeJS.Timeout | undefined;
  #notBefore = 0;
  #isSpent = false;

  constructor(
    committer: Committer,
    feed: TeeInput,
    { signal, ended }: { readonly signal: AbortSignal; readonly ended: readonly boolean[] },
  ) {
    this.#committer = committer;
    this.#feed = feed;
    this.#signal = signal;
    this.#branches = ended.map(ended => ({
      reached: undefined,
      waiting: undefined,
      ended,
      end: ended ? ENDED : undefined,
    }));
  }

  /**
   * Called with each cursor that the sink of a branch has reached. The branch continues when the returned
   * promise resolves.
   */
  async reached(index: number, cursor: Cursor): Promise<void> {
    const branch = this.#branches[index] as BranchState;
    branch.reached = cursor;
    // Restarts the timeout that `full` has set, because this branch makes progress.
    this.#stuck?.refresh();
    if (this.#target === undefined) {
      if (performance.now() < this.#notBefore || !(await this.#committer.due())) return;
    }
    if (this.#isSpent) return;
    const input = this.#feed.inputCursorIn(cursor);
    if (input === undefined) return;
    if (this.#target === undefined) {
      if (this.#active.some(other => this.#numberOf(other) > input.number)) return;
      this.#target = input;
    }
    if (input.number < this.#target.number) return;
    if (input.number > this.#target.number) {
      this.#release();
      this.#target = input;
    }
    const waits = new Promise<void>(go => {
      branch.waiting = { cursor, go };
    });
    await this.#commitIfAll();
    this.#feed.check();
    await abortable(waits, this.#signal);
  }

  /**
   * Called when a branch has written all of its items.
   *
   * @param end The cursor after these items, if there is one.
   */
  async ended(index: number, end: Cursor | null | undefined): Promise<void> {
    const branch = this.#branches[index] as BranchState;
    branch.ended = true;
    branch.end = this.#feed.tookAll(index) ? end : ENDED;
    await this.#commitIfAll();
  }

  /**
   * Called for each branch if the source has spent its budget. The branch has then written all items before
   * `cursor`. The branches commit once all of them have ended.
   */
  spent(index: number, cursor: Cursor): void {
    (this.#branches[index] as BranchState).end = cursor;
    this.#isSpent = true;
    this.#target = undefined;
    this.#release();
  }

  /**
   * Called while a branch needs more input, but must wait for the slowest branch. If the slowest branch waits
   * for a commit, the commit is abandoned after `STUCK_MS`, unless a branch reaches a cursor before that.
   */
  full(): void {
    const isWaited = this.#branches.some(
      ({ waiting }, index) => waiting !== undefined && this.#feed.isSlowest(index),
    );
    if (!isWaited) return;
    // Abandons the commit if no branch reaches a cursor for a while. A branch whose operators hold items back
    // needs more input to reach its next cursor, and would otherwise wait forever.
    this.#stuck ??= setTimeout(() => {
      this.#target = undefined;
      this.#notBefore = performance.now() + PAUSE_MS;
      this.#release();
    }, STUCK_MS);
  }

  /**
   * Returns the cursor after the items of all branches. Called once all branches have ended. Returns
   * `undefined` if the branches did not end at the same cursor of the input, and `null` if there is no
   * cursor.
   *
   * @param before The cursor that the run started from.
   */
  end(before: Cursor | undefined): Cursor | null | undefined {
    const ends = this.#branches.map(({ end }) => end);
    const inputs = ends.map(end => (end === ENDED ? ENDED : this.#feed.inputCursorIn(end)));
    const reading = inputs.filter(input => input !== ENDED);
    const [first] = reading;
    // All committing branches have ended early, but other branches have read further. The next run continues
    // after the items that those branches have read.
    if (reading.length === 0 && this.#feed.lastTaken !== undefined)
      return { tee: ends as readonly Cursor[], inner: this.#feed.lastTaken };
    // No branch has reached a cursor of the input, so the next run starts where this run started.
    if (this.#branches.every(({ reached, end }) => reached === undefined && end !== undefined))
      return before ?? null;
    if (reading.some(input => input === undefined || input.number !== first?.number))
      return undefined;
    // `cursorsOf` in tee-run.ts reads cursors of this form.
    return { tee: ends as readonly Cursor[], inner: first?.cursor ?? null };
  }

  close(): void {
    clearTimeout(this.#stuck);
    this.#stuck = undefined;
  }

  get #active(): readonly BranchState[] {
    return this.#branches.filter(({ ended }) => !ended);
  }

  #numberOf({ reached }: BranchState): number {
    return this.#feed.inputCursorIn(reached)?.number ?? 0;
  }

  async #commitIfAll(): Promise<void> {
    const target = this.#target;
    const active = this.#active;
    if (target === undefined || active.length === 0) return;
    if (active.some(({ waiting }) => waiting === undefined)) return;
    // A branch may have opened new files since the commit became due. The commit may then no longer be due.
    const due = await this.#committer.due();
    if (this.#target !== target) return;
    if (!due) {
      this.#target = undefined;
      this.#release();
      return;
    }
    const cursors = this.#branches.map(({ waiting }) => waiting?.cursor ?? ENDED);
    this.#target = undefined;
    await this.#committer.commit({ tee: cursors, inner: target.cursor });
    this.#release();
  }

  #release(): void {
    this.close();
    for (const branch of this.#branches) {
      branch.waiting?.go();
      branch.waiting = undefined;
    }
  }
}
