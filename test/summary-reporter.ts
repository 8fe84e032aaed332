import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';
import { OutputSearch, TEST_SECRETS } from './search-output.js';
import type { Suite } from './suite.js';

export interface SuiteFigures {
  /** The folders, slowest first. */
  readonly folders: readonly {
    readonly folder: string;
    readonly tests: number;
    /** The total time of the folder's files, including their imports. */
    readonly seconds: number;
  }[];
  /** The ten slowest tests, slowest first. */
  readonly slowest: readonly { readonly test: string; readonly seconds: number }[];
}

/** The environment variable that contains the path of a file for the figures, which are JSON. */
export const FIGURES = 'MILLRACE_SUITE_FIGURES';

const SKIPPED_HERE =
  'Skips databases, clusters, browsers, bundlers, kills, memory, slow single tests and most examples: npm run test:all runs all of it';

/**
 * Prints how the time was spent, and a final line without colours for scripts. Fails if the suite
 * has printed one of the passwords that tests use. This is a default export, because the command
 * line of vitest accepts nothing else.
 */
export default class SummaryReporter implements Reporter {
  readonly #search = new OutputSearch(TEST_SECRETS);
  readonly #suite: Suite;

  constructor(suite: Suite = 'all') {
    this.#suite = suite;
  }

  onInit(): void {
    this.#search.watch(process.stdout);
    this.#search.watch(process.stderr);
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const tally = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    const folders = new Map<string, { tests: number; ms: number }>();
    const slowest: { readonly name: string; readonly ms: number }[] = [];
    for (const module of modules) {
      if (module.errors().length > 0) tally.failed++;
      const folder = folderOf(module.relativeModuleId);
      const sum = folders.get(folder) ?? { tests: 0, ms: 0 };
      folders.set(folder, sum);
      const { duration, collectDuration } = module.diagnostic();
      sum.ms += duration + collectDuration;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state !== 'pending') tally[state]++;
        if (state === 'passed' || state === 'failed') sum.tests++;
        const ms = test.diagnostic()?.duration ?? 0;
        slowest.push({ name: `${module.relativeModuleId}: ${test.name.trim()}`, ms });
      }
    }
    const figures: SuiteFigures = {
      folders: [...folders]
        .toSorted(([, a], [, b]) => b.ms - a.ms)
        .map(([folder, { tests, ms }]) => ({ folder, tests, seconds: inSeconds(ms) })),
      slowest: slowest
        .toSorted((a, b) => b.ms - a.ms)
        .slice(0, 10)
        .map(({ name, ms }) => ({ test: name.slice(0, 130), seconds: inSeconds(ms) })),
    };
    const printed = [...this.#search.found];
    if (printed.length > 0) {
      tally.failed++;
      process.exitCode = 1;
      process.stdout.write(
        `\nThe output of the suite has ${printed.length} spellings of passwords\n`,
      );
    }
    const file = process.env[FIGURES];
    if (file !== undefined) writeFileSync(file, JSON.stringify(figures));
    const { passed, failed, skipped } = tally;
    const lines = [
      `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`,
    ];
    if (this.#suite === 'everyday') lines.unshift(SKIPPED_HERE);
    if (modules.length > 10)
      lines.unshift(
        `Seconds by folder, of ${passed + failed} tests on ${availableParallelism()} cores:`,
        ...figures.folders.map(
          ({ folder, tests, seconds }) => `${column(seconds)}  ${folder} (${tests})`,
        ),
        '',
        'The slowest ten:',
        ...figures.slowest.map(({ test, seconds }) => `${column(seconds)}  ${test}`),
        '',
      );
    process.stdout.write(`\n${lines.join('\n')}\n`);
  }
}

function folderOf(file: string): string {
  return file.split(path.posix.sep).slice(0, 2).join('/');
}

function inSeconds(ms: number): number {
  return Number((ms / 1_000).toFixed(1));
}

function column(seconds: number): string {
  return seconds.toFixed(1).padStart(7);
}
