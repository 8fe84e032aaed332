import fs, { writeSync } from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { Random } from '../random.js';
import { keptByLmdb, type OpenedByLmdb, STEPS, stepsAtOnce } from './kept-by-lmdb.js';

// Arguments: LIBRARY NAME FOLDER SEED AFTER. Calls all steps of a `kept` object, which change the
// file of LMDB, and prints the outcome of each call. AFTER tells what to do after an error: `again`
// retries the same call, `end` closes the file.
const [library = '', name = '', folder = '', seed = '', after = ''] = process.argv.slice(2);
const kept = keptByLmdb(name);
const TRIES = 3;
numberTemporaryFolders();

const random = new Random(`tries ${name} ${seed}`);
const reopenAt = random.whole(3, STEPS - 3);
let opened: OpenedByLmdb | undefined;
opened = await open();
for (let next = 1; next <= STEPS; ) {
  if (next === reopenAt) {
    await tried('close', () => opened?.close());
    opened = await open();
  }
  const steps = stepsAtOnce(kept, next, random.pick([1, 1, 3]));
  await Promise.all(
    steps.map(async step => {
      await tried('step', () => opened?.step(step));
      say(`done ${step}`);
    }),
  );
  next += steps.length;
}
const done = await tried('done', () => opened?.done());
await tried('close', () => opened?.close());
say(`end ${done}`);

function open(): Promise<OpenedByLmdb> {
  return tried('open', () => kept.open(new URL(library), folder, Number(seed)));
}

async function tried<T>(what: string, call: () => Promise<T> | undefined): Promise<T> {
  for (let left = TRIES; ; left--) {
    say(`begin ${what}`);
    try {
      const result = await call();
      say(`ended ${what}`);
      return result as T;
    } catch (error) {
      const { code, path: where, message } = error as { [name: string]: unknown };
      say(`failed ${JSON.stringify({ what, code, path: where, message })}`);
      if (after === 'again' && left > 1) continue;
      await opened?.close();
      say('end');
      process.exit();
    }
  }
}

function say(line: string): void {
  writeSync(1, `${line}\n`);
}

/**
 * Names temporary folders `new-1`, `new-2` and so on instead of randomly. strace must know the
 * paths before the process starts.
 */
function numberTemporaryFolders(): void {
  const made = new Map<string, number>();
  const named = (prefix: string) => {
    const number = (made.get(prefix) ?? 0) + 1;
    made.set(prefix, number);
    return `${prefix}${number}`;
  };
  promises.mkdtemp = (async (prefix: string) => {
    const name = named(prefix);
    await promises.mkdir(name);
    return name;
  }) as typeof promises.mkdtemp;
  fs.mkdtempSync = ((prefix: string) => {
    const name = named(prefix);
    fs.mkdirSync(name);
    return name;
  }) as typeof fs.mkdtempSync;
  syncBuiltinESMExports();
}
