import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { type BundledChild, bundleChild } from './matrix/bundle-child.js';
import { cleanCompliance, cleanRun } from './matrix/clean-run.js';
import type { Fault } from './matrix/fault.js';
import { FAULTS } from './matrix/faults.js';
import { killAtCommits } from './matrix/kill-at-commits.js';
import { renderMatrix } from './matrix/render-matrix.js';
import { RowRun } from './matrix/row-run.js';
import { ROWS, type Row } from './matrix/rows.js';
import { tryCompliance } from './matrix/try-compliance.js';
import { tryFault } from './matrix/try-fault.js';
import { cleanChild, killCompliance, tryKills } from './matrix/try-kills.js';
import { type Cell, cellName, eachWithHit, type Part } from './part.js';

interface Square {
  readonly cell: Cell;
  readonly row: Row;
  readonly fault: Fault;
}

const SQUARES: readonly Square[] = ROWS.flatMap(row =>
  FAULTS.map(fault => {
    const name = cellName(row.name, fault.name);
    const expects = fault.expects(row);
    const cell: Cell =
      typeof expects === 'string'
        ? { name, expects }
        : { name, expects: 'none', why: expects.none };
    return { cell, row, fault };
  }),
);

/**
 * The maximum number of attempts of a trial with the compliance stream. The replay delivers more or
 * less, depending on the events before the stream connected. Therefore, a fault may take no effect.
 */
const COMPLIANCE_DRAWS = 5;

export const matrix: Part = {
  name: 'matrix',
  title: 'Every pipeline under every fault',
  promise:
    'Every item arrives once, unchanged, whatever happens on the way; what cannot arrive is a typed error or a named gap.',
  cells: SQUARES.map(({ cell }) => cell),

  render: results =>
    renderMatrix(
      results,
      ROWS.map(({ name }) => name),
      FAULTS.map(({ name }) => name),
      cellName,
    ),

  open({ library, folder: cache }) {
    const known = new Map<string, Promise<unknown>>();
    const once = <T>(name: string, row: Row, find: (run: RowRun) => Promise<T>): Promise<T> => {
      const key = `${name} ${ROWS.indexOf(row)}`;
      const open = async () => {
        const folder = path.join(cache, key.replace(' ', '-'));
        await mkdir(folder);
        const run = await RowRun.open(
          row,
          { folder, cache, library },
          { proxied: name === 'clean' },
        );
        if (run.world.proxy !== undefined) run.world.proxy.keepsBodies = true;
        try {
          return await find(run);
        } finally {
          await run.close();
        }
      };
      const found = (known.get(key) as Promise<T> | undefined) ?? open();
      known.set(key, found);
      return found;
    };
    let bundled: Promise<BundledChild> | undefined;
    const bundle = () => {
      bundled ??= bundleChild(library);
      return bundled;
    };
    return {
      async run(cell, trials) {
        const square = SQUARES.find(one => one.cell === cell);
        if (square === undefined) throw new Error(`Not a cell of the matrix: ${cell.name}`);
        const { row, fault } = square;
        if (fault.kill === 'commit') {
          const child = await bundle();
          await trials.each(trial => killAtCommits(child, trial));
          return;
        }
        const isEndless = row.name === 'compliance';
        const draws = fault.draws ?? 1;
        if (fault.kill === undefined) {
          const clean = await once('clean', row, isEndless ? cleanCompliance : cleanRun);
          const target = { ...square, clean, library, cache };
          await eachWithHit(trials, isEndless ? COMPLIANCE_DRAWS : draws, trial =>
            isEndless ? tryCompliance(target, trial) : tryFault(target, trial),
          );
          return;
        }
        const killed = { row, kill: fault.kill, library, cache };
        if (isEndless) {
          const child = await bundle();
          await eachWithHit(trials, draws, trial => killCompliance(killed, child, trial));
        } else {
          const child = await once('child', row, async run => cleanChild(run, await bundle()));
          await eachWithHit(trials, draws, trial => tryKills(killed, child, trial));
        }
      },
      close: async () => (await bundled)?.remove(),
    };
  },
};
