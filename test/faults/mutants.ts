import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { MUTANTS } from './mutants/mutants.js';
import { compiledMutant, copyLibrary } from './mutants/mutate.js';
import type { Cell, CellResult, Part } from './part.js';
import { shortMessage } from './record.js';
import { oneLine, table } from './report.js';
import { tryInChild } from './try-in-child.js';

/** Enough for what happens at random. A mutant that a cell catches at its tenth seed is rather not caught. */
const SEEDS = 5;
const CONTROL_SEEDS = 3;
/** Several processes one after the other, each of which may hang. */
const LIMIT_MS = 3_600_000;
const CONTROL: Cell = {
  name: 'no mistake',
  expects: 'holds',
  why: 'a copy without a mistake passes every cell that catches a mutant',
};

/** Takes seconds, where the mutants take hours: run it after a change of the sources that they are in. */
const PLACES: Cell = {
  name: 'places',
  expects: 'holds',
  why: 'each mutant has its place in the sources, once, and compiles',
};

const nameOf = (name: string) => name.replaceAll(/[ ,]+/g, '-');

/** Copies of the library with one mistake each: the cells of the other parts have to notice it. */
export const mutants: Part = {
  name: 'mutants',
  title: 'The tests, tried',
  promise:
    'Each of these mistakes in the library makes a cell fail, so a cell that passes shows something. A copy without a mistake passes the same cells.',
  seeds: 1,
  cells: [
    PLACES,
    CONTROL,
    ...MUTANTS.map(
      ({ name, mistake }): Cell => ({ name: nameOf(name), expects: 'holds', why: mistake }),
    ),
  ].map(cell => ({ ...cell, limitMs: LIMIT_MS })),

  open: ({ library }) => ({
    run: (cell, trials) =>
      trials.each(async ({ note }) => {
        if (cell.name === PLACES.name) return findPlaces();
        const mutant = MUTANTS.find(({ name }) => nameOf(name) === cell.name);
        // Inside of the project, where Node finds the dependencies.
        const folder = path.join(import.meta.dirname, '../../../mutants', nameOf(cell.name));
        const copy = await copyLibrary(fileURLToPath(library), folder, mutant);
        if (mutant !== undefined) {
          note(await firstCatch(mutant.cells, copy));
          return { hits: 1 };
        }
        const cells = [...new Set(MUTANTS.flatMap(({ cells }) => cells))];
        for (const one of cells) {
          const failure = await failureOf(one, copy, CONTROL_SEEDS);
          if (failure !== undefined)
            throw new Error(
              `Without a mistake, ${one}, seed ${failure.seed}, failed: ${failure.message}`,
            );
        }
        return { hits: 1, 'cells passed': cells.length };
      }),
  }),
  render,
};

async function findPlaces() {
  const tried = await Promise.allSettled(
    MUTANTS.map(mutant => compiledMutant(path.resolve('src'), mutant)),
  );
  const failures = tried.filter(one => one.status === 'rejected').map(({ reason }) => reason);
  if (failures.length > 0) throw new Error(failures.map(({ message }) => message).join('\n'));
  return { hits: tried.length };
}

/** The cell that fails and its seed, and its message. */
async function firstCatch(cells: readonly string[], library: URL): Promise<string> {
  for (const cell of cells) {
    const failure = await failureOf(cell, library, SEEDS);
    if (failure !== undefined)
      return `${cell}, seed ${failure.seed}\n${shortMessage(failure.message)}`;
  }
  throw new Error(`Not caught by ${cells.join(', ')}`);
}

async function failureOf(name: string, library: URL, seeds: number) {
  const [part = '', cell = ''] = name.split(' ');
  const { failures } = await tryInChild(part, cell, { library, seeds });
  return failures[0];
}

function render(results: readonly CellResult[]): string {
  const rows = results.map(({ cell, why = '', counts, failures, note }) => {
    // Older results have the cell in the name of a count, and no message.
    const before = Object.keys(counts).find(name => name.startsWith('caught by '));
    const [caught, ...message] = note?.split('\n') ?? [before?.slice('caught by '.length)];
    const passed = counts['cells passed'];
    const outcome =
      caught ?? (passed === undefined ? `${counts.hits} mutants` : `passed ${passed} cells`);
    return failures[0] === undefined
      ? [cell, why, outcome, oneLine(message.join('\n'))]
      : [cell, why, '**nothing**', oneLine(failures[0].message)];
  });
  return table([['mutant', 'the library then', 'caught by', 'message'], ...rows], 4).join('\n');
}
