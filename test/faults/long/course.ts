import { readdirSync, readFileSync } from 'node:fs';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Counts, Curves } from '../part.js';
import type { FixedWork } from './fixed-work.js';

const MIB = 2 ** 20;
/** Columns of a curve; each is the median of the samples in its part of the run. */
const COLUMNS = 24;
/** The part of the run that the garbage collector may take to measure the heap. */
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

/** What an operation may add to any time: a collection of the heap, for example. */
const MORE_MS = 50;
/** From the third quarter to the last, in a run that has to settle. */
const SETTLED_BYTES: Readonly<Record<string, number>> = {
  [HEAP]: 4 * MIB,
  // A replay has some of them at any time.
  [BUFFERS]: 16 * MIB,
  [WITHOUT_YOUNG]: 16 * MIB,
};
/** Samples of a part of the run without steps, before they are thinned out. */
const MAX_WATCHED = 4 * COLUMNS;
const WATCH_MS = 5;

type Sample = Readonly<Record<string, number>>;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

export interface CourseLimits {
  readonly growBytes: number;
  readonly peakBytes: number;
  /** Whether memory has to stay as it is after the half of the run. @default false */
  readonly settles?: boolean | undefined;
}

/** Bytes of this process: all, and those of them that V8 sets aside for new objects. */
interface Memory {
  readonly all: number;
  readonly young: number;
}

/** Memory, open files and time of this process over a long run, which has steps of equal work. */
export class Course {
  readonly #samples: Sample[] = [];
  readonly #startedAt = performance.now();
  readonly #measureFixedWork: FixedWork['measure'];
  readonly #memory: () => Memory;
  /** Memory of parts of the run without steps, by their curve. */
  readonly #watched = new Map<string, number[]>();
  /** Bytes before the first step: what a run takes before it gives anything counts, too. */
  readonly #base: number;
  #cpu: NodeJS.CpuUsage;
  #steppedAt: number;
  #collectingMs = 0;
  #heap = 0;
  #buffers = 0;

  constructor(fixedWork: Pick<FixedWork, 'measure'>, memory = memoryOfProcess) {
    this.#measureFixedWork = () => fixedWork.measure();
    this.#memory = memory;
    collect();
    this.#base = memory().all;
    this.#cpu = process.cpuUsage();
    this.#steppedAt = performance.now();
  }

  /** The first step begins here, in place of at the start: what was done before is a preparation. */
  begin(): void {
    this.#cpu = process.cpuUsage();
    this.#steppedAt = performance.now();
  }

  /**
   * Samples memory while something without steps is done, such as a listing. Only the most of it is judged: it may grow
   * with each item.
   *
   * @returns ends it
   */
  watch(what: string): () => void {
    let samples = [this.#memory().all / MIB];
    let waitMs = WATCH_MS;
    let timer: NodeJS.Timeout;
    const name = `memory while ${what}, MiB`;
    const sample = () => {
      samples.push(this.#memory().all / MIB);
      if (samples.length >= MAX_WATCHED) {
        // The largest of each pair, so that a peak stays.
        samples = samples.flatMap((value, n) =>
          n % 2 === 0 ? [Math.max(value, samples[n + 1] ?? 0)] : [],
        );
        waitMs *= 2;
      }
      this.#watched.set(name, samples);
    };
    const next = () => {
      sample();
      timer = setTimeout(next, waitMs);
    };
    timer = setTimeout(next, waitMs);
    return () => {
      clearTimeout(timer);
      sample();
    };
  }

  /**
   * After each step.
   *
   * @param times What has to stay flat, in milliseconds, by its name, in place of the time of the step by the clock. May
   *   be nothing.
   */
  step(times?: Readonly<Record<string, number>>): void {
    const { user, system } = process.cpuUsage(this.#cpu);
    const wallMs = performance.now() - this.#steppedAt;
    const { all, young } = this.#memory();
    this.#collect();
    this.#samples.push({
      [MEMORY]: all / MIB,
      [WITHOUT_YOUNG]: (all - young) / MIB,
      [HEAP]: this.#heap / MIB,
      [BUFFERS]: this.#buffers / MIB,
      [OPEN]: openFiles(),
      [CPU]: (user + system) / 1_000,
      ...(times ?? { [WALL]: wallMs }),
      ...this.#fixedWork(),
    });
    this.begin();
  }

  /**
   * Throws if the last quarter has more than the second: of memory, heap or buffers by `growBytes`, of open files by 10,
   * or more than three times the CPU time of a step and 50 ms. The first quarter warms up. Throws, too, if the most memory of
   * any sample is more than `peakBytes` above that before the run.
   *
   * Times by the clock are those of the last third against the first, without the extremes. Other work on the machine
   * makes them longer, so fixed work is measured beside each step: as much longer as that takes, a step may take, too.
   */
  assertFlat({ growBytes, peakBytes, settles = false }: CourseLimits): Counts {
    const grown = (name: string, from = 1) => this.#quarter(name, 3) - this.#quarter(name, from);
    const lines = this.#names.flatMap(name => {
      if ([FIXED_CPU, FIXED_DISK].includes(name)) return [];
      const isMemory = [MEMORY, WITHOUT_YOUNG, HEAP, BUFFERS].includes(name);
      if (!isMemory && name !== OPEN && name !== CPU) return this.#slower(name);
      const isTooMuch = isMemory
        ? grown(name) * MIB > growBytes
        : name === OPEN
          ? grown(name) > 10
          : this.#quarter(name, 3) > 3 * this.#quarter(name, 1) + MORE_MS;
      const settled = settles ? SETTLED_BYTES[name] : undefined;
      const isLate = settled !== undefined && grown(name, 2) * MIB > settled;
      if (!isTooMuch && !isLate) return [];
      const [since, quarter] = isTooMuch ? (['second', 1] as const) : (['third', 2] as const);
      const [before, after] = [this.#quarter(name, quarter), this.#quarter(name, 3)];
      return [this.#growth(name, `the ${since} quarter`, before, 'the last quarter', after)];
    });
    const samples = [
      ...this.#samples.map(sample => sample[MEMORY] ?? 0),
      ...[...this.#watched.values()].flat(),
    ];
    // The process may give back what an earlier run had taken.
    const base = Math.min(this.#base / MIB, ...samples);
    const peak = Math.max(...samples);
    if ((peak - base) * MIB > peakBytes)
      lines.push(
        `memory was ${round(base)} MiB before the run and up to ${round(peak)} MiB in it: more than ${round(peakBytes / MIB)} MiB above`,
      );
    if (lines.length > 0) throw new Error(lines.join('\n'));
    return {
      'MiB before': Math.round(base),
      'peak MiB': Math.round(peak),
      'grown MiB': Math.round(grown(MEMORY)),
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

  #fixedWork(): Sample {
    const { cpuMs, diskMs } = this.#measureFixedWork();
    return { [FIXED_CPU]: cpuMs, [FIXED_DISK]: diskMs };
  }

  /** By the clock. */
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
    collect();
    const { heapUsed, external } = process.memoryUsage();
    this.#heap = heapUsed;
    // With array buffers, of which it counts all.
    this.#buffers = external;
    this.#collectingMs += performance.now() - started;
  }

  #values(name: string): readonly number[] {
    // A step may be without one.
    return this.#samples.flatMap(sample => sample[name] ?? []);
  }

  #quarter(name: string, index: number): number {
    return median(part(this.#values(name), index / 4, (index + 1) / 4));
  }
}

/** At least one of the values. */
function part(values: readonly number[], from: number, to: number): readonly number[] {
  const first = Math.min(Math.floor(from * values.length), values.length - 1);
  return values.slice(first, Math.max(Math.floor(to * values.length), first + 1));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}

/** Without a tenth of the values at each end. */
function trimmedMean(values: readonly number[]): number {
  const cut = Math.floor(values.length / 10);
  const kept = values.toSorted((a, b) => a - b).slice(cut, values.length - cut);
  return kept.reduce((sum, value) => sum + value, 0) / kept.length;
}

function round(value: number): number {
  return Number(value.toPrecision(3));
}

function memoryOfProcess(): Memory {
  return { all: ownBytes(), young: youngBytes() };
}

/** Without the pages of mapped files, which the system takes back when it needs them. */
function ownBytes(): number {
  try {
    const [, kilobytes] =
      /^RssAnon:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
    return Number(kilobytes) * 1024;
  } catch {
    return process.memoryUsage.rss();
  }
}

/** How much V8 sets aside for new objects changes by itself, from 1 MiB to 48, and says nothing of what is kept. */
function youngBytes(): number {
  return getHeapSpaceStatistics()
    .filter(({ space_name }) => /^new_/.test(space_name))
    .reduce((sum, { physical_space_size }) => sum + physical_space_size, 0);
}

function openFiles(): number {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return 0;
  }
}
