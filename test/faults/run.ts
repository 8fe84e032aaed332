import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { calls } from './calls.js';
import { databases } from './databases.js';
import { disks } from './disks.js';
import { flakes } from './flakes.js';
import { fuzz } from './fuzz.js';
import { jetstream } from './jetstream.js';
import { libraryUrl } from './load-library.js';
import { long } from './long.js';
import { matrix } from './matrix.js';
import type { Cell, CellResult, Part } from './part.js';
import { MACHINE, readRecord, record, replaces, resultsOf } from './record.js';
import { cellLine, resultsPage } from './report.js';
import { ages, staleness } from './staleness.js';
import { tests } from './tests.js';
import { seedsOf, tryPart } from './try-part.js';

const PARTS: readonly Part[] = [
  ...[matrix, disks, calls, jetstream, databases, fuzz],
  ...[long, tests, flakes],
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seeds: { type: 'string' },
    seed: { type: 'string' },
    cell: { type: 'string', multiple: true },
    missing: { type: 'boolean', default: false },
    stale: { type: 'boolean', default: false },
    minutes: { type: 'string' },
    library: { type: 'string' },
    json: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
// npm starts the script in the root folder of the project.
const FOLDER = path.join(process.cwd(), 'test/faults');
const RESULTS = path.join(FOLDER, 'results.json');

if (values.help) {
  console.log(help());
  process.exit();
}
const names = positionals.length > 0 ? positionals : PARTS.map(({ name }) => name);
const unknown = names.filter(name => ![...PARTS.map(part => part.name), 'report'].includes(name));
if (unknown.length > 0) refuse(`No such part: ${unknown.join(', ')}`);
const seeds = number('seeds');
const firstSeed = number('seed');
const minutes = number('minutes');
const endAt = minutes === undefined ? undefined : performance.now() + minutes * 60_000;
if (values.missing && (firstSeed !== undefined || values.library !== undefined))
  refuse('--missing goes with what is recorded, so neither with --seed nor with --library');
const patterns = values.cell?.map(cellPattern);
const ageOf = ages();
const chosen = PARTS.filter(({ name }) => names.includes(name)).map(part => ({
  part,
  cells: part.cells.filter(
    cell =>
      (patterns === undefined || patterns.some(pattern => pattern.test(cell.name))) &&
      (!values.missing || isMissing(part, cell)) &&
      (!values.stale || isStale(part, cell)),
  ),
}));
if (
  patterns !== undefined &&
  !values.missing &&
  !values.stale &&
  chosen.every(({ cells }) => cells.length === 0)
)
  refuse(`No such cell: ${values.cell?.join(', ')}`);
if (values.list) {
  for (const { part, cells } of chosen)
    for (const { name, expects, why = '' } of cells)
      console.log(`${part.name} ${name}  ${expects}${why === '' ? '' : `: ${why}`}`);
  process.exit();
}

const print = values.json ? () => {} : console.log;
const library = libraryUrl(path.resolve(values.library ?? 'test/faults/.cache/library'));
// A run with a single seed or with another library never replaces recorded results.
const isRecorded = values.library === undefined && firstSeed === undefined;
print(`${MACHINE}\n`);
const results: CellResult[] = [];
for (const { part, cells } of chosen) {
  if (cells.length === 0) continue;
  print(`${part.title}: ${part.promise}\n`);
  results.push(
    ...(await tryPart(part, {
      library,
      cells,
      seeds: seeds ?? (firstSeed === undefined ? undefined : 1),
      firstSeed,
      doneOf: values.missing ? cell => passed(part, cell) : undefined,
      endAt,
      onFailure(cell, seed, message) {
        print(`FAILED  ${part.name} ${cell.name}, seed ${seed}: ${message}`);
        print(`        npm run faults -- ${part.name} --cell ${cell.name} --seed ${seed}`);
      },
      onCell(result) {
        print(cellLine(part.name, result));
        const before = resultsOf(part, readRecord(RESULTS)).get(result.cell);
        const isKept = replaces(result, before, { seeds, startsAgain: values.missing });
        if (isRecorded && part.results === undefined && isKept) record(RESULTS, part, [result]);
      },
    })),
  );
}
if (isRecorded && !values.json)
  writeFileSync(path.join(FOLDER, 'RESULTS.md'), resultsPage(PARTS, readRecord(RESULTS), ageOf));
const failed = results.filter(({ failures }) => failures.length > 0);
if (values.json) process.stdout.write(JSON.stringify(results));
const trials = results.reduce((sum, result) => sum + result.trials, 0);
print(`\n${trials} trials of ${results.length} cells, ${failed.length} cells failed`);
process.exitCode = failed.length > 0 ? 1 : 0;

function passed(part: Part, { name, expects, why }: Cell): CellResult | undefined {
  const result = resultsOf(part, readRecord(RESULTS)).get(name);
  const isSame = result?.expects === expects && result.why === why;
  return isSame && result.failures.length === 0 ? result : undefined;
}

function isMissing(part: Part, cell: Cell): boolean {
  if (cell.expects === 'none') return false;
  const done = passed(part, cell);
  return done === undefined || done.trials < (seeds ?? seedsOf(part, cell));
}

function isStale(part: Part, cell: Cell): boolean {
  if (cell.expects === 'none' || part.results !== undefined) return false;
  const recorded = resultsOf(part, readRecord(RESULTS)).get(cell.name);
  return recorded !== undefined && staleness(ageOf(part.name, recorded)) !== undefined;
}

/** Converts a cell argument to a pattern. `search/*` selects all cells of the pipeline `search`. */
function cellPattern(text: string): RegExp {
  const escaped = text.split('*').map(part => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${escaped.join('.*')}$`);
}

function number(name: 'seeds' | 'seed' | 'minutes'): number | undefined {
  const text = values[name];
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text)) refuse(`--${name} takes a whole number from 1, got ${text}`);
  return Number(text);
}

function refuse(message: string): never {
  console.error(`${message}\n\n${help()}`);
  process.exit(2);
}

function help(): string {
  const parts = PARTS.map(({ name, title }) => `  ${name.padEnd(16)} ${title}`);
  return `Usage: npm run faults -- [part ...] [flags]

Parts (default: all):
${parts.join('\n')}
  ${'report'.padEnd(16)} Writes RESULTS.md from the last results, and tries nothing

Flags:
  --seeds N         seeds of each cell (default: what the part says, mostly 50); fewer than recorded are not kept
  --cell NAME       only this cell; \`search/*\` is several; can be repeated
  --missing         only the cells that have not passed with all their seeds, from where their results end
  --stale           only the cells whose files have had many commits since their result
  --minutes N       no trial starts after N minutes; --missing goes on from there
  --seed S          only this seed, as a failure prints it; with --seeds N the first of N
  --library FOLDER  try another compiled library, such as one with a mistake; not recorded
  --json            print the results as JSON, and nothing else
  --list            list the cells and what each expects
  --help            print this help

The exit code is 1 if any trial failed.`;
}
