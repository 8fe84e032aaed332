import { availableParallelism } from 'node:os';
import type { RowEncoding } from './encode-rows.js';
import type { RecordColumn } from './record-columns.js';

const MAX_THREADS = 16;
/** For a smaller input, starting threads and optimising their code takes longer than they save. */
const MIN_INPUT_BYTES = 32 * 1024 * 1024;

/** What reads the rows of a plan, besides its steps. */
export interface PlanReader {
  /**
   * Maximum number of threads; they then decode any input. Of several readers, the lowest counts. Default: one a core, for
   * large inputs.
   */
  readonly workers?: number | undefined;
  /** Whether it only reads posts on the main thread. No threads start where all readers do. */
  readonly isHere?: boolean;
  /** The columns that it reads. */
  readonly columns?: readonly RecordColumn[] | undefined;
  /** How it encodes the rows, where it does. */
  readonly encoding?: RowEncoding | undefined;
}

/** How many threads a run may have, and from how many bytes of expected input on they start. */
export interface ChosenThreads {
  /** 0 for none. */
  readonly size: number;
  readonly minBytes: number;
}

export function chooseThreads(readers: readonly PlanReader[]): ChosenThreads {
  if (readers.every(({ isHere }) => isHere)) return { size: 0, minBytes: 0 };
  const wanted = readers.flatMap(({ workers }) => workers ?? []);
  if (wanted.length > 0) return { size: Math.min(...wanted), minBytes: 0 };
  return { size: Math.min(availableParallelism(), MAX_THREADS), minBytes: MIN_INPUT_BYTES };
}
