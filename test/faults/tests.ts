import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Part } from './part.js';
import { runSuite } from './run-suite.js';

/** The test files whose counts differ between the suites, relative to the project. */
function filesWithSlowCounts(): string[] {
  return readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.test.ts'))
    .map(name => path.join('test', name))
    .filter(name => readFileSync(name, 'utf8').includes('slow-suite.js'))
    .toSorted();
}

/** What `npm test` tries a few times for speed, with the full counts. */
export const tests: Part = {
  name: 'tests',
  title: 'The slow tests',
  promise: 'What the normal suite tries a few times holds each of the many times.',
  seeds: 1,
  cells: filesWithSlowCounts().map(name => ({
    name,
    expects: 'holds',
    why: 'every test of the file passes with its full counts',
    limitMs: 3_600_000,
  })),
  open: () => ({
    run: ({ name }, trials) =>
      trials.each(trial => runSuite([name], trial, { MILLRACE_SLOW: '1' })),
  }),
};
