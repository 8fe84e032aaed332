import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Random } from './random.js';

/** The required outcome of a cell, such as a pipeline under a fault. Every trial checks it. */
export type Expectation =
  /** The run completes without help and outputs every item once. */
  | 'recovers'
  /** Like `recovers`, but the run waits for a rate limit, a silent connection or a later time. */
  | 'waits'
  /**
   * The run ends with a typed error. The committed items are exact, and when the fault is gone, the
   * next run completes.
   */
  | 'error'
  /**
   * Gaps report exactly the minutes that the service cannot deliver. All other items are output.
   */
  | 'gap'
  /** `why` states what the cell promises. */
  | 'holds'
  /** The combination makes no sense, as `why` explains, and has no trials. */
  | 'none';

/**
 * One case that a part of `npm run faults` tries. Depending on the part, it is a pipeline together
 * with a fault, a parser, or a disk call.
 */
export interface Cell {
  /** A name that is unique in its part, such as `search/reset`. `--cell` selects it. */
  readonly name: string;
  readonly expects: Expectation;
  /** The meaning of `holds` in this cell, or the reason why there is nothing to try. */
  readonly why?: string | undefined;
  /** The number of seeds in a complete run. @default the number of the part */
  readonly seeds?: number | undefined;
  /** The time in milliseconds after which a trial counts as hanging. @default 600,000 */
  readonly limitMs?: number | undefined;
}

export interface Part {
  readonly name: string;
  readonly title: string;
  /** The promise to users, in one or two sentences. */
  readonly promise: string;
  readonly cells: readonly Cell[];
  /** The number of seeds for each cell in a complete run. @default 50 */
  readonly seeds?: number | undefined;
  open(setting: Setting): Promise<OpenPart> | OpenPart;
  /** Returns the results, if the part records them itself. @default the last result of each cell */
  results?(): readonly RecordedCell[];
  /**
   * Returns a text that the summary adds to the number of failures, if that number alone is
   * misleading.
   */
  aboutFailures?(): string;
  /** Renders the results as Markdown. By default, a table with a row per cell. */
  render?(results: readonly CellResult[]): string;
}

export interface Setting {
  /**
   * The URL of the folder of the compiled library, or of another library, ending in a slash. A part
   * must load it with `loadLibrary(setting)` and never with a static import, so that `--library`
   * has an effect.
   */
  readonly library: URL;
  readonly folder: string;
}

export interface OpenPart {
  run(cell: Cell, trials: Trials): Promise<void>;
  close?(): Promise<void>;
}

/**
 * The counts of a trial, which are summed by name over all trials. `hits` is the number of faults
 * that took effect. A cell without any hit fails. `committed` is the number of items that a killed
 * run had committed. If it is 0 in several trials, the cell fails, because its trials do not show
 * that a run resumes.
 */
export type Counts = Readonly<Record<string, number>>;

export interface Trials {
  readonly seeds: readonly number[];
  each(attempt: (trial: Trial) => Promise<Counts>): Promise<void>;
}

export interface Trial {
  readonly seed: number;
  /** A generator whose numbers depend only on the name of the cell and the seed. */
  readonly random: Random;
  /** An empty folder. It is removed after the trial. */
  readonly folder: string;
  readonly signal: AbortSignal;
  /** Stores curves of measured values with the result. A later trial replaces them. */
  keep(curves: Curves): void;
}

/** Values at equal intervals of a run, by the name of what they measure. */
export type Curves = Readonly<Record<string, readonly number[]>>;

export interface CellResult {
  readonly cell: string;
  readonly expects: Expectation;
  readonly why?: string | undefined;
  readonly trials: number;
  readonly failures: readonly { readonly seed: number; readonly message: string }[];
  readonly counts: Counts;
  readonly curves?: Curves | undefined;
  readonly seconds: number;
  /**
   * The age of the result, such as `63 commits ago`, if it is too old to say much. This text is not
   * recorded.
   */
  readonly stale?: string | undefined;
}

export interface RecordedCell extends CellResult {
  /** The day, such as `2026-11-22`. */
  readonly day: string;
  readonly machine: string;
  /** The commit of the last trials. Old results have none. */
  readonly commit?: string | undefined;
}

/**
 * Returns the name of a pipeline's cell, such as `search/kill-9-at-random`, as `--cell` takes it.
 */
export function cellName(row: string, fault: string): string {
  return `${row}/${fault}`.replaceAll(/,? -?/g, '-');
}

/**
 * Repeats a trial until its fault takes effect, because otherwise the trial shows nothing. Fails
 * after `draws` attempts.
 * @param draws The maximum number of attempts per trial.
 */
export function eachWithHit(
  trials: Trials,
  draws: number,
  attempt: (trial: Trial) => Promise<Counts>,
): Promise<void> {
  return trials.each(async trial => {
    for (let draw = 1; draw <= draws; draw++) {
      const folder = path.join(trial.folder, String(draw));
      await mkdir(folder);
      const counts = await attempt({ ...trial, folder });
      if ((counts.hits ?? 0) > 0) return counts;
    }
    throw new Error('The fault never took effect, so the trial shows nothing');
  });
}
