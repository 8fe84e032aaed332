import type { Cursor, FlowStep, Run } from '../flow/flow.js';
import { errorWithOrigin, withOrigin } from '../flow/with-origin.js';
import type { RecordColumn } from './record-columns.js';
import type { EngineBatch, Rows } from './rows.js';

/**
 * A built-in stage after `activities`, which decides on the main thread, in order, what passes: to items, or to the rows of a
 * decoded file, whose content stays with its thread. `stepOperator` (planned.ts) makes an operator of it.
 */
export interface Step<In, Out> {
  /** What a checkpoint records. */
  readonly identity?: FlowStep | undefined;
  /** The columns that `rows` reads. */
  readonly columns?: readonly RecordColumn[];
  /**
   * Whether it can be part of a plan; not if a function of the caller sees the items.
   * @default true
   */
  readonly isPlanned?: boolean | undefined;
  /** Whether it replaces some items: then it has the file for itself. */
  readonly replaces?: boolean | undefined;
  /** Whether its items are no longer the records: a step that reads columns cannot follow. */
  readonly routes?: boolean | undefined;
  /** Begins a run. `resume` is a cursor that `cursor` has made. */
  start(run: Run): StepRun<In, Out>;
}

/** A step in a run. `items` and `rows` do the same. */
export interface StepRun<In, Out> {
  /** The cursor of the input to go on from. */
  readonly resume: Cursor | undefined;
  items(items: readonly In[], origin: string | undefined): readonly Out[];
  rows(rows: Rows): Rows | Promise<Rows>;
  /** Adds the state of the step to a cursor of its input. */
  cursor?(inner: Cursor): Cursor;
  /** Whether nothing more will pass: the source is closed. */
  readonly isDone?: boolean;
}

/** Steps whatever their items are: those of one are what the next gets. */
export type Steps = readonly Step<never, unknown>[];

type Started = StepRun<unknown, unknown>;

/**
 * Passes posts through steps, and closes the input once one of them is done.
 *
 * @param open Begins to read the input at the cursor that the first step goes on from.
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
      const one = step.start({ ...run, resume }) as Started;
      resume = one.resume;
      return one;
    })
    .toReversed();
  const isDone = () => started.some(step => step.isDone);
  if (isDone()) return;
  let last: EngineBatch | undefined;
  for await (const batch of open({ ...run, resume })) {
    last = await applied(started, batch);
    if (isDone()) break;
    yield last;
    last = undefined;
  }
  // The input is closed before the reader gets to work on the last items.
  if (last !== undefined) yield last;
}

async function applied(steps: readonly Started[], batch: EngineBatch): Promise<EngineBatch> {
  const { origin } = batch;
  if (batch.rows !== undefined) {
    let { rows } = batch;
    try {
      for (const step of steps) rows = await step.rows(rows);
    } catch (error) {
      throw errorWithOrigin(origin, error);
    }
    return { rows, cursor: batch.cursor && cursorAfter(steps, batch.cursor), origin };
  }
  const items = withOrigin(origin, () =>
    steps.reduce((some, step) => step.items(some, origin), batch.items),
  );
  return { items, cursor: batch.cursor && cursorAfter(steps, batch.cursor), origin };
}

function cursorAfter(steps: readonly Started[], cursor: Cursor): Cursor {
  return steps.reduce((inner, step) => step.cursor?.(inner) ?? inner, cursor);
}
