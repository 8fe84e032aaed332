// `npm run coverage`: runs all tests, or the named ones, and prints how much of `src` they cover.
// Vitest measures the coverage of its own processes only. Tests also start processes and threads,
// which run bundled code. Node writes their coverage to a folder, and this script adds it. A run of
// all tests also updates the table in test/README.md.
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { spawn } from './child-processes.js';
import { withCoverage } from './coverage-table.js';
import {
  addScripts,
  type Compiled,
  type FileCoverage,
  type ScriptCoverage,
  totalsOf,
} from './process-coverage.js';

const root = path.resolve(import.meta.dirname, '..');
const folder = path.join(root, 'out/coverage');
const compiled = path.join(folder, 'compiled');
const counts = path.join(folder, 'processes');
const result = path.join(folder, 'coverage-final.json');

rmSync(folder, { recursive: true, force: true });
const vitest = path.join(root, 'node_modules/vitest/vitest.mjs');
const named = process.argv.slice(2);
const args = [
  ...[vitest, 'run', '-c', 'test/vitest.config.ts'],
  ...['--mode', 'all', '--coverage', ...named],
];
const child = spawn(process.execPath, args, {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, MILLRACE_COVERAGE: folder },
});
const [code] = await once(child, 'close');
if (!existsSync(result)) throw new Error(`The tests ended with ${code} and left no coverage`);

const files: FileCoverage[] = Object.values(JSON.parse(readFileSync(result, 'utf8')));
const before = totalsOf(files);
const names = existsSync(counts) ? readdirSync(counts) : [];
for (const [name, scripts] of bundles()) addScripts(files, compiledScript(name), scripts);
const byPath = Object.fromEntries(files.map(file => [file.path, file]));
writeFileSync(result, JSON.stringify(byPath));

const percent = ({ run, all }: { run: number; all: number }) =>
  all === 0 ? '–' : `${((100 * run) / all).toFixed(1)} %`;
const folders = new Map<string, FileCoverage[]>();
for (const file of files) {
  const name = path.relative(root, path.dirname(file.path));
  folders.set(name, [...(folders.get(name) ?? []), file]);
}
const rows = [...folders]
  .toSorted(([a], [b]) => (a < b ? -1 : 1))
  .map(([name, inside]) => {
    const { lines, branches } = totalsOf(inside);
    return { name, lines: percent(lines), branches: percent(branches) };
  });
console.log(`\n${'folder'.padEnd(32)} ${'lines'.padStart(8)} ${'branches'.padStart(8)}`);
for (const { name, lines, branches } of rows)
  console.log(`${name.padEnd(32)} ${lines.padStart(8)} ${branches.padStart(8)}`);
if (code === 0 && named.length === 0) {
  const page = path.join(root, 'test/README.md');
  writeFileSync(page, withCoverage(readFileSync(page, 'utf8'), rows));
}
const all = totalsOf(files);
console.log(`\n${files.length} files of src; processes and threads: ${names.length}`);
for (const kind of ['lines', 'statements', 'branches', 'functions'] as const)
  console.log(
    `${kind.padEnd(12)} ${percent(all[kind])} (${all[kind].run} of ${all[kind].all}); without processes and threads ${percent(before[kind])}`,
  );
process.exitCode = code;

function bundles(): ReadonlyMap<string, ScriptCoverage[]> {
  const found = new Map<string, ScriptCoverage[]>();
  for (const name of names) {
    for (const script of scriptsIn(path.join(counts, name))) {
      if (!script.url.startsWith('file:')) continue;
      const file = fileURLToPath(script.url);
      // Tests that import the sources start this script from `dist`. The same script in the
      // compiled folder has a source map.
      const bundle = file.endsWith('/engine-worker.cjs')
        ? path.join(compiled, 'src/files/engine-worker.cjs')
        : file;
      if (!existsSync(`${bundle}.map`)) continue;
      found.set(bundle, [...(found.get(bundle) ?? []), script]);
    }
  }
  return found;
}

/**
 * Returns the coverage in a file, or none if a test killed the process that was writing the file.
 */
function scriptsIn(file: string): readonly ScriptCoverage[] {
  const text = readFileSync(file, 'utf8');
  try {
    return JSON.parse(text).result;
  } catch {
    if (text.endsWith('}')) throw new Error(`${file} is damaged`);
    return [];
  }
}

function compiledScript(name: string): Compiled {
  const map = JSON.parse(readFileSync(`${name}.map`, 'utf8'));
  const sources = map.sources.map((source: string) => path.resolve(path.dirname(name), source));
  return { text: readFileSync(name, 'utf8'), map: { ...map, sources, sourceRoot: '' } };
}
