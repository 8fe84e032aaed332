import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { MUTANTS } from './mutants/mutants.js';
import { copyLibrary } from './mutants/mutate.js';
import type { Cell, CellResult, Counts, Part } from './part.js';
import { table } from './report.js';
import { tryInChild } from './try-in-child.js';

/** Enough for what happens at random. A mutant that a cell catches at its tenth seed is rather not caught. */
const SEEDS = 5;
/** Several processes one after the other, each of which may hang. */
const LIMIT_MS = 1_800_000;
const CONTROL: Cell = {
  name: 'no mistake',
  expects: 'holds',
  why: 'a copy without a mistake passes every cell that catches a mutant',
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
    CONTROL,
    ...MUTANTS.map(
      ({ name, mistake }): Cell => ({ name: nameOf(name), expects: 'holds', why: mistake }),
    ),
  ].map(cell => ({ ...cell, limitMs: LIMIT_MS })),

  open: ({ library }) => ({
    run: (cell, trials) =>
      trials.each(async () => {
        const mutant = MUTANTS.find(({ name }) => nameOf(name) === cell.name);
        // Inside of the project, where Node finds the dependencies.
        const folder = path.join(import.meta.dirname, '../../../mutants', nameOf(cell.name));
        const copy = await copyLibrary(fileURLToPath(library), folder, mutant);
        if (mutant !== undefined) return firstCatch(mutant.cells, copy);
        const cells = [...new Set(MUTANTS.flatMap(({ cells }) => cells))];
        for (const one of cells) {
          const failure = await failureOf(one, copy, 1);
          if (failure !== undefined)
            throw new Error(`Without a mistake, ${one} failed: ${failure}`);
        }
        return { hits: 1, 'cells passed': cells.length };
      }),
  }),
  render,
};

async function firstCatch(cells: readonly string[], library: URL): Promise<Counts> {
  for (const cell of cells)
    if ((await failureOf(cell, library, SEEDS)) !== undefined)
      return { hits: 1, [`caught by ${cell}`]: 1 };
  throw new Error(`Not caught by ${cells.join(', ')}`);
}

async function failureOf(name: string, library: URL, seeds: number): Promise<string | undefined> {
  const [part = '', cell = ''] = name.split(' ');
  const { failures } = await tryInChild(part, cell, { library, seeds });
  return failures[0]?.message;
}

function render(results: readonly CellResult[]): string {
  const rows = results.map(({ cell, why = '', counts, failures }) => {
    const caught = Object.keys(counts).find(name => name.startsWith('caught by '));
    const outcome = failures[0]?.message ?? caught?.slice('caught by '.length);
    return [cell, why, outcome ?? `passed ${counts['cells passed'] ?? 0} cells`];
  });
  return table([['mutant', 'the library then', 'caught by'], ...rows], 3).join('\n');
}
