import { readFileSync, writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { Random } from '../random.js';
import { keptByLmdb, STEPS, stepsAtOnce } from './kept-by-lmdb.js';

// Arguments: LIBRARY NAME FOLDER SEED LOCK. Runs all steps, which change the file of LMDB. Prints a
// line after each step, so that the step appears in the output of strace.
const [library = '', name = '', folder = '', seed = '', lock = ''] = process.argv.slice(2);
const kept = keptByLmdb(name);
const random = new Random(`writer ${name} ${seed}`);
const open = () => kept.open(new URL(library), folder, Number(seed));
const reopenAt = random.whole(3, STEPS - 3);
let opened = await open();
for (let next = 1; next <= STEPS; ) {
  if (next >= reopenAt && next < reopenAt + 3 && random.chance(0.7)) {
    await opened.close();
    opened = await open();
  }
  const steps = stepsAtOnce(kept, next, random.pick([1, 1, 1, 3]));
  await Promise.all(
    steps.map(async step => {
      await opened.step(step);
      writeSync(1, `done ${step}\n`);
    }),
  );
  next += steps.length;
  // Copies the lock file while the process has it open, as a kill would leave it.
  writeFileSync(lock, readFileSync(path.join(folder, kept.folder, 'lock.mdb')));
}
await opened.close();
