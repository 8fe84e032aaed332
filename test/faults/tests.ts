import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Part } from './part.js';
import { runSuite } from './run-suite.js';

/**
 * The test files that repeat something more often in a longer suite. They import `suite.js` or have
 * property-based tests, whose default number of runs is set in `test/setup.ts`.
 */
const FILES: readonly string[] = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.test.ts'))
  .map(name => path.join('test', name))
  .filter(name => /suite\.js|fc\.assert/.test(readFileSync(name, 'utf8')))
  .toSorted();

function folderOf(file: string): string {
  return file.split(path.sep).slice(0, -1).slice(0, 2).join('/');
}

export const tests: Part = {
  name: 'tests',
  title: 'The slow tests',
  promise: 'What `npm run test:all` tries a few times holds each of the many times.',
  seeds: 1,
  cells: [...new Set(FILES.map(folderOf))].map(name => ({
    name,
    expects: 'holds',
    why: 'every test of the folder whose count is larger there passes with it',
    limitMs: 3_600_000,
  })),
  open: () => ({
    run: ({ name }, trials) =>
      trials.each(async trial => {
        const files = FILES.filter(file => folderOf(file) === name);
        const { tests } = await runSuite(files, trial, 'nightly');
        return { tests };
      }),
  }),
};
