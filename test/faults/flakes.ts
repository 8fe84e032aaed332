import type { ChildProcess } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { spawn } from '../child-processes.js';
import type { Part } from './part.js';
import { runSuite } from './run-suite.js';

const BUSY_LOOPS = 8;

/** What is tried together: a folder of `test`, or the files of `test` itself. */
function groups(): { readonly name: string; readonly files: readonly string[] }[] {
  const entries = readdirSync('test', { withFileTypes: true });
  const tests = entries.filter(entry => entry.name.endsWith('.test.ts'));
  const folders = entries.filter(
    entry =>
      entry.isDirectory() &&
      readdirSync(`test/${entry.name}`, { recursive: true, encoding: 'utf8' }).some(name =>
        name.endsWith('.test.ts'),
      ),
  );
  return [
    { name: 'files', files: tests.map(({ name }) => `test/${name}`) },
    ...folders.map(({ name }) => ({ name, files: [`test/${name}/`] })),
  ];
}

/** The suite again and again: a test that fails once in a while is found before it stops a release. */
export const flakes: Part = {
  name: 'flakes',
  title: 'The suite without flakes',
  promise:
    'Each test passes in every run, also on a machine that is busy: every third run is made with eight busy loops.',
  seeds: 30,
  cells: groups().map(({ name }) => ({
    name,
    expects: 'holds',
    why: 'every test passes in every run',
    limitMs: 3_600_000,
  })),
  open: () => ({
    run: ({ name }, trials) => {
      const { files = [] } = groups().find(group => group.name === name) ?? {};
      return trials.each(async trial => {
        const isBusy = trial.seed % 3 === 0;
        const loops: readonly ChildProcess[] = Array.from({ length: isBusy ? BUSY_LOOPS : 0 }, () =>
          spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
        );
        try {
          return { ...(await runSuite(files, trial)), busy: isBusy ? 1 : 0 };
        } finally {
          for (const loop of loops) loop.kill('SIGKILL');
        }
      });
    },
  }),
};
