import { readFileSync, writeSync } from 'node:fs';
import type { Left } from './fail-lmdb.js';
import { goOn, keptByLmdb, STEPS } from './kept-by-lmdb.js';

// Arguments: LIBRARY NAME SEED LIST. Opens the files that each process has left, and does the
// remaining steps. Prints each name before it opens the files, because opening may end the process.
const [library = '', name = '', seed = '', list = ''] = process.argv.slice(2);
const kept = keptByLmdb(name);
for (const { what, folder, resolved } of JSON.parse(readFileSync(list, 'utf8')) as Left[]) {
  writeSync(1, `${what}\n`);
  await goOn(() => kept.open(new URL(library), folder, Number(seed)), { resolved, steps: STEPS });
}
