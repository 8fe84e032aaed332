import { errorWithOrigin } from '../base/errors.js';
import type { Batch, Cursor, FlowStep, Run } from '../flow/flow.js';
import type { RecordColumn } from './record-columns.js';
import { type EngineBatch, ItemColumns, ItemRows, type Rows } from './rows.js';

/**
 * A built-in stage after `activities`. It decides on the main thread, in order, which items pass: rows of a
 * decoded file, whose content stays on its thread, or items of another source. `stepOperator` (plan.ts)
 * creates an operator from it.
 */
export interface Step {
  /** The step as a checkpoint records it. */
  readonly identity?: FlowStep | undefined;
  /** The columns that `pass` reads. */
  readonly columns?: readonly RecordColumn[];
  /**
   * Whether it can be part of a plan. Must be false if a function of the caller gets the items.
   * @default true
   */
  readonly isPlanned?: boolean | undefined;
  /** Whether it replaces some items. No other reader may then share the file. */
  readonly replaces?: boolean | undefined;
  /** Whether its items differ from the records. No step that reads columns can then follow. */
  readonly routes?: boolean | undefined;
  /**
   * Called with items that do not come from a decoded file. @throws DataError for the first item of the wrong
   * kind
   */
  check?(batch: Batch<unknown>): void;
  /** Starts a run. `resume` is a cursor that `cursor` has returned. */
  start(run: Run): StepRun;
}

/** A step in a run. */
export interface StepRun {
  /** The cursor from which the input resumes. */
  readonly resume: Cursor | undefined;
  /** Returns the rows that the step lets pass. */
  pass(rows: Rows): Rows | Promise<Rows>;
  /** Adds the state of the step to a cursor of its input. */
  cursor?(inner: Cursor): Cursor;
  /** Whether no further item will pass. The source is then closed. */
  readonly isDone?: boolean;
}

export type Steps = readonly Step[];

/** A running step, with the check of its items. */
interface Started {
  readonly run: StepRun;
  readonly check: Step['check'];
}

/**
 * Passes posts through steps. Closes the input once one of the steps is done.
 *
 * @param open Opens the input at the cursor from which the first step resumes.
 */
export async function* throughSteps(
  steps: Steps,
  run: Run,
  open: (run: Run) => AsyncIterable<EngineBatch>,
): AsyncGenerator<EngineBatch, void, undefined> {
  let { resume } = run;
  // Starts the steps in reverse order, because each step unwraps the cursor for the step before it.
  const started = steps
    .toReversed()
    .map(step => {
      const begun = step.start({ ...run, resume });
      resume = begun.resume;
      return { run: begun, check: step.check };
    })
    .toReversed();
  const columns = new ItemColumns();
  const isDone = () => started.some(step => step.run.isDone);
  if (isDone()) return;
  let last: EngineBatch | undefined;
  for await (const batch of open({ ...run, resume })) {
    last = await applied(started, batch, columns);
    if (isDone()) break;
    yield last;
    last = undefined;
  }
  // The last batch is delivered after the input is closed, so that the source does not run while
  // the reader works on these items.
  if (last !== undefined) yield last;
}

async function applied(
  steps: readonly Started[],
  { rows: stored, items, cursor: before, origin }: EngineBatch,
  columns: ItemColumns,
): Promise<EngineBatch> {
  let rows: Rows = stored ?? new ItemRows(items, columns);
  try {
    for (const { check, run } of steps) {
      if (rows instanceof ItemRows) check?.({ items: rows.items, origin });
      const passed = run.pass(rows);
      // Awaits promises only if necessary, because for small batches the extra turn of the event
      // loop is measurable.
      rows = passed instanceof Promise ? await passed : passed;
    }
  } catch (error) {
    throw errorWithOrigin(origin, error);
  }
  const cursor = before && cursorAfter(steps, before);
  return rows instanceof ItemRows
    ? { items: rows.items, cursor, origin }
    : { rows, cursor, origin };
}

function cursorAfter(steps: readonly Started[], cursor: Cursor): Cursor {
  return steps.reduce((inner, { run }) => run.cursor?.(inner) ?? inner, cursor);
}
