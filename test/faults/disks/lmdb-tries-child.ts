import fs, { writeSync } from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { Random } from '../random.js';
import { KEPT_BY_LMDB, type LmdbLife, STEPS } from './kept-by-lmdb.js';

// LIBRARY NAME FOLDER SEED AFTER: does all steps, and says of each call what became of it. After an error it tries the same
// call again (`again`) or ends in order (`end`).
const [library = '', name = '', folder = '', seed = '', after = ''] = process.argv.slice(2);
const kept = KEPT_BY_LMDB.get(name);
if (kept === undefined) throw new Error(`No such files: ${name}`);
const TRIES = 3;
const made = new Map<string, number>();
giveFoldersTheSameNames();

const random = new Random(`tries ${name} ${seed}`);
const reopenAt = random.whole(3, STEPS - 3);
let life: LmdbLife | undefined;
life = await open();
for (let next = 1; next <= STEPS; ) {
  if (next === reopenAt) {
    await tried('close', () => life?.close());
    life = await open();
  }
  // Several at once: their order is that of the calls.
  const wanted = Math.min(random.pick([1, 1, 3]), STEPS + 1 - next);
  const together = kept.alone.some(step => step >= next && step < next + wanted) ? 1 : wanted;
  await Promise.all(
    Array.from({ length: together }, (_, index) =>
      tried('step', () => life?.step(next + index)).then(() => say(`done ${next + index}`)),
    ),
  );
  next += together;
}
const done = await tried('done', () => life?.done());
await tried('close', () => life?.close());
say(`end ${done}`);

function open(): Promise<LmdbLife> {
  return tried('open', () => kept!.open(new URL(library), folder, Number(seed)));
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
      await life?.close();
      say('end');
      process.exit();
    }
  }
}

function say(line: string): void {
  writeSync(1, `${line}\n`);
}

/** Faults are for calls with a path. */
function giveFoldersTheSameNames(): void {
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
