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

type Sample = Readonly<Record<string, number>>;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Memory, open files and time of this process over a long run, which has steps of equal work. */
export class Course {
  readonly #samples: Sample[] = [];
  readonly #drawn = new Set<string>();
  readonly #startedAt = performance.now();
  #cpu = process.cpuUsage();
  #collectingMs = 0;
  #heap = 0;

  /**
   * After each step.
   *
   * @param times More that has to stay flat, in milliseconds, by its name.
   * @param drawn What others on the machine decide, such as the time of the disk.
   */
  step(
    times: Readonly<Record<string, number>> = {},
    drawn: Readonly<Record<string, number>> = {},
  ): void {
    for (const name of Object.keys(drawn)) this.#drawn.add(name);
    const { user, system } = process.cpuUsage(this.#cpu);
    const before = memory();
    this.#samples.push({
      [MEMORY]: before / MIB,
      [HEAP]: this.#heapAfterCollection() / MIB,
      [OPEN]: openFiles(),
      [CPU]: (user + system) / 1_000,
      ...times,
      ...drawn,
    });
    this.#cpu = process.cpuUsage();
  }

  /**
   * Throws if the last quarter has more than the second: of memory or heap by `growBytes`, of open files by 10,
   * or three times the time of a step. The first quarter warms up.
   */
  assertFlat({ growBytes }: { readonly growBytes: number }): Counts {
    const grown = (name: string) => this.#quarter(name, 3) - this.#quarter(name, 1);
    const tooMuch = this.#names.filter(name => {
      if (this.#drawn.has(name)) return false;
      if (name === OPEN) return grown(name) > 10;
      if (name === MEMORY || name === HEAP) return grown(name) * MIB > growBytes;
      return this.#quarter(name, 3) > 3 * this.#quarter(name, 1) + 50;
    });
    if (tooMuch.length > 0) {
      const lines = tooMuch.map(
        name =>
          `${name} grew from ${round(this.#quarter(name, 1))} to ${round(this.#quarter(name, 3))}: ${this.curves[name]?.map(round)}`,
      );
      throw new Error(lines.join('\n'));
    }
    const peak = Math.max(...this.#samples.map(sample => sample[MEMORY] ?? 0));
    return { 'peak MiB': Math.round(peak), 'grown MiB': Math.round(grown(MEMORY)) };
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
