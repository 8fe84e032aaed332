import { setImmediate } from 'node:timers/promises';
import { openTombstones } from 'millrace';
import { deletedId } from './deletions.js';
import { ownMegabytes } from './memory.js';

const [folder, count, known] = [
  String(process.argv[2]),
  Number(process.argv[3]),
  Number(process.argv[4]),
];
const LOOK_UPS = 300_000;

const tombstones = await openTombstones(folder, { readOnly: true });
let missed = 0;
let invented = 0;
let peak = 0;
const start = performance.now();
for (let i = 0; i < LOOK_UPS; i++) {
  const id = deletedId(Math.floor(((i * 0.618_033_988_749) % 1) * known), count);
  if (tombstones.post(String(id))?.deleted !== true) missed++;
  if (tombstones.post(String(id | 1n)) !== undefined) invented++;
  if (i % 1_000 === 0) {
    // Waits for the next turn of the event loop, in which LMDB releases the snapshot that it reads
    // from.
    await setImmediate();
    peak = Math.max(peak, ownMegabytes());
  }
}
const seconds = (performance.now() - start) / 1000;
console.log(JSON.stringify({ perSecond: (2 * LOOK_UPS) / seconds, missed, invented, peak }));
await tombstones.close();
