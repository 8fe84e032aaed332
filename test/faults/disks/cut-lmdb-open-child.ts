import { mkdirSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { Random } from '../random.js';
import { fileAfterCut, isAllDurable, type Survives } from './disk-image.js';
import { goOn, keptByLmdb, STEPS } from './kept-by-lmdb.js';
import { type SystemCall, systemCalls } from './system-calls.js';

// Arguments: LIBRARY NAME FOLDER SEED TRACE LOCK IMAGE MOMENTS. Reads a recorded trace of system
// calls. For each call, opens LMDB's file as a power cut at this call would leave it. Prints the
// name of the power cut first, because the process may crash when it opens the file.
const [library = '', name = '', folder = '', seed = '', ...rest] = process.argv.slice(2);
const [trace = '', lock = '', image = '', moments = ''] = rest;
const kept = keptByLmdb(name);
const calls = systemCalls(readFileSync(trace, 'latin1'), folder);
const stored = path.join(folder, kept.folder, 'data.mdb');
const staleLock = readFileSync(lock);
const random = new Random(`images ${name} ${seed}`);
let images = 0;
let lost = 0;

const isOnDisk = ({ kind, path: file }: SystemCall) =>
  kind !== 'line' && kind !== 'remove' && !file.endsWith('/lock.mdb');
for (const call of calls.filter(isOnDisk)) {
  if (moments === 'syncs' && call.kind !== 'sync') continue;
  await cut(call.began, `before ${described(call)}`);
  await cut(call.began + 0.25, `in ${described(call)}`);
}
await cut(Number.POSITIVE_INFINITY, 'at the end');
const done = doneBefore(Number.POSITIVE_INFINITY);
if (done !== STEPS) throw new Error(`The trace has ${done} steps of ${STEPS}`);
writeSync(1, `${JSON.stringify({ images, lost })}\n`);

async function cut(at: number, what: string): Promise<void> {
  const all: readonly Survives[] = isAllDurable(calls, stored, at)
    ? ['nothing']
    : ['nothing', 'last write', 'everything', 'sectors', 'pages'];
  const whole = fileAfterCut(calls, stored, at, { survives: 'everything', random });
  for (const survives of all) {
    const bytes = fileAfterCut(calls, stored, at, { survives, random });
    const root = path.join(image, String(images++));
    const data = path.join(root, kept.folder);
    if (bytes !== undefined) {
      mkdirSync(data, { recursive: true });
      writeFileSync(path.join(data, 'data.mdb'), afterReboot(bytes));
      const left = random.pick([undefined, Buffer.alloc(0), staleLock]);
      if (left !== undefined) writeFileSync(path.join(data, 'lock.mdb'), left);
    } else mkdirSync(root, { recursive: true });
    if (whole !== undefined && bytes?.equals(whole) !== true) lost++;
    writeSync(1, `A power cut ${what}; of what was not synced, what survives: ${survives}\n`);
    await goOn(() => kept.open(new URL(library), root, Number(seed)), {
      resolved: doneBefore(at),
      steps: random.chance(0.2) ? STEPS : 2,
    });
    rmSync(root, { recursive: true });
  }
}

function doneBefore(at: number): number {
  const steps = calls.flatMap(({ kind, text, began }) => {
    const [, step] = (kind === 'line' && began < at && /^done (\d+)/.exec(text)) || [];
    return step === undefined ? [] : [Number(step)];
  });
  return Math.max(0, ...steps);
}

/**
 * Changes the boot id in LMDB's meta pages, as if the machine had rebooted. LMDB compares this id
 * with the machine's boot id.
 */
function afterReboot(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  for (const meta of [0, 2_048, 4_096])
    if (copy.length >= meta + 168 && copy.readBigUInt64LE(meta + 160) !== 0n)
      copy.writeBigUInt64LE(0x1234_5678n, meta + 160);
  return copy;
}

function described({ kind, path: file, at, bytes }: SystemCall): string {
  const where = path.relative(folder, file);
  return kind === 'write'
    ? `the write of ${bytes.length} bytes at ${at} of ${where}`
    : `${kind} ${where}`;
}
