import { errorWithOrigin } from '../base/errors.js';
import type { Batch, Cursor, FlowStep, Run } from '../flow/flow.js';
import type { RecordColumn } from './record-columns.js';
import { type EngineBatch, ItemColumns, ItemRows, type Rows } from './rows.js';

/**
 * A built-in stage after `activities`, which decides on the main thread, in order, what passes: of the rows of a decoded
 * file, whose content stays with its thread, or of items that come from elsewhere. `stepOperator` (plan.ts) makes an
 * operator of it.
 */
export interface Step {
  /** What a checkpoint records. */
  readonly identity?: FlowStep | undefined;
  /** The columns that `pass` reads. */
  readonly columns?: readonly RecordColumn[];
  /**
   * Whether it can be part of a plan; not if a function of the caller sees the items.
   * @default true
   */
  readonly isPlanned?: boolean | undefined;
  /** Whether it replaces some items: then it has the file for itself. */
  readonly replaces?: boolean | undefined;
  /** Whether its items differ from the records, so that no step that reads columns can follow. */
  readonly routes?: boolean | undefined;
  /** Called with items that come from elsewhere than a decoded file. @throws DataError for the first that is a wrong one */
  check?(batch: Batch<unknown>): void;
  /** Begins a run. `resume` is a cursor that `cursor` has made. */
  start(run: Run): StepRun;
}

/** A step in a run. */
export interface StepRun {
  /** The cursor at which to resume the input. */
  readonly resume: Cursor | undefined;
  /** Returns the rows that pass. */
  pass(rows: Rows): Rows | Promise<Rows>;
  /** Adds the state of the step to a cursor of its input. */
  cursor?(inner: Cursor): Cursor;
  /** Whether nothing more will pass: the source is closed. */
  readonly isDone?: boolean;
}

export type Steps = readonly Step[];

/** A step in a run, and what checks its items. */
interface Started {
  readonly run: StepRun;
  readonly check: Step['check'];
}

/**
 * Passes posts through steps, and closes the input once one of them is done.
 *
 * @param open Opens the input at the cursor from which the first step resumes.
 */
export async function* throughSteps(
  steps: Steps,
  run: Run,
  open: (run: Run) => AsyncIterable<EngineBatch>,
): AsyncGenerator<EngineBatch, void, undefined> {
  let { resume } = run;
  // The last first, as each finds the cursor of the one before it.
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
  // The input is closed before the reader gets to work on the last items.
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
      // Not awaited if it need not be: each turn of a promise is measurable for small batches.
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
