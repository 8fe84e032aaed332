import type { ChildProcess } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import os from 'node:os';
import { spawn } from '../child-processes.js';
import type { Part, RecordedCell } from './part.js';
import { MACHINE } from './record.js';
import { oneLine, table } from './report.js';
import { runSuite, type SuiteFigures } from './run-suite.js';
import { currentCommit } from './staleness.js';

const BUSY_LOOPS = 8;
/** Log with one JSON line for each run of the test suite, relative to the root of the project. */
const RUNS = 'test/faults/suite-runs.jsonl';

interface SuiteRun {
  /** The start of the run, such as `2026-11-22T13:15Z`. */
  readonly at: string;
  /** The commit, followed by `+` if files differed from it. */
  readonly commit: string;
  readonly machine: string;
  readonly cell: string;
  /** The machine's load in the minute before the run. A high load explains a slow run. */
  readonly load: number;
  readonly seconds: number;
  readonly tests: number;
  readonly failed?: string | undefined;
  /** How the time was spent. Older runs do not have this. */
  readonly figures?: SuiteFigures | undefined;
}

export const flakes: Part = {
  name: 'flakes',
  title: 'The suite without flakes',
  promise: `Each test passes in every run, also on a machine that is busy: some runs are made beside ${BUSY_LOOPS} busy loops.`,
  cells: [
    { name: 'suite', seeds: 20, why: 'every test passes in every run' },
    { name: 'suite/busy', seeds: 10, why: `the same beside ${BUSY_LOOPS} busy loops` },
  ].map(cell => ({ ...cell, expects: 'holds', limitMs: 7_200_000 })),
  open: () => ({
    run: ({ name }, trials) =>
      trials.each(async trial => {
        const began = Date.now();
        const run = {
          at: `${new Date(began).toISOString().slice(0, 16)}Z`,
          commit: currentCommit() ?? 'unknown',
          machine: MACHINE,
          cell: name,
          load: Number(os.loadavg()[0]?.toFixed(1)),
        };
        const keep = (result: Pick<SuiteRun, 'tests' | 'failed' | 'figures'>) => {
          const seconds = Math.round((Date.now() - began) / 1_000);
          appendFileSync(RUNS, `${JSON.stringify({ ...run, seconds, ...result })}\n`);
        };
        const loops: readonly ChildProcess[] = Array.from(
          { length: name === 'suite/busy' ? BUSY_LOOPS : 0 },
          () => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
        );
        try {
          const { tests, figures } = await runSuite([], trial);
          keep({ tests, figures });
          return { tests };
        } catch (error) {
          keep({ tests: 0, failed: (error as Error).message });
          throw error;
        } finally {
          for (const loop of loops) loop.kill('SIGKILL');
        }
      }),
  }),
  results: () => flakes.cells.flatMap(({ name, expects, why }) => resultOf(name, { expects, why })),
  aboutFailures: () => {
    const since = flakes.cells.map(({ name }) => sinceFailure(runsOf(name)).length);
    return `all runs since the first, those before mends too; without a failure since: ${since.join(' + ')} runs`;
  },
  render: () => runsTable(suiteRuns()),
};

function suiteRuns(): SuiteRun[] {
  if (!existsSync(RUNS)) return [];
  const lines = readFileSync(RUNS, 'utf8').trim().split('\n');
  return lines.map(line => JSON.parse(line) as SuiteRun);
}

function runsOf(cell: string): SuiteRun[] {
  return suiteRuns().filter(run => run.cell === cell);
}

function sinceFailure(runs: readonly SuiteRun[]): readonly SuiteRun[] {
  return runs.slice(runs.findLastIndex(({ failed }) => failed !== undefined) + 1);
}

/**
 * Returns how many runs were in progress at the same time as this run, including this run.
 * Concurrent runs take longer.
 */
function together(run: SuiteRun, runs: readonly SuiteRun[]): number {
  return runs.filter(other => began(run) < ended(other) && began(other) < ended(run)).length;
}

function began({ at }: SuiteRun): number {
  return Date.parse(at) / 1_000;
}

/**
 * Returns the end of a run, moved a minute earlier. Start times have a resolution of a minute, so
 * without this shift, a run that started right afterwards would count as concurrent.
 */
function ended(run: SuiteRun): number {
  return began(run) + Math.max(run.seconds - 60, 1);
}

function resultOf(cell: string, rest: Pick<RecordedCell, 'expects' | 'why'>): RecordedCell[] {
  const runs = runsOf(cell);
  const last = runs.at(-1);
  if (last === undefined) return [];
  const failures = runs.flatMap(({ failed: message }, index) =>
    message === undefined ? [] : [{ seed: index + 1, message }],
  );
  return [
    {
      cell,
      ...rest,
      failures,
      trials: runs.length,
      counts: {},
      seconds: runs.reduce((sum, { seconds }) => sum + seconds, 0),
      day: last.at.slice(0, 10),
      machine: last.machine,
    },
  ];
}

function runsTable(runs: readonly SuiteRun[]): string {
  const kinds = flakes.cells.map(({ name, why = '' }) => {
    const all = runs.filter(({ cell }) => cell === name);
    const since = sinceFailure(all);
    const failed = all.filter(run => run.failed !== undefined);
    return [name, why, ...[all, failed, since].map(({ length }) => String(length))];
  });
  const rows = runs.map(run => [
    run.at,
    `\`${run.commit}\``,
    run.cell,
    run.failed === undefined
      ? `${run.tests.toLocaleString('en')} tests passed`
      : `**${oneLine(run.failed)}**`,
    String(together(run, runs)),
    String(run.load),
    String(run.seconds),
  ]);
  const measured = runs.findLast(({ figures }) => figures !== undefined);
  return [
    ...table([['cell', 'expects', 'runs', 'failed', 'since the last failure'], ...kinds], 2),
    '',
    'Seconds are those of the clock, and a run beside another one takes longer: `at once` is the number of runs that went on at the same time on ' +
      'the machine, this one included, and `load` that of the minute before. An idle machine has 1 at once, a load near 0, and no busy loops.',
    '',
    ...table([['began', 'commit', 'cell', 'result', 'at once', 'load', 'seconds'], ...rows], 4),
    ...(measured === undefined ? [] : ['', ...figuresTable(measured)]),
  ].join('\n');
}

function figuresTable({ at, commit, cell, figures }: SuiteRun): readonly string[] {
  const { folders = [], slowest = [] } = figures ?? {};
  return [
    `Where the time went in the run of ${at} (\`${commit}\`, ${cell}), in seconds of all tests of a folder, several of which run at a time:`,
    '',
    ...table(
      [
        ['folder', 'tests', 'seconds'],
        ...folders.map(({ folder, tests, seconds }) => [folder, String(tests), String(seconds)]),
      ],
      1,
    ),
    '',
    'The slowest ten:',
    '',
    ...table(
      [['test', 'seconds'], ...slowest.map(({ test, seconds }) => [test, String(seconds)])],
      1,
    ),
  ];
}
