// `npm run mutants`: plants each mistake of mutants.json in a copy of the project and runs the
// tests that must notice it.
import { execFileSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { runSuite } from './faults/run-suite.js';
import { type Mutant, mirroredFolder, mutated, readMutants, sampled } from './mutate.js';
import { numberFlag } from './number-flag.js';

const HELP = `npm run mutants -- [TEXT...] [--sample N] [--seed N]

  TEXT        only mutants whose file or mistake contains one of these
  --sample N  N of them
  --seed N    which ones; a random seed by default
  --no-control  skips the run of all tests without a mistake
`;
/**
 * The time limit for a run of tests, which a mistake can cause to hang. The tests of a folder need
 * much less time.
 */
const LIMIT_MS = 1_200_000;

const root = path.resolve(import.meta.dirname, '..');

const { values, positionals } = parseArgs({
  allowPositionals: true,
  allowNegative: true,
  options: {
    sample: { type: 'string' },
    seed: { type: 'string' },
    control: { type: 'boolean', default: true },
    help: { type: 'boolean' },
  },
});
if (values.help === true) process.stdout.write(HELP);
else process.exitCode = await main();

async function main(): Promise<number> {
  const wanted = readMutants().filter(
    ({ file, mistake }) =>
      positionals.length === 0 ||
      positionals.some(text => file.includes(text) || mistake.includes(text)),
  );
  const seed = numberFlag('seed', values.seed) ?? Math.floor(Math.random() * 2 ** 31);
  const count = numberFlag('sample', values.sample) ?? wanted.length;
  const mutants = sampled(wanted, count, seed);
  if (mutants.length === 0) throw new Error('No mutant has such a file or mistake');
  console.log(`${mutants.length} of ${wanted.length} mutants, seed ${seed}`);
  const folder = await mkdtemp(path.join(os.tmpdir(), 'millrace-mutants-'));
  try {
    const copy = path.join(folder, 'project');
    await copyProject(copy);
    if (values.control) await mustPass(copy, folder, mutants);
    const failures: string[] = [];
    for (const mutant of mutants) {
      const outcome = await tried(copy, folder, mutant);
      console.log(`${outcome.isCaught ? 'caught  ' : 'SURVIVED'} ${describe(mutant)}${outcome.by}`);
      if (!outcome.isCaught) failures.push(describe(mutant));
    }
    console.log(`\n${mutants.length - failures.length} of ${mutants.length} caught`);
    return failures.length === 0 ? 0 : 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function describe({ file, mistake }: Mutant): string {
  return `${file}: ${mistake}`;
}

/**
 * Copies the files that git tracks, including uncommitted changes. Packages are not copied but
 * linked.
 */
async function copyProject(copy: string): Promise<void> {
  const listed = execFileSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
    { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 },
  );
  for (const name of new Set(listed.split('\0'))) {
    if (name === '') continue;
    const target = path.join(copy, name);
    await mkdir(path.dirname(target), { recursive: true });
    // Git lists a deleted file until the next commit.
    await cp(path.join(root, name), target).catch(error => {
      if (error.code !== 'ENOENT') throw error;
    });
  }
  await symlink(path.join(root, 'node_modules'), path.join(copy, 'node_modules'), 'junction');
}

/**
 * Checks that the tests pass without a mistake. A test that fails even without one proves nothing.
 */
async function mustPass(copy: string, folder: string, mutants: readonly Mutant[]): Promise<void> {
  const tests = [...new Set(mutants.flatMap(({ tests }) => tests))].toSorted();
  const failure = await failureOf(copy, folder, tests);
  if (failure !== undefined) throw new Error(`Failed without a mistake: ${failure}`);
  console.log(`passed   ${tests.length} test files without a mistake`);
}

interface Outcome {
  readonly isCaught: boolean;
  /** The name of the test that has noticed the mistake. */
  readonly by: string;
}

async function tried(copy: string, folder: string, mutant: Mutant): Promise<Outcome> {
  const file = path.join(copy, mutant.file);
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return { isCaught: false, by: '\n         the file does not exist' };
  try {
    await writeFile(file, mutated(text, mutant));
  } catch (error) {
    return { isCaught: false, by: `\n         ${(error as Error).message}` };
  }
  try {
    const failure = await failureOf(copy, folder, mutant.tests);
    if (failure !== undefined) return { isCaught: true, by: `\n         ${failure}` };
    const mirrored = mirroredFolder(mutant.file);
    const inFolder = await failureOf(copy, folder, [mirrored]);
    if (inFolder === undefined) return { isCaught: false, by: '' };
    return {
      isCaught: true,
      by: `\n         only by another test of ${mirrored}, which belongs in its list: ${inFolder}`,
    };
  } finally {
    await writeFile(file, text);
  }
}

async function failureOf(
  copy: string,
  folder: string,
  tests: readonly string[],
): Promise<string | undefined> {
  const signal = AbortSignal.timeout(LIMIT_MS);
  const started = performance.now();
  const seconds = () => `${((performance.now() - started) / 1000).toFixed(0)} s`;
  try {
    const options = { root: copy, bail: true };
    await runSuite(tests, { folder, signal }, 'all', options);
    return undefined;
  } catch (error) {
    const reason = signal.aborted ? 'the tests hang' : (error as Error).message;
    return `${reason.slice(0, 300)} (${seconds()})`;
  } finally {
    await rm(path.join(folder, 'report.json'), { force: true });
  }
}
