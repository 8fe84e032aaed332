import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Random } from './random.js';

/** What a cell expects to happen: every trial of it checks that. */
export type Expectation =
  /** All is there in the end, each item once, without help. */
  | 'recovers'
  /** The same, after a wait for a limit, a silent connection or a time to come. */
  | 'waits'
  /** A typed error. What is committed is exact, and the same run once the fault is gone completes it. */
  | 'error'
  /** The minutes that the service cannot deliver are named, all of them and no others; all other items are there. */
  | 'gap'
  /** What the part's own `why` says. */
  | 'holds'
  /** The cell makes no sense, `why` says why. It has no trials. */
  | 'none';

/** One square of a part's table: a pipeline under a fault, a parser, a disk call. */
export interface Cell {
  /** Unique in its part: `search/reset`. `--cell` selects it. */
  readonly name: string;
  readonly expects: Expectation;
  /** What `holds` means, or why there is nothing to try. */
  readonly why?: string | undefined;
  /** Seeds of a whole run, where they differ from the part's. */
  readonly seeds?: number | undefined;
  /** Milliseconds after which a trial counts as a hang. @default 600,000 */
  readonly limitMs?: number | undefined;
}

/** One file of `npm run faults`. */
export interface Part {
  /** The word of the command line. */
  readonly name: string;
  readonly title: string;
  /** What is promised to a user, in a sentence or two. */
  readonly promise: string;
  readonly cells: readonly Cell[];
  /** Seeds of each cell in a whole run. @default 50 */
  readonly seeds?: number | undefined;
  /** Starts what all cells share, such as a service. */
  open(setting: Setting): Promise<OpenPart> | OpenPart;
  /** The results, if the part records them itself. @default the last result of each cell */
  results?(): readonly RecordedCell[];
  /** What the summary adds to the number of failures, where that alone misleads. */
  aboutFailures?(): string;
  /** The Markdown of its results, where a table with a row for each cell is not good enough. */
  render?(results: readonly CellResult[]): string;
}

/** What a part gets before its first cell. */
export interface Setting {
  /**
   * The folder of the compiled library, a file for each source, with a slash at its end; or of another one. Load it by
   * `loadLibrary(setting)`, never by a static import: only then `--library` reaches the cell.
   */
  readonly library: URL;
  /** Scratch folder, removed at the end. */
  readonly folder: string;
}

export interface OpenPart {
  /** Tries one cell; usually `trials.each(...)`. */
  run(cell: Cell, trials: Trials): Promise<void>;
  close?(): Promise<void>;
}

/**
 * What a trial counted, summed by name. `hits` counts faults that took effect: a cell without any fails. `committed`
 * counts items that a killed run had committed: several trials without any show no resuming, and fail.
 */
export type Counts = Readonly<Record<string, number>>;

export interface Trials {
  /** The seeds of this run. */
  readonly seeds: readonly number[];
  /** Runs a trial for every seed, one after the other. */
  each(attempt: (trial: Trial) => Promise<Counts>): Promise<void>;
}

export interface Trial {
  readonly seed: number;
  /** Depends only on the cell's name and the seed. */
  readonly random: Random;
  /** An empty folder of this trial, removed after it. */
  readonly folder: string;
  /** Aborted when the trial takes too long. */
  readonly signal: AbortSignal;
  /** Keeps what a run took over time with the result of the cell; later trials replace it. */
  keep(curves: Curves): void;
}

/** Values at equal parts of a run, by what they measure. */
export type Curves = Readonly<Record<string, readonly number[]>>;

/** The result of one cell. */
export interface CellResult {
  readonly cell: string;
  readonly expects: Expectation;
  readonly why?: string | undefined;
  readonly trials: number;
  readonly failures: readonly { readonly seed: number; readonly message: string }[];
  readonly counts: Counts;
  readonly curves?: Curves | undefined;
  readonly seconds: number;
  /** Where the result is so old that it says little: `63 commits ago`. Not recorded. */
  readonly stale?: string | undefined;
}

/** The last result of a cell, and where it comes from. */
export interface RecordedCell extends CellResult {
  /** `2026-11-22`. */
  readonly day: string;
  readonly machine: string;
  /** That of its last trials; older results have none. */
  readonly commit?: string | undefined;
}

/** The name of a cell of a pipeline under a fault, as `--cell` takes it: `search/kill-9-at-random`. */
export function cellName(row: string, fault: string): string {
  return `${row}/${fault}`.replaceAll(/,? -?/g, '-');
}

/**
 * A trial without the fault shows nothing: it is made again where the fault can miss, and fails where it cannot.
 *
 * @param draws How often a trial is made until its fault takes effect.
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
