import { readdirSync } from 'node:fs';
import { collectGarbage } from '../../collect-garbage.js';
import type { Counts, Curves } from '../part.js';
import type { FixedWork } from './fixed-work.js';
import { processMemory } from './process-memory.js';

const MIB = 2 ** 20;
/**
 * The number of columns of a curve. Each column is the median of the samples from its part of the
 * run.
 */
const COLUMNS = 24;
/**
 * The maximum fraction of the run that may be spent on garbage collections that measure the heap.
 */
const MAX_COLLECTING = 0.05;

const MEMORY = 'memory, MiB';
const WITHOUT_YOUNG = 'memory without young objects, MiB';
const HEAP = 'heap after collection, MiB';
const BUFFERS = 'buffers after collection, MiB';
const OPEN = 'open files';
const CPU = 'CPU of a step, ms';
const WALL = 'a step by the clock, ms';
const FIXED_CPU = 'fixed work beside it, ms';
const FIXED_DISK = 'a fixed write to the disk beside it, ms';

const QUARTERS = { second: 1, third: 2 } as const;
const MORE_OPEN = 10;
/** Any operation may take this much longer, for example because of a garbage collection. */
const MORE_MS = 50;
/**
 * If memory must settle, each curve may grow by at most this much from the third quarter of a run
 * to the last. The unit is MiB.
 */
const SETTLED_MIB: Readonly<Record<string, number>> = {
  [HEAP]: 4,
  // The amount of memory that a replay uses varies.
  [BUFFERS]: 16,
  [WITHOUT_YOUNG]: 16,
};
const WATCH_MS = 5;

type Sample = Readonly<Record<string, number>>;

export interface CourseLimits {
  readonly growBytes: number;
  readonly peakBytes: number;
  readonly settles?: boolean | undefined;
}

export class Course {
  readonly #samples: Sample[] = [];
  readonly #startedAt = performance.now();
  readonly #fixedWork: Pick<FixedWork, 'measure'>;
  readonly #memory: typeof processMemory;
  /** Memory samples in MiB for the parts of the run without steps, by the name of their curve. */
  readonly #watched = new Map<string, number[]>();
  /**
   * The memory before the first step. With this base, memory that a run allocates before its first
   * result counts too.
   */
  readonly #base: number;
  #cpu = process.cpuUsage();
  #steppedAt = performance.now();
  #collectingMs = 0;
  #heap = 0;
  #buffers = 0;

  constructor(fixedWork: Pick<FixedWork, 'measure'>, memory = processMemory) {
    this.#fixedWork = fixedWork;
    this.#memory = memory;
    collectGarbage();
    this.#base = memory().all;
    this.begin();
  }

  /** Starts a step. Work before this call does not count. */
  begin(): void {
    this.#cpu = process.cpuUsage();
    this.#steppedAt = performance.now();
  }

  /**
   * Samples memory during work without steps, such as a listing. Only the peak is checked, because
   * memory may grow with each item.
   *
   * @returns A function that ends the sampling.
   */
  watch(what: string): () => void {
    const samples: number[] = [];
    this.#watched.set(`memory while ${what}, MiB`, samples);
    const sample = () => samples.push(this.#memory().all / MIB);
    sample();
    const timer = setInterval(sample, WATCH_MS);
    return () => {
      clearInterval(timer);
      sample();
    };
  }

  /**
   * Ends a step and records its measurements. Call this after each step.
   *
   * @param times Named durations in milliseconds that must stay flat. If given, even as an empty
   * object, they are checked instead of the wall-clock time of the step.
   */
  step(times?: Readonly<Record<string, number>>): void {
    const { user, system } = process.cpuUsage(this.#cpu);
    const wallMs = performance.now() - this.#steppedAt;
    const { all, young } = this.#memory();
    this.#collect();
    const fixedWork = this.#fixedWork.measure();
    this.#samples.push({
      [MEMORY]: all / MIB,
      [WITHOUT_YOUNG]: (all - young) / MIB,
      [HEAP]: this.#heap / MIB,
      [BUFFERS]: this.#buffers / MIB,
      [OPEN]: openFiles(),
      [CPU]: (user + system) / 1_000,
      ...(times ?? { [WALL]: wallMs }),
      [FIXED_CPU]: fixedWork.cpuMs,
      [FIXED_DISK]: fixedWork.diskMs,
    });
    this.begin();
  }

  /**
   * Compares the last quarter of the run with the second quarter, because the first is for warm-up.
   * Throws if memory, heap or buffers have grown by more than `growBytes`. Throws if the number of
   * open files has grown by more than `MORE_OPEN`, or if the CPU time of a step has grown to more
   * than three times its value plus 50 ms. Also throws if the memory of any sample exceeds the
   * memory before the run by more than `peakBytes`.
   *
   * For wall-clock durations, compares the last third with the first, without extreme values. Other
   * work on the machine makes these durations longer. Therefore, fixed work is measured with each
   * step. A step may become slower by the same factor as the fixed work.
   */
  assertFlat({ growBytes, peakBytes, settles = false }: CourseLimits): Counts {
    const lines = this.#names.flatMap(name => {
      switch (name) {
        case FIXED_CPU:
        case FIXED_DISK:
          return [];
        case CPU:
          return this.#grown(name, 'second', before => 3 * before + MORE_MS);
        case OPEN:
          return this.#grown(name, 'second', before => before + MORE_OPEN);
        case MEMORY:
        case WITHOUT_YOUNG:
        case HEAP:
        case BUFFERS: {
          const settled = settles ? SETTLED_MIB[name] : undefined;
          return [
            ...this.#grown(name, 'second', before => before + growBytes / MIB),
            ...(settled === undefined
              ? []
              : this.#grown(name, 'third', before => before + settled)),
          ];
        }
        default:
          return this.#slower(name);
      }
    });
    // Sorted to find the highest sample. There may be more samples than `Math.max` can take
    // arguments.
    const samples = [
      ...this.#samples.map(sample => sample[MEMORY] ?? 0),
      ...[...this.#watched.values()].flat(),
    ].toSorted((a, b) => a - b);
    // The process may release memory of an earlier run. This would hide growth, so the lower value
    // is the base.
    const base = Math.min(this.#base / MIB, samples[0] ?? 0);
    const peak = samples.at(-1) ?? 0;
    if ((peak - base) * MIB > peakBytes)
      lines.push(
        `memory was ${round(base)} MiB before the run and up to ${round(peak)} MiB in it: more than ${round(peakBytes / MIB)} MiB above`,
      );
    if (lines.length > 0) throw new Error(lines.join('\n'));
    return {
      'MiB before': Math.round(base),
      'peak MiB': Math.round(peak),
      'grown MiB': Math.round(this.#quarter(MEMORY, 3) - this.#quarter(MEMORY, 1)),
    };
  }

  get curves(): Curves {
    const columns = (values: readonly number[]) => {
      const count = Math.min(COLUMNS, values.length);
      return Array.from({ length: count }, (_, index) =>
        median(part(values, index / count, (index + 1) / count)),
      );
    };
    return Object.fromEntries([
      ...[...this.#watched].map(([name, values]) => [name, columns(values)] as const),
      ...this.#names.map(name => [name, columns(this.#values(name))] as const),
    ]);
  }

  get #names(): readonly string[] {
    return Object.keys(this.#samples[0] ?? {});
  }

  /**
   * Returns a message if the median of the last quarter is too high. `allowed` computes the limit
   * from the median of the quarter `since`.
   */
  #grown(
    name: string,
    since: keyof typeof QUARTERS,
    allowed: (before: number) => number,
  ): string[] {
    const [before, last] = [this.#quarter(name, QUARTERS[since]), this.#quarter(name, 3)];
    return last > allowed(before)
      ? [this.#growth(name, `the ${since} quarter`, before, 'the last quarter', last)]
      : [];
  }

  /**
   * Returns a message if a wall-clock duration is much longer in the last third than in the first.
   * If fixed work has become slower, the duration may be longer by the same factor.
   */
  #slower(name: string): string[] {
    const third = (of: string, index: number) =>
      trimmedMean(part(this.#values(of), index / 3, (index + 1) / 3));
    const [first, last] = [third(name, 0), third(name, 2)];
    const factors = [FIXED_CPU, FIXED_DISK].map(of => third(of, 2) / third(of, 0));
    if (last <= Math.max(1, ...factors) * (3 * first + MORE_MS)) return [];
    const growth = this.#growth(name, 'the first third', first, 'the last third', last);
    return [
      `${growth}; fixed work beside it took ${factors.map(round).join(' and ')} times as long`,
    ];
  }

  #growth(name: string, since: string, before: number, until: string, after: number): string {
    return `${name} grew from ${round(before)} in ${since} to ${round(after)} in ${until}: ${this.curves[name]?.map(round)}`;
  }

  #collect(): void {
    const started = performance.now();
    if (this.#collectingMs > MAX_COLLECTING * (started - this.#startedAt)) return;
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    this.#heap = heapUsed;
    // `external` includes all array buffers.
    this.#buffers = external;
    this.#collectingMs += performance.now() - started;
  }

  #values(name: string): readonly number[] {
    // Some steps do not have a value with this name.
    return this.#samples.flatMap(sample => sample[name] ?? []);
  }

  #quarter(name: string, index: number): number {
    return median(part(this.#values(name), index / 4, (index + 1) / 4));
  }
}

function part(values: readonly number[], from: number, to: number): readonly number[] {
  const first = Math.min(Math.floor(from * values.length), values.length - 1);
  return values.slice(first, Math.max(Math.floor(to * values.length), first + 1));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}

function trimmedMean(values: readonly number[]): number {
  const cut = Math.floor(values.length / 10);
  const kept = values.toSorted((a, b) => a - b).slice(cut, values.length - cut);
  return kept.reduce((sum, value) => sum + value, 0) / kept.length;
}

function round(value: number): number {
  return Number(value.toPrecision(3));
}

function openFiles(): number {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return 0;
  }
}
