import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { bySuite } from './slow-suite.js';
import { SummaryReporter } from './summary-reporter.js';

const root = fileURLToPath(new URL('..', import.meta.url));

export default defineConfig({
  root,
  resolve: {
    alias: [
      { find: /^millrace$/, replacement: `${root}src/index.ts` },
      { find: /^millrace\/jetstream$/, replacement: `${root}src/jetstream/index.ts` },
      { find: /^millrace\/service$/, replacement: `${root}src/service/index.ts` },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/compile-sources.ts'],
    // For hangs only: a test of five seconds passes on a machine with a load of 20.
    testTimeout: bySuite(120_000, 3_600_000),
    // Most tests wait for sockets and child processes: one worker, the default on two cores, leaves a core idle.
    maxWorkers: 2,
    hookTimeout: bySuite(120_000, 600_000),
    expect: { poll: { timeout: 60_000 } },
    reporters: ['default', new SummaryReporter()],
  },
});
