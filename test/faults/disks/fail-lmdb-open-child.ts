import { readFileSync, writeSync } from 'node:fs';
import type { Left } from './fail-lmdb.js';
import { goOn, keptByLmdb, STEPS } from './kept-by-lmdb.js';

// Arguments: LIBRARY NAME SEED LIST. LIST is a JSON file with the folders of earlier processes, in
// which a call failed or which were killed. Opens the files in each folder and does the remaining
// steps. Prints the name of each fault first, because the process may crash when it opens the file.
const [library = '', name = '', seed = '', list = ''] = process.argv.slice(2);
const kept = keptByLmdb(name);
for (const { what, folder, resolved } of JSON.parse(readFileSync(list, 'utf8')) as Left[]) {
  writeSync(1, `${what}\n`);
  await goOn(() => kept.open(new URL(library), folder, Number(seed)), { resolved, steps: STEPS });
}
