import { readdirSync, readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Counts, Curves } from '../part.js';

const MIB = 2 ** 20;
/** Columns of a curve; each is the median of the samples in its part of the run. */
const COLUMNS = 24;
/** The part of the run that the garbage collector may take to measure the heap. */
const MAX_COLLECTING = 0.05;

const MEMORY = 'memory, MiB';
const HEAP = 'heap after collection, MiB';
const OPEN = 'open files';
const CPU = 'CPU of a step, ms';
const WALL = 'a step by the clock, ms';

type Sample = Readonly<Record<string, number>>;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

export interface CourseLimits {
  readonly growBytes: number;
  readonly peakBytes: number;
}

/** Memory, open files and time of this process over a long run, which has steps of equal work. */
export class Course {
  readonly #samples: Sample[] = [];
  readonly #startedAt = performance.now();
  /** Bytes before the first step: what a run takes before it gives anything counts, too. */
  readonly #base: number;
  #cpu: NodeJS.CpuUsage;
  #steppedAt: number;
  #collectingMs = 0;
  #heap = 0;

  constructor() {
    collect();
    this.#base = memory();
    this.#cpu = process.cpuUsage();
    this.#steppedAt = performance.now();
  }

  /** The first step begins here, in place of at the start: what was done before is a preparation. */
  begin(): void {
    this.#cpu = process.cpuUsage();
    this.#steppedAt = performance.now();
  }

  /**
   * After each step.
   *
   * @param times What has to stay flat, in milliseconds, by its name. Without it, the time of the step is drawn, and not
   *   judged: the disk decides it, and whatever else uses that.
   */
  step(times?: Readonly<Record<string, number>>): void {
    const { user, system } = process.cpuUsage(this.#cpu);
    const wallMs = performance.now() - this.#steppedAt;
    const before = memory();
    this.#samples.push({
      [MEMORY]: before / MIB,
      [HEAP]: this.#heapAfterCollection() / MIB,
      [OPEN]: openFiles(),
      [CPU]: (user + system) / 1_000,
      ...(times ?? { [WALL]: wallMs }),
    });
    this.begin();
  }

  /**
   * Throws if the last quarter has more than the second: of memory or heap by `growBytes`, of open files by 10,
   * or three times the time of a step. The first quarter warms up. Throws, too, if the most memory of any sample is more
   * than `peakBytes` above that before the run.
   */
  assertFlat({ growBytes, peakBytes }: CourseLimits): Counts {
    const grown = (name: string) => this.#quarter(name, 3) - this.#quarter(name, 1);
    const tooMuch = this.#names.filter(name => {
      if (name === WALL) return false;
      if (name === OPEN) return grown(name) > 10;
      if (name === MEMORY || name === HEAP) return grown(name) * MIB > growBytes;
      return this.#quarter(name, 3) > 3 * this.#quarter(name, 1) + 50;
    });
    const lines = tooMuch.map(
      name =>
        `${name} grew from ${round(this.#quarter(name, 1))} to ${round(this.#quarter(name, 3))}: ${this.curves[name]?.map(round)}`,
    );
    const samples = this.#samples.map(sample => sample[MEMORY] ?? 0);
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
    const columns = Math.min(COLUMNS, this.#samples.length);
    return Object.fromEntries(
      this.#names.map(name => [
        name,
        Array.from({ length: columns }, (_, index) =>
          this.#median(name, index / columns, (index + 1) / columns),
        ),
      ]),
    );
  }

  get #names(): readonly string[] {
    return Object.keys(this.#samples[0] ?? {});
  }

  #heapAfterCollection(): number {
    const started = performance.now();
    if (this.#collectingMs <= MAX_COLLECTING * (started - this.#startedAt)) {
      collect();
      this.#heap = process.memoryUsage().heapUsed;
      this.#collectingMs += performance.now() - started;
    }
    return this.#heap;
  }

  #quarter(name: string, index: number): number {
    return this.#median(name, index / 4, (index + 1) / 4);
  }

  #median(name: string, from: number, to: number): number {
    const { length } = this.#samples;
    const first = Math.min(Math.floor(from * length), length - 1);
    const part = this.#samples.slice(first, Math.max(Math.floor(to * length), first + 1));
    const sorted = part.map(sample => sample[name] ?? 0).toSorted((a, b) => a - b);
    return sorted[part.length >> 1] ?? 0;
  }
}

function round(value: number): number {
  return Number(value.toPrecision(3));
}

/** Without the pages of mapped files, which the system takes back when it needs them. */
function memory(): number {
  try {
    const [, kilobytes] =
      /^RssAnon:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
    return Number(kilobytes) * 1024;
  } catch {
    return process.memoryUsage.rss();
  }
}

function openFiles(): number {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return 0;
  }
}
