import { readFileSync, writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { Random } from '../random.js';
import { KEPT_BY_LMDB, STEPS } from './kept-by-lmdb.js';

// LIBRARY NAME FOLDER SEED LOCK: does all steps, and says of each that it is done, in the trace of its system calls.
const [library = '', name = '', folder = '', seed = '', lock = ''] = process.argv.slice(2);
const kept = KEPT_BY_LMDB.get(name);
if (kept === undefined) throw new Error(`No such files: ${name}`);
const random = new Random(`writer ${name} ${seed}`);
const open = () => kept.open(new URL(library), folder, Number(seed));
const reopenAt = random.whole(3, STEPS - 3);
let life = await open();
for (let next = 1; next <= STEPS; ) {
  if (next >= reopenAt && next < reopenAt + 3 && random.chance(0.7)) {
    await life.close();
    life = await open();
  }
  // Several at once: their order is that of the calls.
  const wanted = Math.min(random.pick([1, 1, 1, 3]), STEPS + 1 - next);
  const together = kept.alone.some(step => step >= next && step < next + wanted) ? 1 : wanted;
  await Promise.all(
    Array.from({ length: together }, async (_, index) => {
      const step = next + index;
      await life.step(step);
      writeSync(1, `done ${step}\n`);
    }),
  );
  next += together;
  // As a process leaves it that is killed.
  writeFileSync(lock, readFileSync(path.join(folder, kept.folder, 'lock.mdb')));
}
await life.close();
