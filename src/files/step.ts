import { errorWithOrigin } from '../base/errors.js';
import type { Batch, Cursor, FlowStep, Run } from '../flow/flow.js';
import type { RecordColumn } from './record-columns.js';
import { type EngineBatch, ItemColumns, ItemRows, type Rows } from './rows.js';

/**
 * A built-in stage after `activities`, such as `dedupe`. It decides which items pass, on the main thread and
 * in order. Its input is either rows of a decoded file or items of another source. The content of rows may
 * stay on another thread. `stepOperator` (plan.ts) creates an operator from a step.
 */
export interface Step {
  /** How a checkpoint records the step. */
  readonly identity?: FlowStep | undefined;
  readonly columns?: readonly RecordColumn[];
  /**
   * Whether the step can be part of a plan. Must be false if the step passes items to a function that the
   * caller supplied.
   * @default true
   */
  readonly isPlanned?: boolean | undefined;
  /**
   * Whether the step replaces items by changed copies. If so, other readers of the same file must not get the
   * copies.
   */
  readonly replaces?: boolean | undefined;
  /**
   * Whether the step changes the items, so that they differ from the records, as `routeByTag` does. No step
   * that reads columns can follow.
   */
  readonly routes?: boolean | undefined;
  /**
   * Checks items that do not come from a decoded file.
   *
   * @throws DataError for the first item of the wrong kind
   */
  check?(batch: Batch<unknown>): void;
  /**
   * Starts a run of the step. `run.resume` is a cursor that the step's method `cursor` has returned in an
   * earlier run.
   */
  start(run: Run): StepRun;
}

export interface StepRun {
  /** The cursor from which the input of the step resumes. */
  readonly resume: Cursor | undefined;
  pass(rows: Rows): Rows | Promise<Rows>;
  /** Adds the state of the step to a cursor of its input. */
  cursor?(inner: Cursor): Cursor;
  /** Whether no more items will pass the step. The source is then closed. */
  readonly isDone?: boolean;
}

export type Steps = readonly Step[];

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
  // Starts the last step first. Each step removes its own state from the cursor and gives the rest to the
  // step before it.
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
  // Delivers the last batch only after the input is closed. Otherwise the source would continue to
  // run while the reader works on this batch.
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
      // Awaits only if `pass` returned a promise. For small batches, the extra turn of the event loop is
      // measurable.
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
