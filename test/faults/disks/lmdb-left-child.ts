import { readFileSync, writeSync } from 'node:fs';
import type { Left } from './fail-lmdb.js';
import { KEPT_BY_LMDB, STEPS } from './kept-by-lmdb.js';

// LIBRARY NAME SEED LIST: opens what processes have left, and goes on from it. Prints each before it opens the file, which may
// end the process.
const [library = '', name = '', seed = '', list = ''] = process.argv.slice(2);
const kept = KEPT_BY_LMDB.get(name);
if (kept === undefined) throw new Error(`No such files: ${name}`);
for (const { what, folder, resolved } of JSON.parse(readFileSync(list, 'utf8')) as Left[]) {
  writeSync(1, `${what}\n`);
  let life = await kept.open(new URL(library), folder, Number(seed));
  const found = await life.done();
  if (found < resolved) throw new Error(`${resolved} steps had resolved, ${found} are there`);
  for (let step = found + 1; step <= STEPS; step++) await life.step(step);
  for (const when of ['before', 'after'] as const) {
    const then = await life.done();
    if (then !== STEPS)
      throw new Error(`Went on to step ${STEPS}; ${when} it is closed, it is at ${then}`);
    await life.close();
    if (when === 'before') life = await kept.open(new URL(library), folder, Number(seed));
  }
}
