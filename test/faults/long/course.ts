import { readdirSync, readFileSync } from 'node:fs';
import asciichart from 'asciichart';
import type { Counts } from '../part.js';

const MIB = 2 ** 20;
/** Columns of a chart; each is the mean of the samples in its part of the run. */
const COLUMNS = 24;

interface Sample {
  readonly memory: number;
  readonly open: number;
  readonly cpuMs: number;
}

/** Memory, open files and CPU time of this process over a long run, which has steps of equal work. */
export class Course {
  readonly #samples: Sample[] = [];
  #cpu = process.cpuUsage();

  /** After each step. */
  step(): void {
    const { user, system } = process.cpuUsage(this.#cpu);
    this.#cpu = process.cpuUsage();
    this.#samples.push({ memory: memory(), open: openFiles(), cpuMs: (user + system) / 1_000 });
  }

  /**
   * Throws if the last quarter has more than the second: of memory by `growBytes`, of open files by 10,
   * or three times the CPU time a step. The first quarter warms up.
   */
  assertFlat({ growBytes }: { readonly growBytes: number }): Counts {
    const [early, late] = [this.#quarter(1), this.#quarter(3)];
    const grown = late.memory - early.memory;
    const drawn = `\n${this.draw()}`;
    if (grown > growBytes)
      throw new Error(`Memory grew by ${mib(grown)} MiB of ${mib(growBytes)} allowed${drawn}`);
    if (late.open > early.open + 10)
      throw new Error(`Open files grew from ${early.open} to ${late.open}${drawn}`);
    if (late.cpuMs > 3 * early.cpuMs + 5)
      throw new Error(`A step took ${late.cpuMs} ms, ${early.cpuMs} ms before${drawn}`);
    return {
      'peak MiB': mib(Math.max(...this.#samples.map(sample => sample.memory))),
      'grown MiB': mib(grown),
      'open files': late.open,
      'CPU ms a step, early': Math.round(early.cpuMs),
      'CPU ms a step, late': Math.round(late.cpuMs),
    };
  }

  draw(): string {
    const parts = Array.from({ length: COLUMNS }, (_, index) =>
      this.#median(index / COLUMNS, (index + 1) / COLUMNS),
    );
    const chart = (title: string, values: readonly number[]) =>
      `${title}\n${asciichart.plot(values, { height: 5, min: 0, format: value => value.toFixed(0).padStart(8) })}`;
    return [
      chart(
        'memory, MiB',
        parts.map(part => part.memory / MIB),
      ),
      chart(
        'open files',
        parts.map(part => part.open),
      ),
      chart(
        'CPU ms a step',
        parts.map(part => part.cpuMs),
      ),
    ].join('\n');
  }

  #quarter(index: number): Sample {
    return this.#median(index / 4, (index + 1) / 4);
  }

  #median(from: number, to: number): Sample {
    const { length } = this.#samples;
    const first = Math.min(Math.floor(from * length), length - 1);
    const part = this.#samples.slice(first, Math.max(Math.floor(to * length), first + 1));
    const middle = (of: (sample: Sample) => number) =>
      part.map(of).toSorted((a, b) => a - b)[part.length >> 1] ?? 0;
    return {
      memory: middle(({ memory }) => memory),
      open: middle(({ open }) => open),
      cpuMs: middle(({ cpuMs }) => cpuMs),
    };
  }
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

function mib(bytes: number): number {
  return Math.round(bytes / MIB);
}
