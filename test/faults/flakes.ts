import { type ChildProcess, execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import os from 'node:os';
import { spawn } from '../child-processes.js';
import type { Part, RecordedCell } from './part.js';
import { MACHINE } from './record.js';
import { table } from './report.js';
import { runSuite } from './run-suite.js';

const BUSY_LOOPS = 8;
/** Characters of a failure that the table of runs shows. */
const MAX_SHOWN = 400;
/** A line for each run of the suite, as the script is started from the root of the project. */
const RUNS = 'test/faults/suite-runs.jsonl';

interface SuiteRun {
  /** The time at which it began: `2026-11-22T13:15Z`. */
  readonly at: string;
  /** The commit, with `+` where files differed from it. */
  readonly commit: string;
  readonly machine: string;
  readonly cell: string;
  /** Of the machine over the minute before the run: other work makes a run longer. */
  readonly load: number;
  readonly seconds: number;
  readonly tests: number;
  /** What failed and why, or nothing. */
  readonly failed?: string | undefined;
}

/** The suite again and again: a test that fails once in a while is found before it stops a release. */
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
          commit: currentCommit(),
          machine: MACHINE,
          cell: name,
          load: Number(os.loadavg()[0]?.toFixed(1)),
        };
        const keep = (result: Pick<SuiteRun, 'tests' | 'failed'>) => {
          const seconds = Math.round((Date.now() - began) / 1_000);
          appendFileSync(RUNS, `${JSON.stringify({ ...run, seconds, ...result })}\n`);
        };
        const loops: readonly ChildProcess[] = Array.from(
          { length: name === 'suite/busy' ? BUSY_LOOPS : 0 },
          () => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
        );
        try {
          const { tests = 0 } = await runSuite([], trial);
          keep({ tests });
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
  render: () => runsTable(suiteRuns()),
};

function suiteRuns(): SuiteRun[] {
  if (!existsSync(RUNS)) return [];
  const lines = readFileSync(RUNS, 'utf8').trim().split('\n');
  return lines.map(line => JSON.parse(line) as SuiteRun);
}

/** All runs of a cell as one result. */
function resultOf(cell: string, rest: Pick<RecordedCell, 'expects' | 'why'>): RecordedCell[] {
  const runs = suiteRuns().filter(run => run.cell === cell);
  const last = runs.at(-1);
  if (last === undefined) return [];
  const failures = runs.flatMap(({ failed: message }, index) =>
    message === undefined ? [] : [{ seed: index + 1, message }],
  );
  return [
    {
      ...{ cell, ...rest, failures, trials: runs.length, counts: {} },
      ...{ seconds: runs.reduce((sum, { seconds }) => sum + seconds, 0) },
      ...{ day: last.at.slice(0, 10), machine: last.machine },
    },
  ];
}

/** How many runs there are of each kind, the last ones in a row without a failure, and each run. */
function runsTable(runs: readonly SuiteRun[]): string {
  const kinds = flakes.cells.map(({ name, why = '' }) => {
    const all = runs.filter(({ cell }) => cell === name);
    const since = all.slice(all.findLastIndex(({ failed }) => failed !== undefined) + 1);
    const failed = all.filter(run => run.failed !== undefined);
    return [name, why, ...[all, failed, since].map(({ length }) => String(length))];
  });
  const rows = runs.map(({ at, commit, cell, load, seconds, tests, failed }) => [
    at,
    `\`${commit}\``,
    cell,
    failed === undefined
      ? `${tests.toLocaleString('en')} tests passed`
      : `**${shortened(failed)}**`,
    String(load),
    String(seconds),
  ]);
  return [
    ...table([['cell', 'expects', 'runs', 'failed', 'since the last failure'], ...kinds], 2),
    '',
    ...table([['began', 'commit', 'cell', 'result', 'load before', 'seconds'], ...rows], 4),
  ].join('\n');
}

/** A crash prints many lines, and a cell of a table is one. */
function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length <= MAX_SHOWN ? line : `${line.slice(0, MAX_SHOWN)}…`;
}

function currentCommit(): string {
  const git = (...args: readonly string[]) => execFileSync('git', args, { encoding: 'utf8' });
  const changes = git('status', '--porcelain', '--', 'src', 'test', 'examples', ':!test/faults');
  return `${git('rev-parse', '--short', 'HEAD').trim()}${changes === '' ? '' : '+'}`;
}
