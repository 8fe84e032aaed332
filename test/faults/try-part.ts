import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Cell, CellResult, Counts, Curves, OpenPart, Part, Trial } from './part.js';
import { Random } from './random.js';

export interface TryOptions {
  /** The URL of the compiled library's folder, ending in a slash. */
  readonly library: URL;
  /** The cells to try. Cells that expect `none` have no trials. */
  readonly cells: readonly Cell[];
  /** The number of seeds per cell. @default the number of the cell, of the part, or 50 */
  readonly seeds?: number | undefined;
  readonly firstSeed?: number | undefined;
  /**
   * Returns an earlier result of a cell. The run continues from it, and does not try its seeds
   * again.
   */
  readonly doneOf?: ((cell: Cell) => CellResult | undefined) | undefined;
  /** No further trial starts after this time of `performance.now()`. */
  readonly endAt?: number | undefined;
  readonly onFailure?: ((cell: Cell, seed: number, message: string) => void) | undefined;
  readonly onCell?: ((result: CellResult) => void | Promise<void>) | undefined;
}

/**
 * This limit only detects hangs. Even on a busy machine, a trial that normally takes one second
 * must pass.
 */
const LIMIT_MS = 600_000;
/** A cell stops after this many failures, because a broken cell fails with every seed. */
const MAX_FAILURES = 5;
/**
 * In fewer trials than this, all runs may be killed before their first commit. Therefore, only a
 * cell with at least this many trials fails if it has no commit.
 */
const MIN_TRIALS_WITH_COMMIT = 5;

export function seedsOf(part: Part, cell: Cell): number {
  return cell.seeds ?? part.seeds ?? 50;
}

export async function tryPart(part: Part, options: TryOptions): Promise<CellResult[]> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'millrace-faults-'));
  const strays = new Strays();
  try {
    let open: OpenPart | undefined;
    const results: CellResult[] = [];
    try {
      for (const cell of options.cells) {
        if (isOver(options)) break;
        if (cell.expects !== 'none') open ??= await part.open({ library: options.library, folder });
        const result = await tryCell(part, cell, open, { ...options, folder, strays });
        results.push(result);
        await options.onCell?.(result);
      }
    } finally {
      await open?.close?.();
    }
    return results;
  } finally {
    strays.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function tryCell(
  part: Part,
  cell: Cell,
  open: OpenPart | undefined,
  { folder, strays, ...options }: TryOptions & { folder: string; strays: Strays },
): Promise<CellResult> {
  const { firstSeed = 1 } = options;
  const done = options.doneOf?.(cell);
  let trials = done?.trials ?? 0;
  const seeds = Array.from(
    { length: options.seeds ?? seedsOf(part, cell) },
    (_, index) => firstSeed + index,
  ).slice(trials);
  const failures: { seed: number; message: string }[] = [];
  const fail = (seed: number, error: unknown) => {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    // Removes stack frames of this file, because they do not help to find the cause.
    const message = text.replace(
      /\n\s+at (?:async )?(?:tryOnce|Object\.|tryCell|tryPart|file:)[\s\S]*$/,
      '',
    );
    failures.push({ seed, message });
    options.onFailure?.(cell, seed, message);
  };
  const counts: Record<string, number> = { ...done?.counts };
  let curves = done?.curves;
  const keep = (kept: Curves) => {
    curves = kept;
  };
  const started = performance.now();

  const each = async (attempt: (trial: Trial) => Promise<Counts>): Promise<void> => {
    for (const [index, seed] of seeds.entries()) {
      if (failures.length >= MAX_FAILURES || (index > 0 && isOver(options))) return;
      trials++;
      try {
        const counted = await tryOnce(part, cell, seed, {
          folder,
          strays,
          attempt,
          keep,
        });
        for (const [name, count] of Object.entries(counted))
          counts[name] = (counts[name] ?? 0) + count;
      } catch (error) {
        fail(seed, error);
      }
    }
  };
  if (cell.expects !== 'none') {
    try {
      await open?.run(cell, { seeds, each });
    } catch (error) {
      fail(firstSeed, error);
    }
    if (failures.length === 0 && trials === 0) fail(firstSeed, new Error('No trial was run'));
    if (failures.length === 0 && counts.hits === 0)
      fail(firstSeed, new Error('The fault never took effect, so the cell shows nothing'));
    if (failures.length === 0 && counts.committed === 0 && trials >= MIN_TRIALS_WITH_COMMIT)
      fail(firstSeed, new Error('Every run began at the start, so the cell shows no resuming'));
  }
  return {
    cell: cell.name,
    expects: cell.expects,
    why: cell.why,
    trials,
    failures,
    counts,
    curves,
    seconds: (done?.seconds ?? 0) + (performance.now() - started) / 1000,
  };
}

function isOver({ endAt }: TryOptions): boolean {
  return endAt !== undefined && performance.now() >= endAt;
}

async function tryOnce(
  part: Part,
  cell: Cell,
  seed: number,
  work: {
    folder: string;
    strays: Strays;
    attempt: (trial: Trial) => Promise<Counts>;
    keep: Trial['keep'];
  },
): Promise<Counts> {
  const folder = path.join(work.folder, 'trial');
  await mkdir(folder);
  const limit = new AbortController();
  const { promise: stray, reject } = withResolvers();
  const { limitMs = LIMIT_MS } = cell;
  const timer = setTimeout(() => {
    const error = new Error(`No end within ${limitMs / 1000} s: it hangs`);
    limit.abort(error);
    reject(error);
  }, limitMs);
  work.strays.onStray = reject;
  try {
    const random = new Random(`${part.name} ${cell.name} ${seed}`);
    return await Promise.race([
      work.attempt({
        seed,
        random,
        folder,
        signal: limit.signal,
        keep: work.keep,
      }),
      stray,
    ]);
  } finally {
    clearTimeout(timer);
    work.strays.onStray = undefined;
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

class Strays {
  onStray: ((error: Error) => void) | undefined;
  readonly #listener = (reason: unknown) => {
    const error = new Error(
      `Unhandled: ${reason instanceof Error ? reason.stack : String(reason)}`,
    );
    if (this.onStray === undefined) throw error;
    this.onStray(error);
  };

  constructor() {
    process.on('unhandledRejection', this.#listener);
    process.on('uncaughtException', this.#listener);
  }

  stop(): void {
    process.off('unhandledRejection', this.#listener);
    process.off('uncaughtException', this.#listener);
  }
}

function withResolvers(): { promise: Promise<never>; reject: (error: Error) => void } {
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<never>((_, reject_) => {
    reject = reject_;
  });
  promise.catch(() => {});
  return { promise, reject };
}
