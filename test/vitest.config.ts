import { readdirSync, readFileSync } from 'node:fs';
import os from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { parseCLI } from 'vitest/node';
import { SKIPPED_FILES } from './skipped-everyday.js';
import { SUITE, type Suite } from './suite.js';
import SummaryReporter from './summary-reporter.js';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * The test files that mock a module. Each of them runs in a separate process. The other files share
 * processes, each of which imports a module only once. Importing the sources again for each file
 * took a quarter of the CPU time of a run.
 */
const mocking = readdirSync(`${root}test`, { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.test.ts'))
  .map(name => `test/${name}`)
  .filter(name => readFileSync(root + name, 'utf8').includes('vi.mock('));

const { MILLRACE_COVERAGE: coverage } = process.env;

/** Whether the command line names files. If it does, all tests of these files run. */
const namesFiles =
  parseCLI(['vitest', ...process.argv.slice(2)], { allowUnknownOptions: true }).filter.length > 0;

/**
 * The settings that both projects share. They are not set at the root, because then each project
 * would compile the sources again.
 */
const project = {
  root,
  resolve: {
    alias: [
      { find: /^millrace$/, replacement: `${root}src/index.ts` },
      { find: /^millrace\/jetstream$/, replacement: `${root}src/jetstream/index.ts` },
      { find: /^millrace\/service$/, replacement: `${root}src/service/index.ts` },
    ],
  },
};

export default defineConfig(({ mode }) => {
  // Vitest's own mode is called `test`.
  const suite: Suite =
    mode === 'nightly' || mode === 'everyday'
      ? mode
      : mode === 'all' || namesFiles
        ? 'all'
        : 'everyday';
  const skipped = suite === 'everyday' ? SKIPPED_FILES : [];
  const test = {
    setupFiles: ['test/setup.ts'],
    // This limit only detects hangs. A test that takes five seconds on an idle machine still passes
    // with a load of 20.
    testTimeout: suite === 'nightly' ? 3_600_000 : 120_000,
    hookTimeout: suite === 'nightly' ? 600_000 : 120_000,
    expect: { poll: { timeout: 60_000 } },
    env: {
      [SUITE]: suite,
      // The folder in which processes and threads of tests record what they ran.
      ...(coverage === undefined ? {} : { NODE_V8_COVERAGE: `${coverage}/processes` }),
    },
  };
  return {
    root,
    test: {
      globalSetup: ['test/compile-sources.ts'],
      // Many tests wait for sockets and child processes. With one worker for each core, cores would
      // sometimes be idle. The tests that wait most use servers and browsers, and `npm test` skips
      // them.
      maxWorkers: os.availableParallelism() + (suite === 'everyday' ? 1 : 2),
      // With the default of 16 MiB, collecting young objects takes 6 % more of the CPU time.
      execArgv: ['--max-semi-space-size=64'],
      // Caches compiled sources and tests by their content.
      experimental: { fsModuleCache: true },
      projects: [
        {
          ...project,
          test: {
            ...test,
            name: 'shared',
            include: ['test/**/*.test.ts'],
            exclude: [...mocking, ...skipped],
            isolate: false,
          },
        },
        {
          ...project,
          test: {
            ...test,
            name: 'mocking',
            include: mocking,
            exclude: [...skipped],
            sequence: { groupOrder: 1 },
          },
        },
      ],
      reporters: ['default', new SummaryReporter(suite)],
      coverage: {
        provider: 'v8',
        include: ['src/**/*.ts'],
        reporter: ['json'],
        reportOnFailure: true,
        ...(coverage === undefined ? {} : { reportsDirectory: coverage, clean: false }),
      },
    },
  };
});
