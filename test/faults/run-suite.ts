import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { spawn } from '../child-processes.js';
import type { Suite } from '../suite.js';
import { FIGURES, type SuiteFigures } from '../summary-reporter.js';
import type { Trial } from './part.js';

export type { SuiteFigures } from '../summary-reporter.js';

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/**
 * Runs test files with vitest in a separate process. Throws an error that contains the names of the
 * failed tests and their errors.
 *
 * @param options.root The folder of the project. By default, the working folder.
 * @param options.bail Whether to end the run at the first failure.
 */
export async function runSuite(
  files: readonly string[],
  { folder, signal }: Pick<Trial, 'folder' | 'signal'>,
  suite: Suite = 'all',
  { root = process.cwd(), bail = false }: { readonly root?: string; readonly bail?: boolean } = {},
): Promise<{ readonly tests: number; readonly figures: SuiteFigures }> {
  const report = path.join(folder, 'report.json');
  const figures = path.join(folder, 'figures.json');
  const child = spawn(
    process.execPath,
    [
      ...['node_modules/vitest/vitest.mjs', 'run', '-c', 'test/vitest.config.ts'],
      ...['--mode', suite, ...(bail ? ['--bail=1'] : [])],
      ...['--reporter=json', `--outputFile=${report}`],
      ...['--reporter=./test/summary-reporter.ts', ...files],
    ],
    {
      cwd: root,
      env: { ...process.env, [FIGURES]: figures },
      stdio: ['ignore', 'ignore', 'pipe'],
      signal,
    },
  );
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', text => {
    errors = (errors + text).slice(-4_000);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const { testResults } = JSON.parse(
    await readFile(report, 'utf8').catch(() => {
      throw new Error(`vitest ended with ${code}, without a report: ${errors}`);
    }),
  ) as Report;
  const tests = testResults.flatMap(file => file.assertionResults);
  const failed = [
    ...tests
      .filter(({ status }) => status === 'failed')
      .map(({ fullName, failureMessages: [message = ''] }) => `${fullName}: ${firstLine(message)}`),
    ...testResults
      .filter(({ assertionResults, message }) => assertionResults.length === 0 && message !== '')
      .map(({ name, message }) => `${path.basename(name)}: ${firstLine(message)}`),
  ];
  if (failed.length > 0 || code !== 0)
    throw new Error(failed.length > 0 ? failed.join('; ') : `vitest ended with ${code}: ${errors}`);
  return {
    tests: tests.filter(({ status }) => status === 'passed').length,
    figures: JSON.parse(await readFile(figures, 'utf8')) as SuiteFigures,
  };
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? '';
}
