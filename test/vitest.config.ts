import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
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
    // For hangs only: a test of one second must pass on a machine with a load of 20.
    testTimeout: 300_000,
    // Most tests wait for sockets and child processes: one worker, the default on two cores, leaves a core idle.
    maxWorkers: 2,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    reporters: ['default', new SummaryReporter()],
  },
});
